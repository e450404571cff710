// The read model of domains: one document for each domain, with the results of its URLs counted over all ended jobs.
import type { FoundOfDomain } from '../events/domain-checks.ts';
import { type Collection, type Document, type Filter, kept, type ReadModelSpec, type Sort } from './documents.ts';
import { type Page, type Paging, pageOf } from './pages.ts';

/** `_id` is the domain. */
export interface DomainHealthDocument extends Document, Omit<FoundOfDomain, 'domain'> {
  /** failures / checks, to four decimals. */
  failure_rate: number;
  /** Null before the first answer. */
  avg_response_time_ms: number | null;
}

export const domainHealth: ReadModelSpec<DomainHealthDocument> = {
  name: 'domain_health',
  ...kept('380 a domain', 'never', 'none'),
  fields: {
    checks: 'number',
    failures: 'number',
    failure_rate: 'number',
    blocked_count: 'number',
    avg_response_time_ms: 'number',
    last_checked_at: 'string',
  },
  // The index serves the default order; other orders are rare.
  indexes: [{ fields: { failure_rate: 1, checks: 1 } }],
};

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

/** Returns a page of the domains with at least `min_checks` checks. A domain that never answered comes last in an order by time. */
export async function domainHealthPage(
  collection: Pick<Collection<DomainHealthDocument>, 'find' | 'count'>,
  page: Paging & { min_checks: number; sort_by: DomainSort; sort_order: 'asc' | 'desc' },
): Promise<Page<DomainHealthDocument>> {
  const sort = sortOf(page.sort_by, page.sort_order === 'asc' ? 1 : -1);
  const all: Filter = { checks: { $gte: page.min_checks } };
  if (page.sort_by !== 'avg_response_time_ms' || page.sort_order === 'desc') return pageOf(collection, all, sort, page);
  // Stores put null before every number.
  const answered = await pageOf(collection, { ...all, avg_response_time_ms: { $ne: null } }, sort, page);
  const [limit, skip] = [page.limit - answered.items.length, Math.max(0, page.offset - answered.total)];
  const silent: Filter = { ...all, avg_response_time_ms: null };
  const others = limit > 0 ? await collection.find(silent, { sort, skip, limit }) : [];
  return { items: [...answered.items, ...others], total: await collection.count(all) };
}

function sortOf(sort_by: DomainSort, direction: 1 | -1): Sort {
  if (sort_by === 'domain') return { _id: direction };
  // Among equal rates the domain with the most checks says the most.
  return sort_by === 'failure_rate' ? { failure_rate: direction, checks: direction } : { [sort_by]: direction };
}
