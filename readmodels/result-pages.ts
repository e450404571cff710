// Pages of a job's results by offset or by cursor, with how many there are on all of them. What the statistics have counted is
// never counted again: to count a million results takes a thousand times as long as to read a page of them.
import type { Collection, Filter } from './documents.ts';
import type { JobDocument } from './jobs.ts';
import { groupHolds, type ResultDocument, type ResultsFilter, resultsFilter } from './results.ts';
import { NO_STATUS, type StatsDocument } from './stats.ts';

/** What pages are made of. */
export interface ResultsRead {
  results: Pick<Collection<ResultDocument>, 'find' | 'count'>;
  jobStats: Pick<Collection<StatsDocument>, 'get'>;
}
/** What a page needs to know of its job. */
type OfJob = Pick<JobDocument, '_id' | 'completed_urls'>;

/** How many results pass the filter. */
export async function totalOf(
  { results, jobStats }: ResultsRead,
  job: OfJob,
  filter: ResultsFilter,
  signal?: AbortSignal,
): Promise<number> {
  const where = resultsFilter(job._id, filter);
  if (!('$and' in where)) return job.completed_urls;
  if (!isCounted(filter)) return await results.count(where, { signal });
  const stats = await jobStats.get(job._id);
  return stats === null ? 0 : countedOf(stats, filter);
}

/** Whether the statistics of a job tell how many of its results pass: they do not know the URLs, nor which codes are broken. */
function isCounted({ url_contains, status_group, non_2xx, status_codes }: ResultsFilter): boolean {
  if (url_contains !== undefined) return false;
  return status_group !== 'broken' || (!non_2xx && !status_codes);
}

function countedOf(stats: StatsDocument, { status_codes, non_2xx, status_group }: ResultsFilter): number {
  if (status_group === 'broken') return stats.broken_urls;
  let total = 0;
  for (const [name, count] of Object.entries(stats.status_codes)) {
    const code = name === NO_STATUS ? null : Number(name);
    if (status_codes && (code === null || !status_codes.includes(code))) continue;
    if (non_2xx && code !== null && code >= 200 && code < 300) continue;
    if (status_group && !groupHolds(status_group, code)) continue;
    total += count;
  }
  return total;
}

export interface ResultsPage {
  items: ResultDocument[];
  total: number;
}

/** In order of submission. */
export async function resultsPage(
  read: ResultsRead,
  job: OfJob,
  filter: ResultsFilter,
  page: { limit: number; offset: number; signal?: AbortSignal },
): Promise<ResultsPage> {
  const { offset: skip, signal } = page;
  const total = await totalOf(read, job, filter, signal);
  // Behind the last one there is nothing to look for, which would take a look at everything.
  const limit = Math.min(page.limit, total - skip);
  if (limit <= 0) return { items: [], total };
  const where = resultsFilter(job._id, filter);
  return { items: await read.results.find(where, { sort: { index: 1 }, skip, limit, signal }), total };
}

/**
 * The page after the result with index `after` (-1 begins), of results with an index below `before`. `next` is null on
 * the last page; `total` counts all results that pass the filter, on every page.
 */
export async function resultsAfter(
  read: ResultsRead,
  job: OfJob,
  filter: ResultsFilter,
  page: { limit: number; after: number; before: number; signal?: AbortSignal },
): Promise<{ items: ResultDocument[]; next: number | null; total: number }> {
  const { limit, after, before, signal } = page;
  const total = await totalOf(read, job, filter, signal);
  if (total === 0) return { items: [], next: null, total };
  const here: Filter = { $and: [resultsFilter(job._id, filter), { index: { $gt: after, $lt: before } }] };
  const items = await read.results.find(here, { sort: { index: 1 }, limit: limit + 1, signal });
  if (items.length <= limit) return { items, next: null, total };
  const shown = items.slice(0, limit);
  return { items: shown, next: shown.at(-1)!.index, total };
}
