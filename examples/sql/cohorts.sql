-- Of those who came in a month, how many submitted jobs in the months after?
WITH cohorts AS (SELECT user_id, date_trunc('month', min(recorded_at))::DATE AS cohort FROM UserRegistered GROUP BY user_id),
active AS (SELECT DISTINCT user_id, date_trunc('month', created_at)::DATE AS month FROM jobs)
SELECT cohort, date_diff('month', cohort, month) AS months_later, count(*) AS active_users
FROM cohorts JOIN active USING (user_id)
WHERE month >= cohort
GROUP BY ALL
ORDER BY ALL;
