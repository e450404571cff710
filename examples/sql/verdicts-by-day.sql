-- What did each day bring? Another time zone begins its days elsewhere: put SET TimeZone = 'Europe/Berlin'; before.
PIVOT (SELECT checked_at::DATE AS day, verdict FROM urls) ON verdict IN ('ok', 'redirected', 'broken', 'soft_404', 'blocked', 'unreachable')
USING count(*)
GROUP BY day
ORDER BY day;
