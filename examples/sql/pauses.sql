-- Why are jobs paused, how often, and for how long?
SELECT
  paused.reason,
  count(*) AS pauses,
  count(resumed_at) AS resumed,
  median(date_diff('second', paused.recorded_at, resumed_at)) AS median_seconds
FROM (
  SELECT *, (SELECT min(recorded_at) FROM JobResumed WHERE JobResumed.stream = JobPaused.stream AND JobResumed.position > JobPaused.position) AS resumed_at
  FROM JobPaused
) AS paused
GROUP BY reason
ORDER BY reason;
