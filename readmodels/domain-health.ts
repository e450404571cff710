// The read model of domains: one document a domain, with what all checks of its URLs found. While jobs run it may be
// some batches behind the log: those wait in a collection of their own.
import type { URLChecked } from '../events/checks.ts';
import type { Collection, CollectionSpec, Document, Filter, Sort } from './documents.ts';
import type { Counts } from './stats.ts';

/** `_id` is the domain. */
export interface DomainHealthDocument extends Document {
  checks: number;
  /** Of them broken: 4xx, 5xx or unreachable. */
  failures: number;
  /** failures / checks, to four decimals. */
  failure_rate: number;
  /** Checks that a bot protection turned away. */
  blocked_count: number;
  /** Null before the first answer. */
  avg_response_time_ms: number | null;
  /** What the average is of. */
  answers: number;
  response_time_total_ms: number;
  /** ISO 8601. */
  last_checked_at: string;
  /** By status code, `none` where no answer came. */
  status_codes: Counts;
  error_codes: Counts;
  verdicts: Counts;
}

export const domainHealth: CollectionSpec<DomainHealthDocument> = {
  name: 'domain_health',
  fields: {
    checks: 'number',
    failures: 'number',
    failure_rate: 'number',
    blocked_count: 'number',
    avg_response_time_ms: 'number',
    last_checked_at: 'string',
  },
  // Checks write here all the time: the one index is for the order that is asked for most.
  indexes: [{ fields: { failure_rate: 1, checks: 1 } }],
};

/** What a check says of the domain of its URL. */
export interface FoundOfDomain
  extends Pick<URLChecked, 'status_code' | 'is_broken' | 'verdict' | 'error_code' | 'response_time_ms'> {
  domain: string;
  /** ISO 8601. */
  at: string;
}

/** A batch that is not counted yet, named by its last position. */
export interface DomainChecksDocument extends Document {
  found: FoundOfDomain[];
}

export const domainChecks: CollectionSpec<DomainChecksDocument> = { name: 'domain_checks', fields: {}, indexes: [] };

export const DOMAIN_SORTS = [
  'failure_rate',
  'checks',
  'failures',
  'blocked_count',
  'avg_response_time_ms',
  'last_checked_at',
  'domain',
] as const;
export type DomainSort = (typeof DOMAIN_SORTS)[number];

/** Domains with at least `min_checks`. */
export async function domainHealthPage(
  collection: Pick<Collection<DomainHealthDocument>, 'find' | 'count'>,
  page: { min_checks: number; sort_by: DomainSort; sort_order: 'asc' | 'desc'; limit: number; offset: number },
): Promise<{ items: DomainHealthDocument[]; total: number }> {
  const filter: Filter = { checks: { $gte: page.min_checks } };
  const [items, total] = await Promise.all([
    collection.find(filter, {
      sort: sortOf(page.sort_by, page.sort_order === 'asc' ? 1 : -1),
      skip: page.offset,
      limit: page.limit,
    }),
    collection.count(filter),
  ]);
  return { items, total };
}

function sortOf(sort_by: DomainSort, direction: 1 | -1): Sort {
  if (sort_by === 'domain') return { _id: direction };
  // Of equals, that with the most checks says the most.
  return sort_by === 'failure_rate' ? { failure_rate: direction, checks: direction } : { [sort_by]: direction };
}
