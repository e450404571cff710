// What changed between two checks of the same list: which URLs broke, which healed, which moved. Decision 101 says why.
import { LRUCache } from 'lru-cache';
import { hasEnded } from '../../events/job.ts';
import { Nullable, Type } from '../../events/schema.ts';
import { type JobDocument, jobs } from '../../readmodels/jobs/jobs.ts';
import { results } from '../../readmodels/results/results.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { assertResultsKept, HttpError } from '../frame/errors.ts';
import { anError, routeOf } from '../frame/route.ts';
import { Count, CountsOf, NullableTime, pick } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { CHANGES, type Change, type Comparison, compareChecks } from './compare-checks.ts';
import { paging, ResultView, resultExample, resultViewsOf } from './result-view.ts';
import { removedMeanwhile, resultsAt, wholly } from './whole-results.ts';

/** Of the comparisons that are kept, so that the pages of one are read without comparing again: about six of a million URLs. */
const MAX_KEPT_BYTES = 32 * 1024 * 1024;
const BYTES_A_URL = 5;

const wire = ({ read }: Parts) => ({
  read: read({ jobs, results }),
  kept: new LRUCache<string, Comparison>({ maxSize: MAX_KEPT_BYTES }),
});
export type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(GATEWAY, 'jobs');

const NO_EARLIER = 'There is no such job to compare with, or the caller does not own it.';
const NOT_ENDED = 'Both jobs must have ended: completed, cancelled or failed.';

const ChangedView = Type.Object(
  {
    change: Type.Enum(CHANGES, {
      $id: 'Change',
      description:
        '`broke`: it worked and is broken now. `healed`: the reverse. `moved`: it works and ends at another address. `changed`: as broken ' +
        'or as sound as before, with another status code, verdict or reason. `added`, `removed`: only the later or only the earlier job checked it.',
    }),
    url: Type.String(),
    before: Nullable(ResultView),
    after: Nullable(ResultView),
  },
  { $id: 'ChangedUrl' },
);
const soundExample = { ...resultExample, status_code: 200, is_broken: false, verdict: 'ok' as const };

export const changes = route({
  id: 'listJobChanges',
  method: 'GET',
  path: '/jobs/{job_id}/changes',
  access: 'owner',
  heavy: true,
  of_results: true,
  summary: 'List what changed since an earlier job of the same list',
  description:
    'Compares the results of two ended jobs of one owner, URL by URL as submitted, in any order of the lists. The changes come in the ' +
    'order of the later list, then what was removed. Response times are no change.',
  query: Type.Object({
    since: Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'The id of the earlier job.',
      examples: ['7d4d1f57-2f0a-4a53-9c5e-0d9f6f3f5a10'],
    }),
    change: Type.Optional(Type.Enum(CHANGES, { type: 'string', description: 'Only changes of this kind.' })),
    ...paging(50),
  }),
  responses: {
    200: {
      description: 'A page of changes, and the counts of all.',
      schema: Type.Object(
        {
          items: Type.Array(ChangedView),
          total: Count('Changes that pass the filter.'),
          limit: Type.Integer(),
          offset: Type.Integer(),
          counts: CountsOf(CHANGES, 'All changes, by kind.'),
          unchanged: Count('URLs that both jobs found alike.'),
          since: Type.Object(
            {
              job_id: Type.String(),
              filename: Nullable(Type.String()),
              completed_at: NullableTime,
              completed_urls: Count('URLs that the earlier job checked.'),
            },
            { description: 'The earlier job.' },
          ),
        },
        { $id: 'JobChanges' },
      ),
      example: {
        items: [{ change: 'broke', url: resultExample.url, before: soundExample, after: resultExample }],
        total: 1,
        limit: 50,
        offset: 0,
        counts: { broke: 1, healed: 0, moved: 0, changed: 0, added: 0, removed: 0 },
        unchanged: 999,
        since: {
          job_id: '7d4d1f57-2f0a-4a53-9c5e-0d9f6f3f5a10',
          filename: 'urls.csv',
          completed_at: '2026-01-01T10:00:00.000Z',
          completed_urls: 1000,
        },
      },
    },
  },
  errors: {
    404: {
      description: 'One of the jobs does not exist, or the caller does not own it.',
      examples: { since_not_found: { message: NO_EARLIER } },
    },
    409: anError('One of the jobs has not ended.', 'not_ended', NOT_ENDED),
  },
  async handler({ job, query, signal }, { read, kept }) {
    const earlier = await earlierJob(read, job, query.since);
    if (!hasEnded(job.status) || !hasEnded(earlier.status)) throw new HttpError(409, 'not_ended', NOT_ENDED);
    const body = comparedPage({ job, earlier, signal, ...query }, { read, kept });
    return {
      body: await body.catch(async (error: unknown) => {
        // Reading takes a while: results that are missing may have expired since it began.
        assertResultsKept((await read.jobs.get(job._id)) ?? {});
        await earlierJob(read, job, query.since);
        throw error;
      }),
    };
  },
});

async function earlierJob(read: Deps['read'], job: JobDocument, since: string): Promise<JobDocument> {
  const earlier = await read.jobs.get(since);
  if (earlier?.owner_id !== job.owner_id) throw new HttpError(404, 'since_not_found', NO_EARLIER);
  assertResultsKept(earlier);
  return earlier;
}

interface Compared {
  job: JobDocument;
  earlier: JobDocument;
  change?: Change;
  limit: number;
  offset: number;
  signal: AbortSignal;
}

async function comparedPage({ job, earlier, change, limit, offset, signal }: Compared, { read, kept }: Deps) {
  const since = earlier._id;
  const key = `${job._id} ${since}`;
  let comparison = kept.get(key);
  if (!comparison) {
    comparison = await compareChecks(checkOf(read.results, earlier, signal), checkOf(read.results, job, signal));
    kept.set(key, comparison, { size: 1024 + BYTES_A_URL * (job.total_urls + earlier.total_urls) });
  }

  const page = comparison.page({ change, offset, limit });
  const indexes = (side: 'before' | 'after') => page.map((row) => row[side]).filter((index) => index !== null);
  const [before, after] = await Promise.all([
    viewsAt(read.results, earlier, indexes('before'), signal),
    viewsAt(read.results, job, indexes('after'), signal),
  ]);
  const items = page.map((row) => {
    const [was, is] = [before(row.before), after(row.after)];
    return { change: row.change, url: (is ?? was)!.url, before: was, after: is };
  });
  const { counts, unchanged } = comparison;
  const total = change === undefined ? CHANGES.reduce((sum, each) => sum + counts[each], 0) : counts[change];
  const of = { job_id: since, ...pick(earlier, ['filename', 'completed_at', 'completed_urls']) };
  return { items, total, limit, offset, counts, unchanged, since: of };
}

type Results = Deps['read']['results'];

const checkOf = (read: Results, job: JobDocument, signal: AbortSignal) => ({
  total_urls: job.total_urls,
  pages: wholly(read, { job_id: job._id }, job.completed_urls, signal),
});

/** Returns a function that gives the view of a result by its index, null for null. Throws 404 when they were removed meanwhile. */
async function viewsAt(read: Results, job: JobDocument, indexes: readonly number[], signal: AbortSignal) {
  const found = await resultsAt(read, { job_id: job._id }, indexes, signal);
  if (found.size < indexes.length) throw removedMeanwhile();
  const view = resultViewsOf(job);
  return (index: number | null) => (index === null ? null : view(found.get(index)!));
}

export const group = groupOf(wire, [changes]);
