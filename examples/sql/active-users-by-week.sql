-- How many users submit jobs, and how many of them for the first time?
WITH weeks AS (SELECT DISTINCT user_id, date_trunc('week', created_at)::DATE AS week FROM jobs)
SELECT week, count(*) AS active_users, count(*) FILTER (WHERE week = first_week) AS new_users
FROM (SELECT *, min(week) OVER (PARTITION BY user_id) AS first_week FROM weeks)
GROUP BY week
ORDER BY week;
