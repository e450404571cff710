// The read model of results: one document a checked URL, paged by offset or by cursor, with every filter.
import type { URLChecked } from '../events/checks.ts';
import type { Collection, CollectionSpec, Document, Filter } from './documents.ts';
import type { JobDocument } from './jobs.ts';

export interface ResultDocument extends Document, URLChecked {}

export const results: CollectionSpec<ResultDocument> = {
  name: 'results',
  fields: { job_id: 'string', index: 'number', url: 'string', status_code: 'number', is_broken: 'boolean' },
  // The second one holds all that filters ask for: a filtered page is found without looking at documents.
  indexes: [
    { fields: { job_id: 1, index: 1 }, unique: true },
    { fields: { job_id: 1, index: 1, status_code: 1, is_broken: 1, url: 1 } },
  ],
};

export const resultId = (job_id: string, index: number) => `${job_id}:${String(index).padStart(7, '0')}`;

export const STATUS_GROUPS = ['2xx', '3xx', '4xx', '5xx', 'broken', 'unreachable'] as const;

export interface ResultsFilter {
  status_codes?: readonly number[];
  /** Everything that is not 2xx, URLs without an answer included. */
  non_2xx?: boolean;
  /** Anywhere in the URL, in any case. */
  url_contains?: string;
  status_group?: (typeof STATUS_GROUPS)[number];
}

/** All given conditions hold together. */
export function resultsFilter(job_id: string, filter: ResultsFilter): Filter {
  const all: Filter[] = [{ job_id }];
  if (filter.status_codes) all.push({ status_code: { $in: filter.status_codes } });
  if (filter.non_2xx) {
    all.push({ $or: [{ status_code: null }, { status_code: { $lt: 200 } }, { status_code: { $gte: 300 } }] });
  }
  if (filter.url_contains) all.push({ url: { $contains: filter.url_contains } });
  if (filter.status_group) all.push(groupFilter(filter.status_group));
  return all.length === 1 ? all[0]! : { $and: all };
}

function groupFilter(group: (typeof STATUS_GROUPS)[number]): Filter {
  if (group === 'broken') return { is_broken: true };
  if (group === 'unreachable') return { status_code: null };
  const first = Number(group[0]) * 100;
  return { status_code: { $gte: first, $lt: first + 100 } };
}

type ResultsCollection = Pick<Collection<ResultDocument>, 'find' | 'count'>;
/** What a page needs to know of its job. */
type OfJob = Pick<JobDocument, '_id' | 'completed_urls'>;

/** How many results pass the filter. Without one that is known: counting a million documents takes longer than a page. */
export function totalOf(collection: ResultsCollection, job: OfJob, filter: ResultsFilter): number | Promise<number> {
  const where = resultsFilter(job._id, filter);
  return '$and' in where ? collection.count(where) : job.completed_urls;
}

export interface ResultsPage {
  items: ResultDocument[];
  total: number;
}

/** In order of submission. */
export async function resultsPage(
  collection: ResultsCollection,
  job: OfJob,
  filter: ResultsFilter,
  page: { limit: number; offset: number },
): Promise<ResultsPage> {
  const where = resultsFilter(job._id, filter);
  const [items, total] = await Promise.all([
    collection.find(where, { sort: { index: 1 }, skip: page.offset, limit: page.limit }),
    totalOf(collection, job, filter),
  ]);
  return { items, total };
}

/**
 * The page after the result with index `after` (-1 begins), of results with an index below `before`. `next` is null on
 * the last page; `total` counts all results that pass the filter, on every page.
 */
export async function resultsAfter(
  collection: ResultsCollection,
  job: OfJob,
  filter: ResultsFilter,
  page: { limit: number; after: number; before: number },
): Promise<{ items: ResultDocument[]; next: number | null; total: number }> {
  const here: Filter = { $and: [resultsFilter(job._id, filter), { index: { $gt: page.after, $lt: page.before } }] };
  const [items, total] = await Promise.all([
    collection.find(here, { sort: { index: 1 }, limit: page.limit + 1 }),
    totalOf(collection, job, filter),
  ]);
  if (items.length <= page.limit) return { items, next: null, total };
  const shown = items.slice(0, page.limit);
  return { items: shown, next: shown.at(-1)!.index, total };
}
