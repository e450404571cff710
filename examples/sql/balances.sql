-- What does each user have left, and what has expired?
SELECT
  user_id,
  max_by(balance_after, revision) AS balance,
  coalesce(-sum(credits) FILTER (WHERE transaction_type = 'expiry'), 0) AS expired,
  max(recorded_at) AS last_entry_at
FROM entries
GROUP BY user_id
ORDER BY balance DESC, user_id;
