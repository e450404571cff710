-- How far do users come?
WITH users AS (SELECT DISTINCT user_id FROM UserRegistered),
submitted AS (SELECT DISTINCT user_id FROM jobs),
completed AS (SELECT DISTINCT user_id FROM jobs WHERE status = 'completed'),
paid AS (SELECT DISTINCT user_id FROM entries WHERE money_cents > 0)
SELECT step, users FROM (VALUES
  (1, 'registered', (SELECT count(*) FROM users)),
  (2, 'submitted a job', (SELECT count(*) FROM users JOIN submitted USING (user_id))),
  (3, 'completed a job', (SELECT count(*) FROM users JOIN completed USING (user_id))),
  (4, 'paid', (SELECT count(*) FROM users JOIN paid USING (user_id)))
) AS funnel (place, step, users)
ORDER BY place;
