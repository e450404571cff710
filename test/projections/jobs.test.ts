// The read model of jobs is the same however the log is cut into transactions.
import test, { type ExecutionContext } from 'ava';
import type { RecordedEvent } from '../../events/event-store.ts';
import { jobsProjection } from '../../projections/jobs.ts';
import type { OpenCollection } from '../../projections/projection.ts';
import { type JobDocument, jobs } from '../../readmodels/jobs.ts';
import { resultId, results, type StoredResult } from '../../readmodels/results.ts';
import { FOUND } from '../support/behind.ts';
import { listedUrls, rangeOf } from '../support/checked.ts';
import { openTestStores } from '../support/stores.ts';

/** The times of the events, in seconds, by clocks that disagree. */
const at = (seconds: number): RecordedEvent['metadata'] => ({
  command_id: 'test',
  causation_id: 'test',
  actor: 'test',
  at: new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString(),
});
const event = (stream: string, revision: number, type: string, seconds: number, data: object): RecordedEvent => ({
  ...{ id: `${stream}/${revision}`, stream, type, revision, position: '', data },
  metadata: at(seconds),
});
const CREATED = {
  ...{ job_id: 'j', owner_id: 'alice', owner_email: null, source: 'api', filename: null, blob_key: null },
  ...{ total_urls: 3, batch_size: 1, credits_allocated: 3, reservation_id: 'j:0' },
  ...{ duplicates_removed: 0, invalid_urls_rejected: 0, blocked_urls_skipped: 0 },
};
const checked = (index: number, seconds: number) =>
  event(
    `checks-j-${index}`,
    0,
    'URLChecked',
    seconds,
    rangeOf([{ job_id: 'j', index, url: `https://e.com/${index}`, ...FOUND }]),
  );

const LOG = [
  event('job-j', 0, 'JobCreated', 0, CREATED),
  checked(0, 7),
  checked(1, 5),
  event('job-j', 1, 'JobPaused', 6, { reason: 'owner' }),
];

async function applied(t: ExecutionContext, transactions: RecordedEvent[][]): Promise<JobDocument | null> {
  const { documents } = await openTestStores(t);
  for (const events of transactions) {
    await documents.transaction((inside) =>
      jobsProjection.apply(events, (spec) => inside.collection(spec), listedUrls),
    );
  }
  return (await documents.collection(jobs)).get('j');
}

test('the order of the log decides the state of a job, and the clock does not', async (t) => {
  const whole = await applied(t, [LOG]);
  t.like(whole, { status: 'paused', completed_urls: 2, progress_at: at(6).at, started_at: at(7).at });
  t.deepEqual(
    await applied(
      t,
      LOG.map((one) => [one]),
    ),
    whole,
  );
  t.deepEqual(await applied(t, [LOG.slice(0, 2), LOG.slice(2)]), whole);
});

test('a damaged range neither replaces nor removes results that earlier events have stored', async (t) => {
  const { documents } = await openTestStores(t);
  const all = await documents.collection(results);
  const inTransaction = (work: (open: OpenCollection) => Promise<void> | undefined) =>
    documents.transaction(async (inside) => work((spec) => inside.collection(spec)));
  await inTransaction((open) => jobsProjection.apply(LOG, open, listedUrls));
  const stored = await all.find({});
  t.is(stored.length, 2);
  await all.write([{ insert: { ...stored[0]!, _id: resultId('j', 2), index: 2 } satisfies StoredResult }]);
  for (const damaged of [checked(0, 8), { ...checked(2, 8), stream: 'checks-j-0' }]) {
    const message = 'the range is not one of uncounted URLs of its batch';
    await t.throwsAsync(
      inTransaction((open) => jobsProjection.apply([damaged], open, listedUrls)),
      { message },
    );
    await inTransaction((open) => jobsProjection.retract!(damaged, open));
    t.is(await all.count({}), 3);
  }
  await inTransaction((open) => jobsProjection.retract!(checked(2, 8), open));
  t.deepEqual(await all.find({}), stored);
});
