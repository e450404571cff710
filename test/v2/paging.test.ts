// Pages by cursor while results arrive, in whatever order the batches end: none is repeated, none is missed, and they
// come in order of submission.
import test from 'ava';
import fc from 'fast-check';
import type { RecordedEvent } from '../../events/event-store.ts';
import { checksStream, jobStream } from '../../events/streams.ts';
import { openKeptReplies } from '../../http/frame/answers/kept-replies.ts';
import { openCursors } from '../../http/frame/cursors.ts';
import type { ResultView } from '../../http/results/result-view.ts';
import { type Deps, results as route } from '../../http/results/v2-results.ts';
import { jobsProjection } from '../../projections/jobs/jobs.ts';
import { type JobDocument, jobs } from '../../readmodels/jobs/jobs.ts';
import { results } from '../../readmodels/results/results.ts';
import { jobStats } from '../../readmodels/results/stats.ts';
import { FOUND } from '../support/behind.ts';
import { listedUrls, rangeOf } from '../support/checked.ts';
import { openTestStores } from '../support/stores.ts';

const BATCH_SIZE = 5;
const metadata = { command_id: 'test', causation_id: 'test', actor: 'test', at: '2026-01-31T09:00:00.000Z' };
const recorded = (stream: string, type: string, revision: number, data: object): RecordedEvent => ({
  ...{ id: `${stream}/${revision}`, stream, type, revision, position: '0', data, metadata },
});

function created(job_id: string, total_urls: number): RecordedEvent {
  return recorded(jobStream(job_id), 'JobCreated', 0, {
    ...{ job_id, owner_id: 'alice', owner_email: null, source: 'api', total_urls, batch_size: BATCH_SIZE },
    ...{ credits_allocated: total_urls, reservation_id: 'r', filename: null, blob_key: null },
    ...{ duplicates_removed: 0, invalid_urls_rejected: 0, blocked_urls_skipped: 0 },
  });
}

/** Every third is broken. */
function checked(job_id: string, index: number): RecordedEvent {
  const [batch, n] = [Math.floor(index / BATCH_SIZE), index % BATCH_SIZE];
  const is_broken = index % 3 === 0;
  const outcome = { ...FOUND, is_broken, status_code: is_broken ? 404 : 200, url: `https://a.example/${index}` };
  return recorded(checksStream(job_id, batch), 'URLChecked', n, rangeOf([{ job_id, index, ...outcome }]));
}

interface Page {
  results: ResultView[];
  next_cursor: string | null;
}

/** A job's results as they arrive, and the route that pages through them. */
interface Arriving {
  arrive(events: readonly RecordedEvent[]): Promise<void>;
  page(cursor: string): Promise<Page>;
}

test('each result is on exactly one page, in any order of arrival', async (t) => {
  const { documents } = await openTestStores(t);
  let jobs_made = 0;

  async function openJob(total_urls: number, query: object): Promise<Arriving> {
    const job_id = `job-${jobs_made++}`;
    const arrive: Arriving['arrive'] = (events) =>
      documents.transaction((inside) =>
        jobsProjection.apply([...events], (spec) => inside.collection(spec), listedUrls),
      );
    for (const spec of jobsProjection.collections) await documents.collection(spec);
    await arrive([created(job_id, total_urls)]);
    const services = {
      read: {
        jobs: await documents.collection(jobs),
        results: await documents.collection(results),
        jobStats: await documents.collection(jobStats),
      },
      cursors: openCursors(Buffer.from('key')),
      // An empty page waits for nothing here: the next result comes when the test says so.
      jobWatch: {
        follow(_: string, tell: (job: JobDocument | null) => void) {
          queueMicrotask(() => tell(null));
          return () => {};
        },
      },
      closing: new AbortController().signal,
      kept: openKeptReplies({ flips: 0, position: async () => '' }),
    } as unknown as Deps;
    return {
      arrive,
      async page(cursor) {
        const request = {
          job: await services.read.jobs.get(job_id),
          query: { offset: 0, ...query, cursor },
          signal: services.closing,
          rest() {},
        };
        const { body } = await route.handler(request as never, services);
        return JSON.parse(JSON.stringify(body)) as Page;
      },
    };
  }

  const job = fc.record({
    batches: fc.integer({ min: 1, max: 8 }),
    missing: fc.integer({ min: 0, max: BATCH_SIZE - 1 }),
    order: fc.infiniteStream(fc.nat()),
    limit: fc.integer({ min: 1, max: 12 }),
    /** How many results come between two pages, over and over. */
    between: fc.array(fc.nat(9), { minLength: 1, maxLength: 5 }),
    status_group: fc.constantFrom(undefined, 'broken'),
    end: fc.constantFrom('JobCompleted', 'JobCancelled', 'JobFailed'),
  });
  await fc.assert(
    fc.asyncProperty(job, async ({ batches, missing, order, limit, between, status_group, end }) => {
      const total_urls = batches * BATCH_SIZE - missing;
      const { arrive, page } = await openJob(total_urls, { limit, ...(status_group ? { status_group } : {}) });
      const job_id = `job-${jobs_made - 1}`;
      // A batch's results come in order, the batches in any: now and then all but one of them stand still.
      const waiting = Array.from({ length: batches }, (_, batch) =>
        Array.from({ length: BATCH_SIZE }, (_, n) => batch * BATCH_SIZE + n).filter((index) => index < total_urls),
      );
      const arrived: number[] = [];
      const stop_at = end === 'JobCompleted' ? total_urls : Math.floor(total_urls / 2);
      const seen: string[] = [];
      let cursor: string | null = '';
      let is_over = false;
      for (let pages = 0; cursor !== null; pages++) {
        const events: RecordedEvent[] = [];
        for (let n = between[pages % between.length]! + 1; n > 0 && arrived.length < stop_at; n--) {
          const open = waiting.filter((batch) => batch.length > 0);
          const index = open[order.next().value % open.length]!.shift()!;
          arrived.push(index);
          events.push(checked(job_id, index));
        }
        if (!is_over && arrived.length >= stop_at) {
          is_over = true;
          events.push(recorded(jobStream(job_id), end, 1, { completed_urls: arrived.length, reason: 'no_progress' }));
        }
        if (events.length > 0) await arrive(events);
        const got: Page = await page(cursor);
        t.deepEqual(await page(cursor), got);
        t.true(got.results.length <= limit);
        seen.push(...got.results.map(({ url }) => url));
        cursor = got.next_cursor;
        if (!is_over) t.not(cursor, null);
      }
      t.true(is_over);
      const expected = arrived.toSorted((a, b) => a - b).filter((index) => !status_group || index % 3 === 0);
      t.deepEqual(
        seen,
        expected.map((index) => `https://a.example/${index}`),
      );
    }),
    { numRuns: 60 },
  );
});
