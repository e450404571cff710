-- Which endpoints fail, and how?
SELECT
  endpoint_id,
  count(*) AS deliveries,
  count(*) FILTER (WHERE state = 'given_up') AS given_up,
  sum(attempts) AS attempts,
  mode(coalesce(error, status_code::VARCHAR)) FILTER (WHERE state <> 'delivered') AS usual_failure
FROM deliveries
GROUP BY endpoint_id
HAVING given_up > 0
ORDER BY given_up DESC, endpoint_id;
