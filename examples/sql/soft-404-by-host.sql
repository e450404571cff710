-- Which hosts say 200 to pages that are missing?
SELECT host, count(*) FILTER (WHERE is_soft_404) AS soft_404, count(*) AS urls, round(100 * soft_404 / count(*), 1) AS percent
FROM urls
GROUP BY host
HAVING soft_404 > 0
ORDER BY soft_404 DESC, host;
