-- Why is there no answer, and may it pass?
SELECT error_code, temporary, count(*) AS urls, count(DISTINCT host) AS hosts, mode(host) AS most_often
FROM urls
WHERE error_code IS NOT NULL
GROUP BY ALL
ORDER BY urls DESC, error_code;
