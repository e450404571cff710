-- How many trials became paid plans, by the month of the trial?
WITH trials AS (SELECT substr(stream, len('subscription-') + 1) AS user_id, min(recorded_at) AS began_at FROM TrialStarted GROUP BY ALL),
paid AS (SELECT user_id, min(recorded_at) AS paid_at FROM entries WHERE transaction_type = 'subscription' GROUP BY ALL)
SELECT date_trunc('month', began_at)::DATE AS month, count(*) AS trials, count(paid_at) AS paid, round(100 * count(paid_at) / count(*), 1) AS percent
FROM trials LEFT JOIN paid ON paid.user_id = trials.user_id AND paid.paid_at >= trials.began_at
GROUP BY month
ORDER BY month;
