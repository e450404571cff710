-- Which hosts break more, week by week?
SELECT host, date_trunc('week', checked_at)::DATE AS week, count(*) AS urls, round(100 * avg(is_broken::INT), 1) AS broken_percent
FROM urls
GROUP BY ALL
ORDER BY broken_percent DESC, urls DESC, host, week;
