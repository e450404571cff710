-- What was earned, by plan or package and month, less what went back? Amounts are in the smallest unit of the currency.
SELECT
  date_trunc('month', recorded_at)::DATE AS month,
  coalesce(plan, package_id) AS sold,
  currency,
  count(*) AS payments,
  sum(money_cents) AS received_cents,
  sum(returned_cents) AS returned_cents,
  sum(money_cents - returned_cents) AS net_cents
FROM entries
WHERE money_cents IS NOT NULL
GROUP BY ALL
ORDER BY ALL;
