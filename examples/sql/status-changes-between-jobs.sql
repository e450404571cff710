-- Which URLs changed between two jobs? Give the jobs as --param before=ID --param after=ID.
SELECT old.url, old.verdict AS verdict_before, new.verdict AS verdict_after, old.status_code AS status_before, new.status_code AS status_after
FROM (FROM urls WHERE job_id = $before) AS old
FULL JOIN (FROM urls WHERE job_id = $after) AS new USING (url)
WHERE old.verdict IS DISTINCT FROM new.verdict OR old.status_code IS DISTINCT FROM new.status_code
ORDER BY url;
