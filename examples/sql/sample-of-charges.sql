-- A sample of the URLs that were paid for, as auditors draw one: --param seed=TEXT --param size=N. The same seed draws the same URLs again, on
-- any machine. `ledger trace --job ID --row N` goes on from each.
SELECT urls.job_id, urls.row, urls.url, urls.verdict, urls.checked_at, urls.position, min(entries.transaction_id) AS reservation
FROM urls
JOIN entries ON entries.job_id = urls.job_id AND entries.transaction_type = 'reservation'
GROUP BY urls.job_id, urls.index, urls.row, urls.url, urls.verdict, urls.checked_at, urls.position
ORDER BY md5($seed || ' ' || urls.job_id || ' ' || urls.index)
LIMIT $size::BIGINT;
