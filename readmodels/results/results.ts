// The read model of results: one document for each checked URL, and the filters over them.
import { hash } from 'node:crypto';
import { type CheckedUrl, usualFinalUrl } from '../../events/checked-range.ts';
import type { Verdict } from '../../events/checks.ts';
import { isTemporary, type RedirectKind, redirectKindOf } from '../../events/findings.ts';
import { type Document, type Filter, kept, type ReadModelSpec } from '../documents.ts';

/** A result as its readers see it. */
export interface ResultDocument extends Document, CheckedUrl {
  /** See `rowShift`; missing for 0. */
  row_shift?: number;
  /** The client's own name for the URL. */
  ref?: string;
}

/** The fields that every stored result has; a missing one of the others has its usual value. */
type Kept = 'job_id' | 'index' | 'url' | 'status_code' | 'is_broken';
/** A result as the store keeps it, without what is usual. */
export interface StoredResult extends Document, Pick<CheckedUrl, Kept>, Partial<Omit<CheckedUrl, Kept>> {
  row_shift?: number;
  ref?: string;
  /** For filters. */
  redirect_kind?: RedirectKind;
  temporary?: true;
}

export const results: ReadModelSpec<StoredResult> = {
  name: 'results',
  ...kept('907 a URL', "slice by slice with the job's purge, or `RESULTS_RETENTION_DAYS` after its end", 'of_results'),
  fields: {
    ...{ job_id: 'string', index: 'number', url: 'string', status_code: 'number', is_broken: 'boolean' },
    ...{ redirect_kind: 'string', temporary: 'boolean', verdict: 'string' },
  },
  identity: ['job_id', 'index'],
  // The index covers all filters, so that a filtered page is found without reading documents.
  indexes: [
    {
      fields: { job_id: 1, index: 1, status_code: 1, is_broken: 1, url: 1, redirect_kind: 1, temporary: 1, verdict: 1 },
    },
  ],
};

/** The characters of a job's id that are its time. */
const TIME_CHARS = 13;
const HASH_CHARS = 12;

/**
 * Returns a function that makes the id of the job's result with an index. The ids have the time of the job's id, so that results of one
 * time lie together, and a hash instead of the rest of it, which is longer.
 * @example resultIds('019aad3c-1f3e-7c04-9a37-3b1d9f0c2e51')(12).replace(/^.{25}/, '') // ':0000012'
 */
export function resultIds(job_id: string): (index: number) => string {
  const key = `${job_id.slice(0, TIME_CHARS)}${hash('sha256', job_id, 'base64url').slice(0, HASH_CHARS)}`;
  return (index) => `${key}:${String(index).padStart(7, '0')}`;
}

export const resultId = (job_id: string, index: number) => resultIds(job_id)(index);

/** Leaves out the fields that have their usual values. */
export function toStored(_id: string, row: CheckedUrl, row_shift = 0, ref?: string): StoredResult {
  const { job_id, index, url, status_code, is_broken } = row;
  const stored: StoredResult = { _id, job_id, index, url, status_code, is_broken };
  if (row.final_url !== usualFinalUrl(row, url)) stored.final_url = row.final_url;
  if (row.is_soft_404) stored.is_soft_404 = true;
  if (row.redirect_chain.length > 0) stored.redirect_chain = row.redirect_chain;
  if (row.redirect_statuses !== undefined) {
    stored.redirect_statuses = row.redirect_statuses;
    stored.redirect_kind = redirectKindOf(row.redirect_statuses);
  }
  if (isTemporary(row)) stored.temporary = true;
  if (row.response_time_ms !== null) stored.response_time_ms = row.response_time_ms;
  if (row.content_type !== null) stored.content_type = row.content_type;
  if (row.error_code !== null) stored.error_code = row.error_code;
  if (row.verdict !== 'ok') stored.verdict = row.verdict;
  if (row.protection !== null) stored.protection = row.protection;
  if (row.attempts !== 1) stored.attempts = row.attempts;
  if (row.meta_refresh !== undefined) stored.meta_refresh = row.meta_refresh;
  if (row.tls_detail !== undefined) stored.tls_detail = row.tls_detail;
  if (row.tried_ms !== undefined) stored.tried_ms = row.tried_ms;
  if (row.by_circuit !== undefined) stored.by_circuit = row.by_circuit;
  if (row_shift !== 0) stored.row_shift = row_shift;
  if (ref !== undefined) stored.ref = ref;
  return stored;
}

/** Returns the whole result of a stored one. */
export function toResult(stored: StoredResult): ResultDocument {
  const { _id, job_id, index, url, status_code, is_broken, redirect_chain = [], final_url } = stored;
  const result: ResultDocument = {
    _id,
    job_id,
    index,
    url,
    status_code,
    final_url: final_url === undefined ? usualFinalUrl({ status_code, redirect_chain }, url) : final_url,
    is_broken,
    is_soft_404: stored.is_soft_404 ?? false,
    redirect_chain,
    response_time_ms: stored.response_time_ms ?? null,
    content_type: stored.content_type ?? null,
    error_code: stored.error_code ?? null,
    verdict: stored.verdict ?? 'ok',
    protection: stored.protection ?? null,
    attempts: stored.attempts ?? 1,
  };
  if (stored.redirect_statuses !== undefined) result.redirect_statuses = stored.redirect_statuses;
  if (stored.meta_refresh !== undefined) result.meta_refresh = stored.meta_refresh;
  if (stored.tls_detail !== undefined) result.tls_detail = stored.tls_detail;
  if (stored.tried_ms !== undefined) result.tried_ms = stored.tried_ms;
  if (stored.by_circuit !== undefined) result.by_circuit = stored.by_circuit;
  if (stored.row_shift !== undefined) result.row_shift = stored.row_shift;
  if (stored.ref !== undefined) result.ref = stored.ref;
  return result;
}

export const STATUS_GROUPS = ['2xx', '3xx', '4xx', '5xx', 'broken', 'unreachable'] as const;

export interface ResultsFilter {
  status_codes?: readonly number[];
  /** Everything that is not 2xx, URLs without an answer included. */
  non_2xx?: boolean;
  /** A text anywhere in the URL, case-insensitive. */
  url_contains?: string;
  status_group?: (typeof STATUS_GROUPS)[number];
  /** `any`: results with redirects. */
  redirect_kind?: RedirectKind | 'any';
  temporary?: boolean;
  verdict?: Verdict;
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
  if (filter.redirect_kind)
    all.push({ redirect_kind: filter.redirect_kind === 'any' ? { $ne: null } : filter.redirect_kind });
  if (filter.temporary !== undefined) all.push({ temporary: filter.temporary ? true : { $ne: true } });
  // A result without a verdict is `ok`.
  if (filter.verdict) all.push({ verdict: filter.verdict === 'ok' ? null : filter.verdict });
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
