// The search of administrators over the jobs of all users: whatever is indexed is found among all jobs, a label among the newest.
import test from 'ava';
import { filterOf, LABELS_SEARCHED } from '../../../http/jobs/admin-job-list.ts';
import { type JobDocument, jobs } from '../../../readmodels/jobs/jobs.ts';
import { NEWEST_FIRST, pageOf } from '../../../readmodels/pages.ts';
import { openTestStores } from '../../support/stores.ts';

const jobAt = (n: number) =>
  ({
    _id: `job-${n}`,
    owner_id: `user-${n % 100}`,
    owner_email: `user-${n % 100}@example.com`,
    status: n % 2 === 0 ? 'completed' : 'failed',
    failure_reason: n % 2 === 0 ? null : 'no_progress',
    created_at: new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString(),
    label: n < 2 ? 'of the oldest' : `label ${n}`,
  }) as JobDocument;

test('a search reads all jobs of a user, and the labels of the newest jobs alone', async (t) => {
  const { documents } = await openTestStores(t);
  const collection = await documents.collection(jobs);
  const found = async (query: Parameters<typeof filterOf>[0]) => {
    const filter = await filterOf(query, collection);
    const page = await pageOf(collection, filter, NEWEST_FIRST, { limit: 200, offset: 0 });
    return page.items.map(({ _id }) => _id);
  };
  await collection.write([0, 1, 2, 3].map((n) => ({ replace: jobAt(n) })));
  t.deepEqual(await found({ search: 'of the oldest' }), ['job-1', 'job-0'], 'few jobs are searched whole');
  const more = Array.from({ length: LABELS_SEARCHED - 3 }, (_, n) => ({ replace: jobAt(n + 4) }));
  for (let from = 0; from < more.length; from += 1000) await collection.write(more.slice(from, from + 1000));
  const last = LABELS_SEARCHED;
  t.deepEqual(await found({ search: `label ${last}` }), [`job-${last}`]);
  t.deepEqual(await found({ search: 'of the oldest' }), ['job-1'], 'it is the oldest of those that are searched');
  t.deepEqual(await found({ search: 'job-0' }), ['job-0']);
  for (const search of ['user-0', 'USER-0@example.com']) t.true((await found({ search })).includes('job-0'));
  t.is((await found({ search: 'user-1' })).length, LABELS_SEARCHED / 100);
  t.deepEqual(await found({ search: 'user-1', status: 'completed' }), []);
  t.is((await found({ search: 'user-1', status: 'failed' })).length, LABELS_SEARCHED / 100);
  t.is((await found({ search: 'user-1', failure_reason: 'no_progress' })).length, LABELS_SEARCHED / 100);
  t.deepEqual(await found({ search: 'user-1', status: 'completed', failure_reason: 'no_progress' }), []);
  t.is((await found({ status: 'failed' })).length, 200);
  t.deepEqual(await found({ status: 'completed', failure_reason: 'no_progress' }), []);
});
