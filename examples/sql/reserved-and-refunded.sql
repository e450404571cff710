-- What did each user reserve, get back and use?
SELECT
  user_id,
  -sum(credits) FILTER (WHERE transaction_type = 'reservation') AS reserved,
  coalesce(sum(credits) FILTER (WHERE transaction_type IN ('refund', 'release')), 0) AS given_back,
  reserved - given_back AS used_or_in_use
FROM entries
GROUP BY user_id
HAVING reserved IS NOT NULL
ORDER BY used_or_in_use DESC, user_id;
