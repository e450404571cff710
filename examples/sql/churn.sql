-- Who paid in a month, and not in the next?
WITH paying AS (SELECT DISTINCT user_id, date_trunc('month', recorded_at)::DATE AS month FROM entries WHERE money_cents > 0)
SELECT paying.month, count(*) AS paying_users, count(*) - count(again.user_id) AS lost, round(100 * lost / paying_users, 1) AS churn_percent
FROM paying
LEFT JOIN paying AS again ON again.user_id = paying.user_id AND again.month = paying.month + INTERVAL 1 MONTH
WHERE paying.month < (SELECT max(month) FROM paying)
GROUP BY paying.month
ORDER BY paying.month;
