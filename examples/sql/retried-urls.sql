-- Which hosts needed more than one attempt, and did it help?
SELECT host, count(*) AS retried, max(attempts) AS most_attempts, count(*) FILTER (WHERE NOT is_broken) AS alive_in_the_end
FROM urls
WHERE attempts > 1
GROUP BY host
ORDER BY retried DESC, host;
