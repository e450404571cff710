-- How long do jobs take, by their size?
SELECT
  10 ** floor(log10(total_urls))::BIGINT AS urls_from,
  count(*) AS jobs,
  median(date_diff('second', created_at, ended_at)) AS median_seconds,
  max(date_diff('second', created_at, ended_at)) AS longest_seconds
FROM jobs
WHERE status = 'completed'
GROUP BY urls_from
ORDER BY urls_from;
