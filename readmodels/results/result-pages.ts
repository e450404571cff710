// Pages of a job's results by offset or by cursor, with the total. The total comes from the job's statistics where they have it,
// because counting a million results takes a thousand times as long as reading a page.

import { hasEnded } from '../../events/job.ts';
import type { Collection, Filter, Slice } from '../documents.ts';
import type { JobDocument } from '../jobs/jobs.ts';
import type { ResultPlaces } from './result-places.ts';
import {
  groupHolds,
  type ResultDocument,
  type ResultsFilter,
  resultsFilter,
  type StoredResult,
  toResult,
} from './results.ts';
import { NO_STATUS, type StatsDocument } from './stats.ts';

/** The collections that pages are read from. */
export interface ResultsRead {
  results: Pick<Collection<StoredResult>, 'slice' | 'count'>;
  jobStats: Pick<Collection<StatsDocument>, 'get'>;
  /** For pages of filtered results far down the list. */
  places?: ResultPlaces;
}
/** The fields of the job that a page needs. */
type OfJob = Pick<JobDocument, '_id' | 'status' | 'completed_urls' | 'total_urls'>;

/** Returns the number of results that pass the filter. */
export async function totalOf(
  { results, jobStats, places }: ResultsRead,
  job: OfJob,
  filter: ResultsFilter,
  signal?: AbortSignal,
): Promise<number> {
  const where = resultsFilter(job._id, filter);
  if (!('$and' in where)) return job.completed_urls;
  if (!isCounted(filter)) {
    const is_final = places !== undefined && hasEnded(job.status);
    return is_final ? await places.of(job, filter).total(signal) : await results.count(where, { signal });
  }
  const stats = await jobStats.get(job._id);
  return stats === null ? 0 : countedOf(stats, filter);
}

/** Whether a job's statistics have the number of results that pass: they lack URLs, and the status codes of broken results. */
function isCounted({ verdict, ...rest }: ResultsFilter): boolean {
  const { status_group, non_2xx, status_codes, ...others } = rest;
  if (verdict !== undefined) return Object.values(rest).every((value) => value === undefined);
  if (Object.values(others).some((value) => value !== undefined)) return false;
  return status_group !== 'broken' || (!non_2xx && !status_codes);
}

function countedOf(stats: StatsDocument, { status_codes, non_2xx, status_group, verdict }: ResultsFilter): number {
  if (verdict !== undefined) return stats.verdicts[verdict] ?? 0;
  if (status_group === 'broken') return stats.broken_urls;
  let total = 0;
  for (const [name, count] of Object.entries(stats.status_codes)) {
    const code = name === NO_STATUS ? null : Number(name);
    if (status_codes && (code === null || !status_codes.includes(code))) continue;
    if (non_2xx && groupHolds('2xx', code)) continue;
    if (status_group && !groupHolds(status_group, code)) continue;
    total += count;
  }
  return total;
}

export interface ResultsPage {
  /** A `LongPage` where the results are together too long to hold. */
  items: readonly ResultDocument[] | LongPage;
  total: number;
}

const sort = { index: 1 } as const;

/** Returns a page of results in the order of the job's URLs. */
export async function resultsPage(
  read: ResultsRead,
  job: OfJob,
  filter: ResultsFilter,
  page: { limit: number; offset: number; signal?: AbortSignal },
): Promise<ResultsPage> {
  const { offset: skip, signal } = page;
  const total = await totalOf(read, job, filter, signal);
  // A page after the last result would scan all of them to find none.
  const limit = Math.min(page.limit, total - skip);
  if (limit <= 0) return { items: [], total };
  const where = resultsFilter(job._id, filter);
  // Where every URL is checked the index is the place, so that no result before the page is read.
  const is_whole = total === job.total_urls;
  const places = !is_whole && hasEnded(job.status) ? read.places?.of(job, filter) : undefined;
  const place = is_whole ? { from_index: skip, skip: 0 } : (places?.placeOf(skip) ?? { from_index: 0, skip });
  const here: Filter = { $and: [where, { index: { $gt: place.from_index - 1 } }] };
  const first = await read.results.slice(here, { sort, skip: place.skip, limit, signal });
  const [start] = first.documents;
  if (start) places?.learn(skip, start.index);
  if (!first.is_cut) return { items: first.documents.map(toResult), total };
  return { items: new LongPage({ results: read.results, where, limit, signal }, first), total };
}

interface Source extends Pick<ResultsRead, 'results'> {
  where: Filter;
  limit: number;
  signal: AbortSignal | undefined;
}

/**
 * Results that are together too long to hold. Each iteration reads them from the store, a slice at a time, and gives the same
 * ones. It throws when one of them was deleted meanwhile.
 */
export class LongPage implements AsyncIterable<ResultDocument> {
  readonly #source: Source;
  readonly #first: Slice<StoredResult>;
  /** The indexes of the first whole iteration: results that arrive after it belong to other pages. */
  #indexes: ReadonlySet<number> | null = null;

  constructor(source: Source, first: Slice<StoredResult>) {
    this.#source = source;
    this.#first = first;
  }

  /** Index of the last result in the job; -1 before the first iteration has ended. */
  get last_index(): number {
    return this.#indexes === null ? -1 : Math.max(...this.#indexes);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ResultDocument> {
    const { results, where, limit, signal } = this.#source;
    const indexes = new Set<number>();
    for (let { documents } = this.#first; ; ) {
      for (const result of documents) {
        if (this.#indexes?.has(result.index) === false) continue;
        indexes.add(result.index);
        yield toResult(result);
      }
      if (indexes.size === limit) break;
      if (documents.length === 0) throw new Error('results were deleted while their page was written');
      const rest: Filter = { $and: [where, { index: { $gt: documents.at(-1)!.index } }] };
      ({ documents } = await results.slice(rest, { sort, limit: limit - indexes.size, signal }));
    }
    this.#indexes ??= indexes;
  }
}

/**
 * Returns the page after the result with index `after` (-1 for the first page), of results with an index below `before`. `next`
 * is the next page's `after`, null on the last page. `total` counts all results that pass the filter. Of very long results a page has fewer
 * than `limit`.
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
  const { documents, is_cut } = await read.results.slice(here, { sort, limit: limit + 1, signal });
  const items = documents.slice(0, limit).map(toResult);
  const has_more = is_cut || documents.length > limit;
  return { items, next: has_more ? items.at(-1)!.index : null, total };
}
