-- Who checks the most, and of how many hosts?
SELECT user_id, count(DISTINCT job_id) AS jobs, count(*) AS urls, count(DISTINCT host) AS hosts, round(100 * avg(is_broken::INT), 1) AS broken_percent
FROM urls
GROUP BY user_id
ORDER BY urls DESC, user_id
LIMIT 100;
