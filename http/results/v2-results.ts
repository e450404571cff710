// The public API's pages of results, by offset and by cursor.
import { hasEnded } from '../../events/job.ts';
import { Nullable, Type } from '../../events/schema.ts';
import { contiguousResults, type JobDocument, jobs } from '../../readmodels/jobs/jobs.ts';
import { LongPage, resultsAfter, resultsPage } from '../../readmodels/results/result-pages.ts';
import { type ResultsFilter, results as resultDocuments, resultsFilter } from '../../readmodels/results/results.ts';
import { jobStats } from '../../readmodels/results/stats.ts';
import { PUBLIC } from '../apis/public.ts';
import { openCursors } from '../frame/cursors.ts';
import { assertResultsKept, jobNotFound } from '../frame/errors.ts';
import { type Reply, routeOf } from '../frame/route.ts';
import { groupOf, type Parts } from '../group.ts';
import { jobWhen } from '../jobs/await-job.ts';
import {
  filterOf,
  isShortPage,
  MAX_RESULTS_PAGE,
  paging,
  ResultView,
  resultExample,
  resultFilters,
  resultViews,
  resultViewsOf,
  statusGroup,
} from './result-view.ts';
import { wholly } from './whole-results.ts';

const wire = ({ jobWatch, read, keys, closing, kept }: Parts) => ({
  ...{ jobWatch, closing, kept },
  cursors: openCursors(keys.links),
  read: read({ jobs, results: resultDocuments, jobStats }),
});
export type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(PUBLIC, 'jobs');

/** How long an empty page of a processing job waits for results, so that clients do not poll in a tight loop. */
const EMPTY_PAGE_MS = 2000;

export const results = route({
  id: 'listJobResults',
  method: 'GET',
  path: '/jobs/{id}/results',
  access: 'owner',
  heavy: true,
  job: 'id',
  of_results: true,
  made_of: 'job',
  summary: 'List the results of a job, in order of submission',
  description:
    'Pages by offset may shift while results arrive. Pages by cursor neither repeat nor miss a result: begin with an empty `cursor`, ' +
    'and continue with `next_cursor` and the same filters until it is null. While the job is processing, every page has a `next_cursor`; ' +
    `a page without results then means that none has come yet, and its answer takes up to ${EMPTY_PAGE_MS / 1000} s. A page of long ` +
    'results (megabytes) holds fewer than `limit`. The pages of a paused job end before the first missing result.',
  query: Type.Object({
    ...paging(50, MAX_RESULTS_PAGE),
    cursor: Type.Optional(
      Type.String({ maxLength: 200, description: '`next_cursor` of the page before; empty to begin.', examples: [''] }),
    ),
    ...resultFilters,
    status_group: statusGroup,
    items: Type.Boolean({
      default: false,
      description: 'Give the list under the name `items` too, as earlier versions did. It doubles the answer.',
    }),
  }),
  responses: {
    200: {
      description: 'A page of results.',
      schema: Type.Object(
        {
          results: Type.Array(ResultView),
          items: Type.Optional(
            Type.Array(ResultView, { description: 'The same list as `results`, with `items=true`.' }),
          ),
          next_cursor: Nullable(Type.String({ description: 'The cursor of the next page; null on the last page.' })),
          total: Type.Integer({ description: 'Results that pass the filters, on all pages.' }),
        },
        { $id: 'JobResults' },
      ),
      example: { results: [resultExample], next_cursor: null, total: 1 },
    },
  },
  async handler({ job, query, signal, rest }, services) {
    const { read, jobWatch, closing } = services;
    const { limit, cursor } = query;
    const filter = filterOf(query);
    const answer = (page: Page): Reply => ({ body: query.items ? { ...page, items: page.results } : page });
    if (hasEnded(job.status) && isShortPage(query)) {
      const page = async () => {
        if (cursor === undefined) return await offsetPage(job, query, services);
        return answer(await cursorPage(job, { cursor, limit }, filter, services));
      };
      return await services.kept.of(job, `v2 results ${JSON.stringify(query)}`, page);
    }
    if (cursor === undefined) return await offsetPage(job, query, services, signal);
    const page = await cursorPage(job, { cursor, limit, signal }, filter, services);
    if (page.results.length > 0 || job.status !== 'processing') return answer(page);
    rest();
    const moved = (now: JobDocument) => contiguousResults(now) > contiguousResults(job) || now.status !== 'processing';
    await jobWhen(jobWatch, job._id, moved, { timeout_ms: EMPTY_PAGE_MS, signals: [signal, closing] });
    signal.throwIfAborted();
    const then = await read.jobs.get(job._id);
    if (!then) throw jobNotFound();
    assertResultsKept(then);
    // The next one waits too.
    return { ...answer(await cursorPage(then, { cursor, limit, signal }, filter, services)), unchanged: () => false };
  },
});

interface Page {
  results: ResultView[];
  next_cursor: string | null;
  total: number;
}

async function offsetPage(
  job: JobDocument,
  query: Parameters<typeof filterOf>[0] & { limit: number; offset: number; items: boolean },
  { read, cursors }: Pick<Deps, 'read' | 'cursors'>,
  signal?: AbortSignal,
): Promise<Reply> {
  const { limit, offset } = query;
  const filter = filterOf(query);
  const { items, total } = await resultsPage(read, job, filter, { limit, offset, ...(signal && { signal }) });
  const more = offset + limit < total || job.status === 'processing';
  const nextAfter = (last: number) => {
    const after = Math.min(last, contiguousResults(job) - 1);
    return more ? cursors.after(after, { job_id: job._id, filter }) : null;
  };
  const views = resultViews(job, items);
  if (!(items instanceof LongPage)) {
    const next_cursor = nextAfter(items.at(-1)?.index ?? -1);
    return { body: { results: views, next_cursor, total, ...(query.items && { items: views }) } };
  }
  return {
    body: {
      results: views,
      // The reply reads this after it has written the results. A client that goes on from it may see a result twice.
      get next_cursor() {
        return nextAfter(items.last_index);
      },
      total,
      ...(query.items && { items: views }),
    },
  };
}

/**
 * Reads a page of at most `limit` results after the cursor; the empty cursor is the first page. Batches end out of order, so the
 * page ends before the first missing result. Throws ValidationError for a cursor of another job or filter.
 */
export async function cursorPage(
  job: JobDocument,
  { cursor, limit, signal }: { cursor: string; limit: number; signal?: AbortSignal },
  filter: ResultsFilter,
  { read, cursors }: Pick<Deps, 'read' | 'cursors'>,
): Promise<Page> {
  const scope = { job_id: job._id, filter };
  const after = cursors.indexOf(cursor, scope);
  const before = contiguousResults(job);
  const page = await resultsAfter(read, job, filter, { limit, after, before, ...(signal && { signal }) });
  // While the job is processing, the next page begins where this one ended.
  const seen = job.status === 'processing' ? Math.max(after, before - 1) : null;
  const next = page.next ?? seen;
  return {
    results: page.items.map(resultViewsOf(job)),
    next_cursor: next === null ? null : cursors.after(next, scope),
    total: page.total,
  };
}

/** All results before the first missing one, which the reply reads as it writes them, and the cursor of those to come. */
export function resultsSoFar(
  job: JobDocument,
  signal: AbortSignal,
  { read, cursors }: Pick<Deps, 'read' | 'cursors'>,
): { results: AsyncIterable<ResultView>; next_cursor: string | null } {
  assertResultsKept(job);
  const before = contiguousResults(job);
  const there = Math.min(before, job.completed_urls);
  const where = { $and: [resultsFilter(job._id, {}), { index: { $lt: before } }] };
  const viewOf = resultViewsOf(job);
  async function* results() {
    for await (const page of wholly(read.results, where, there, signal)) yield* page.map(viewOf);
  }
  const next_cursor = job.status === 'processing' ? cursors.after(before - 1, { job_id: job._id, filter: {} }) : null;
  return { results: results(), next_cursor };
}

export const group = groupOf(wire, [results]);
