// The read model of jobs is the same however the log is cut into transactions.
import test, { type ExecutionContext } from 'ava';
import { endOf, foldRange } from '../../../events/checked-range.ts';
import type { RecordedEvent } from '../../../events/event-store.ts';
import { maskOf } from '../../../events/url-mask.ts';
import type { UrlsOf } from '../../../projections/jobs/checked-urls.ts';
import { jobsProjection } from '../../../projections/jobs/jobs.ts';
import type { OpenCollection } from '../../../projections/projection.ts';
import { contiguousResults, type JobDocument, jobs } from '../../../readmodels/jobs/jobs.ts';
import { resultId, results, type StoredResult } from '../../../readmodels/results/results.ts';
import { FOUND } from '../../support/behind.ts';
import { listedUrls, rangeOf } from '../../support/checked.ts';
import { openTestStores } from '../../support/stores.ts';

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
  t.like(whole, { status: 'paused', completed_urls: 2, started_at: at(7).at });
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
    const message = 'the event does not tell of uncounted URLs of its batch';
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

/** A job of one batch of ten URLs, and an event of some of them. */
const BATCH = event('job-j', 0, 'JobCreated', 0, { ...CREATED, total_urls: 10, batch_size: 10, credits_allocated: 10 });
function someOf(revision: number, ...indexes: number[]) {
  const [from, to] = [Math.min(...indexes), Math.max(...indexes) + 1];
  const urls = Array.from({ length: to - from }, (_, n) => `https://e.com/${from + n}`);
  const outcomes = urls.map((final_url, n) => (indexes.includes(from + n) ? { ...FOUND, final_url } : undefined));
  return event('checks-j-0', revision, 'URLChecked', 1 + revision, foldRange('j', from, urls, outcomes));
}
const urlsOfRange: UrlsOf = ({ data }) => ({
  urls: Array.from({ length: endOf(data) - data.from_index }, (_, n) => `https://e.com/${data.from_index + n}`),
  rows: [],
});

test('results count as they come, in any order of their batch', async (t) => {
  const { documents } = await openTestStores(t);
  const apply = (...events: RecordedEvent[]) =>
    documents.transaction((inside) => jobsProjection.apply(events, (spec) => inside.collection(spec), urlsOfRange));
  const found = async () =>
    (await (await documents.collection(results)).find({})).map(({ index, url }) => [index, url]);
  const job = async () => (await (await documents.collection(jobs)).get('j'))!;
  const row = (index: number) => [index, `https://e.com/${index}`];
  await apply(BATCH, someOf(0, 3, 4, 8));
  t.deepEqual(await found(), [3, 4, 8].map(row));
  t.like(await job(), { completed_urls: 3, batches_done_before: 0, batches_done: { 0: maskOf([3, 4, 8]) } });
  t.is(contiguousResults(await job()), 0);
  await apply(someOf(1, 0, 2), someOf(2, 1));
  t.deepEqual(await found(), [0, 1, 2, 3, 4, 8].map(row));
  t.like(await job(), { completed_urls: 6, batches_done: { 0: maskOf([0, 1, 2, 3, 4, 8]) } });
  t.is(contiguousResults(await job()), 5);
  for (const twice of [someOf(3, 8), someOf(3, 5, 8), someOf(3, 9, 10)]) {
    await t.throwsAsync(apply(twice), { message: 'the event does not tell of uncounted URLs of its batch' });
  }
  await apply(someOf(3, 5, 6, 7));
  t.like(await job(), { completed_urls: 9, batches_done: { 0: 9 } });
  await apply(someOf(4, 9));
  t.like(await job(), { completed_urls: 10, batches_done_before: 1, batches_done: {}, due: 'completion' });
});

test('a set that could not be applied is retracted without the results between its URLs', async (t) => {
  const { documents } = await openTestStores(t);
  const all = await documents.collection(results);
  const inTransaction = (work: (open: OpenCollection) => Promise<void> | undefined) =>
    documents.transaction(async (inside) => work((spec) => inside.collection(spec)));
  await inTransaction((open) => jobsProjection.apply([BATCH, someOf(0, 3, 4, 8)], open, urlsOfRange));
  await all.write(
    [2, 5].map((index) => ({ insert: { ...resultOf(index), _id: resultId('j', index) } satisfies StoredResult })),
  );
  await inTransaction((open) => jobsProjection.retract!(someOf(1, 2, 5), open));
  t.deepEqual(
    (await all.find({})).map(({ index }) => index),
    [3, 4, 8],
  );
});
const resultOf = (index: number) => ({ job_id: 'j', index, url: '', status_code: 200, is_broken: false });
