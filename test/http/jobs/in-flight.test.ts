import test from 'ava';
import { openInFlight } from '../../../http/jobs/in-flight.ts';
import { type HandedOut, MAX_HANDED_OUT_JOBS, type RoleSign } from '../../../roles/role-signs.ts';

const job = { _id: 'a', status: 'processing', completed_urls: 10, credits_allocated: 100 } as const;

/** As the heartbeat of the process that hands out the work says. */
const over = (urls_by_job: HandedOut['urls_by_job'] | null) =>
  openInFlight({
    alive: () => (urls_by_job === null ? [] : [{ state: 'working', work: { urls_by_job } } as RoleSign]),
  });

test('a job has the URLs in flight that its heartbeat names, and never more than are left', (t) => {
  t.is(over({ a: 40, b: 7 })(job), 40);
  t.is(over({ a: 40 })({ ...job, completed_urls: 95 }), 5);
  t.is(over({ b: 7 })(job), 0);
});

test('a job that is not processing has none in flight', (t) => {
  t.is(over({ a: 40 })({ ...job, status: 'paused' }), 0);
  t.is(over(null)({ ...job, status: 'completed' }), 0);
});

test('nobody knows without a heartbeat, with one of an earlier version, or for a job too many', (t) => {
  t.is(over(null)(job), null);
  t.is(over(undefined)(job), null);
  const others = Object.fromEntries(Array.from({ length: MAX_HANDED_OUT_JOBS }, (_, n) => [`b${n}`, 1]));
  t.is(over(others)(job), null);
});
