// The read model of the proxy pool: one document for each proxy with its health, and one with its troubled domains.

import { type Collection, type Document, kept, type ReadModelSpec, readById } from '../documents.ts';
import { dayCounts } from '../growth/day-counts.ts';
import { type Page, type Paging, pageOf } from '../pages.ts';

export const PROXY_STATUSES = ['healthy', 'degraded', 'quarantined', 'unused', 'removed'] as const;
export type ProxyStatus = (typeof PROXY_STATUSES)[number];

export const PROXY_COUNTS = ['requests', 'answered', 'blocked', 'timed_out', 'failed', 'response_time_ms'] as const;
export interface ProxyCounts {
  requests: number;
  answered: number;
  blocked: number;
  timed_out: number;
  failed: number;
  /** Sum over the answered and blocked requests. */
  response_time_ms: number;
}

/** `_id` is the proxy's id. */
export interface ProxyDocument extends Document, ProxyCounts {
  /** Protocol, host and port. */
  address: string;
  status: ProxyStatus;
  /** Whether the newest list has it. */
  is_listed: boolean;
  /** When the list got it; null when only a checker of an earlier version has named it. */
  listed_at: string | null;
  /** When the list lost it; null while it is listed. */
  removed_at: string | null;
  /** The counts of about the last thousand requests. */
  recent: ProxyCounts;
  last_used_at: string | null;
  /** Since when the checker that used it last rests it, and when that checker tries it again. */
  quarantined_since: string | null;
  retry_at: string | null;
  /** The domains of its `ProxyDomainsDocument`. */
  troubled_domains: number;
}

export const proxies: ReadModelSpec<ProxyDocument> = {
  name: 'proxies',
  ...kept('700 a proxy', 'when 1,000 other proxies have left the list after it', 'none'),
  fields: { address: 'string', status: 'string', is_listed: 'boolean', removed_at: 'string', last_used_at: 'string' },
  indexes: [
    { fields: { is_listed: 1, address: 1 } },
    { fields: { status: 1, address: 1 } },
    { fields: { is_listed: 1, removed_at: -1 } },
    { fields: { is_listed: 1, last_used_at: -1 } },
  ],
};

/** The sums over all proxies, in one document, so that the figures of the pool read no proxy. */
export const proxyPool = dayCounts('proxy_pool', kept('1 kB', 'never', 'none'));
export const POOL = 'pool';
export const POOL_COUNTERS = {
  total: 'total',
  troubled_domains: 'troubled_domains',
  status: (status: ProxyStatus) => `status_${status}`,
  all: (count: keyof ProxyCounts) => `all_${count}`,
  recent: (count: keyof ProxyCounts) => `recent_${count}`,
} as const;

/** What a proxy adds to each counter. Of those that have left the list, only the number is counted. */
export function countersOf(proxy: ProxyDocument): [name: string, by: number][] {
  const of_status: [string, number] = [POOL_COUNTERS.status(proxy.status), 1];
  if (!proxy.is_listed) return [of_status];
  return [
    [POOL_COUNTERS.total, 1],
    of_status,
    [POOL_COUNTERS.troubled_domains, proxy.troubled_domains],
    ...PROXY_COUNTS.flatMap((count): [string, number][] => [
      [POOL_COUNTERS.all(count), proxy[count]],
      [POOL_COUNTERS.recent(count), proxy.recent[count]],
    ]),
  ];
}

export interface TroubledDomain {
  domain: string;
  /** Of about the last hundred requests to the domain, since its first trouble. */
  requests: number;
  answered: number;
  blocked: number;
  failed: number;
  first_seen_at: string;
  last_seen_at: string;
}

/** `_id` is the proxy's id. The domain with the latest trouble comes first. */
export interface ProxyDomainsDocument extends Document {
  domains: TroubledDomain[];
}

export const proxyDomains = readById<ProxyDomainsDocument>(
  'proxy_domains',
  kept('200 a blocked or degraded domain of a proxy, 500 domains at most', 'with the proxy', 'none'),
);

/** The most troubled domains of one proxy. The one whose last request is the oldest makes room. */
export const MAX_TROUBLED_DOMAINS = 500;

/** A domain with at least this share of troubled requests is degraded. */
export const TROUBLED_FROM = 0.1;
/** A domain that blocks at least this share of requests is blocked. */
const BLOCKED_FROM = 0.5;

export const domainStatus = ({ requests, blocked }: TroubledDomain): 'blocked' | 'degraded' =>
  blocked / requests >= BLOCKED_FROM ? 'blocked' : 'degraded';

/** A page of the proxies of the newest list, or of those with a status, by address. */
export function proxiesPage(
  collection: Pick<Collection<ProxyDocument>, 'find' | 'count'>,
  { status, search, ...paging }: Paging & { status?: ProxyStatus | undefined; search?: string | undefined },
): Promise<Page<ProxyDocument>> {
  const filter = {
    ...(status === undefined ? { is_listed: true } : { status }),
    ...(search === undefined ? {} : { address: { $contains: search } }),
  };
  return pageOf(collection, filter, { address: 1 }, paging);
}
