-- Is a checker slower than the others?
SELECT checker, count(*) AS urls, median(response_time_ms) AS median_ms, round(quantile_cont(response_time_ms, 0.95), 1) AS p95_ms, max(response_time_ms) AS slowest_ms
FROM urls
WHERE response_time_ms IS NOT NULL
GROUP BY checker
ORDER BY median_ms DESC, checker;
