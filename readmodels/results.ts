// The read model of results: one document for each checked URL, and the filters over them.
import type { CheckedUrl } from '../events/checked-range.ts';
import type { CollectionSpec, Document, Filter } from './documents.ts';

export interface ResultDocument extends Document, CheckedUrl {}

export const results: CollectionSpec<ResultDocument> = {
  name: 'results',
  fields: { job_id: 'string', index: 'number', url: 'string', status_code: 'number', is_broken: 'boolean' },
  // The second index covers all filters, so that a filtered page is found without reading documents.
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
  /** A text anywhere in the URL, case-insensitive. */
  url_contains?: string;
  status_group?: (typeof STATUS_GROUPS)[number];
}

/** Makes the filter of a job's results for which all given conditions hold. */
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

/** Whether a status code (null without an answer) is in a group. Not for `broken`, which is no group of codes. */
export function groupHolds(group: (typeof STATUS_GROUPS)[number], status_code: number | null): boolean {
  if (group === 'unreachable' || status_code === null) return group === 'unreachable' && status_code === null;
  return Math.floor(status_code / 100) === Number(group[0]);
}
