// The read model of the proxy pool: which proxies are on the list, and what checkers observed of each and of its domains.
import type { ProxyObserved } from '../../events/proxy.ts';
import type { Collection } from '../../readmodels/documents.ts';
import {
  countersOf,
  MAX_TROUBLED_DOMAINS,
  POOL,
  POOL_COUNTERS,
  PROXY_COUNTS,
  type ProxyCounts,
  type ProxyDocument,
  type ProxyDomainsDocument,
  type ProxyStatus,
  proxies,
  proxyDomains,
  proxyPool,
  TROUBLED_FROM,
  type TroubledDomain,
} from '../../readmodels/operations/proxies.ts';
import { CountChanges } from '../growth/day-counts.ts';
import { type OpenCollection, type Projection, projection } from '../projection.ts';
import { readAll, replaceAll, writeChanged } from '../slices.ts';

/** When there are as many, all recent counts are halved: older requests weigh less and less. */
const RECENT_REQUESTS = 1000;
const RECENT_OF_DOMAIN = 100;
/** A proxy with a smaller share of good answers is degraded. */
const HEALTHY_FROM = 0.8;
/** The read model keeps this many of the proxies that have left the list, the last ones. */
const MAX_REMOVED = 1000;
/** More than the proxies of one list and those that checkers of earlier versions named. */
const MOST_LISTED = 10_000;

const NONE: ProxyCounts = { requests: 0, answered: 0, blocked: 0, timed_out: 0, failed: 0, response_time_ms: 0 };

interface Page {
  collection: Collection<ProxyDocument>;
  /** The documents as they are stored, and as the events leave them. */
  stored: ReadonlyMap<string, ProxyDocument>;
  found: Map<string, ProxyDocument>;
  domains: Map<string, ProxyDomainsDocument>;
  changed: Set<string>;
  /** Whether the log had a list before these events. A heavy event is a part of its own, so this holds for each observation. */
  has_list: boolean;
  has_new_list: boolean;
}

export const proxiesProjection: Projection = projection({
  name: 'proxies',
  version: 3,
  collections: [proxies, proxyDomains, proxyPool],
  covers: ['proxy', 'proxy_list'],
  isHeavy: ({ type }) => type === 'ProxyListRefreshed',
  async begin(open, events): Promise<Page> {
    const collection = await open(proxies);
    const observed = events.flatMap((event) => (event.type === 'ProxyObserved' ? [event.data.proxy_id] : []));
    const listed = events.flatMap((event) =>
      event.type === 'ProxyListRefreshed' ? event.data.proxies.map(({ proxy_id }) => proxy_id) : [],
    );
    const before = events.some(({ type }) => type === 'ProxyListRefreshed')
      ? await collection.find({ is_listed: true }, { limit: MOST_LISTED })
      : [];
    const stored = new Map(before.map((document) => [document._id, document]));
    for (const [id, document] of await readAll(collection, [...observed, ...listed])) stored.set(id, document);
    const [listed_before] = await collection.find({ is_listed: true }, { sort: { address: 1 }, limit: 1 });
    return {
      collection,
      stored,
      found: new Map(stored),
      domains: await readAll(await open(proxyDomains), observed),
      changed: new Set(),
      has_list: listed_before !== undefined && listed_before.listed_at !== null,
      has_new_list: false,
    };
  },
  on: {
    ProxyListRefreshed({ data, metadata: { at } }, page) {
      const listed = new Set(data.proxies.map(({ proxy_id }) => proxy_id));
      for (const [id, document] of page.found) {
        if (document.is_listed && !listed.has(id)) put(page, { ...document, is_listed: false, removed_at: at });
      }
      for (const { proxy_id, address } of data.proxies) {
        const document = page.found.get(proxy_id) ?? newProxy(proxy_id, address);
        if (document.is_listed && document.listed_at !== null) continue;
        put(page, { ...document, is_listed: true, listed_at: at, removed_at: null });
      }
      page.has_new_list = true;
    },
    ProxyObserved({ data }, page) {
      const { proxy_id: _id } = data;
      const domains = troubled(page.domains.get(_id)?.domains ?? [], data);
      const document = observedOf(page.found.get(_id) ?? unknownProxy(page, data), data);
      put(page, { ...document, troubled_domains: domains.length });
      if (data.domains.length > 0) page.domains.set(_id, { _id, domains });
    },
  },
  async end({ collection, stored, found, domains, changed, has_new_list }, open) {
    const sums = new CountChanges();
    for (const id of changed) {
      for (const [name, by] of stored.has(id) ? countersOf(stored.get(id)!) : []) sums.add(POOL, name, -by);
      for (const [name, by] of countersOf(found.get(id)!)) sums.add(POOL, name, by);
    }
    await writeChanged(collection, changed, found);
    await replaceAll(await open(proxyDomains), domains.values());
    const forgotten = has_new_list ? await forgetRemoved(collection, open) : 0;
    sums.add(POOL, POOL_COUNTERS.status('removed'), -forgotten);
    await sums.writeTo(await open(proxyPool));
  },
});

function put({ found, changed }: Page, document: ProxyDocument): void {
  found.set(document._id, { ...document, status: statusOf(document) });
  changed.add(document._id);
}

const newProxy = (_id: string, address: string): ProxyDocument => ({
  ...{ _id, address, status: 'unused', is_listed: true, listed_at: null, removed_at: null },
  ...{ ...NONE, recent: NONE },
  ...{ last_used_at: null, quarantined_since: null, retry_at: null, troubled_domains: 0 },
});

/** An observed proxy without a document: a checker still uses what the list lost long ago, or the log has no list yet. */
const unknownProxy = ({ has_list }: Page, { proxy_id, address, until }: ProxyObserved): ProxyDocument => ({
  ...newProxy(proxy_id, address),
  ...(has_list && { is_listed: false, removed_at: until }),
});

/** The document after a checker's observation. */
function observedOf(document: ProxyDocument, data: ProxyObserved): ProxyDocument {
  const { status, until, retry_at = null } = data;
  // Only a list that the log has says which proxies are listed; earlier versions recorded none.
  const has_left = status === 'unlisted' && document.listed_at === null && document.is_listed;
  return {
    ...document,
    ...sumOf(document, data),
    ...(has_left && { is_listed: false, removed_at: until }),
    recent: recentOf(sumOf(document.recent, data), RECENT_REQUESTS),
    last_used_at: data.requests > 0 ? laterOf(document.last_used_at, until) : document.last_used_at,
    quarantined_since: status === 'benched' ? (document.quarantined_since ?? until) : null,
    retry_at: status === 'benched' ? retry_at : null,
  };
}

function statusOf({ is_listed, quarantined_since, recent }: ProxyDocument): ProxyStatus {
  if (!is_listed) return 'removed';
  if (quarantined_since !== null) return 'quarantined';
  if (recent.requests === 0) return 'unused';
  return recent.answered / recent.requests < HEALTHY_FROM ? 'degraded' : 'healthy';
}

const sumOf = (before: ProxyCounts, more: ProxyCounts): ProxyCounts =>
  Object.fromEntries(PROXY_COUNTS.map((name) => [name, before[name] + more[name]])) as unknown as ProxyCounts;

/** Halves the counts until there are few enough requests. */
function recentOf<Counts extends { requests: number }>(counts: Counts, most: number): Counts {
  if (counts.requests <= most) return counts;
  const halves = Object.entries<number>(counts as never).map(([name, count]) => [name, Math.floor(count / 2)]);
  return recentOf(Object.fromEntries(halves) as Counts, most);
}

const laterOf = (before: string | null, at: string) => (before !== null && before > at ? before : at);

/** The troubled domains after an observation, the one with the last request first. A domain that works again is left out. */
function troubled(before: readonly TroubledDomain[], { domains, until }: ProxyObserved): TroubledDomain[] {
  const by_name = new Map(before.map((domain) => [domain.domain, domain]));
  for (const { domain, blocked, failed, answered = 0 } of domains) {
    const known = by_name.get(domain);
    const sum = {
      requests: (known?.requests ?? 0) + blocked + failed + answered,
      answered: (known?.answered ?? 0) + answered,
      blocked: (known?.blocked ?? 0) + blocked,
      failed: (known?.failed ?? 0) + failed,
    };
    const recent = recentOf(sum, RECENT_OF_DOMAIN);
    by_name.delete(domain);
    if ((recent.blocked + recent.failed) / recent.requests < TROUBLED_FROM) continue;
    by_name.set(domain, { domain, ...recent, first_seen_at: known?.first_seen_at ?? until, last_seen_at: until });
  }
  const key = ({ last_seen_at, domain }: TroubledDomain) => `${last_seen_at} ${domain}`;
  const latest_first = [...by_name.values()].sort((a, b) => (key(a) < key(b) ? 1 : -1));
  return latest_first.slice(0, MAX_TROUBLED_DOMAINS);
}

/** Returns how many it deleted. */
async function forgetRemoved(collection: Collection<ProxyDocument>, open: OpenCollection): Promise<number> {
  const forgotten = await collection.find({ is_listed: false }, { sort: { removed_at: -1 }, skip: MAX_REMOVED });
  if (forgotten.length === 0) return 0;
  const deletes = forgotten.map(({ _id }) => ({ delete: _id }));
  await collection.write(deletes);
  await (await open(proxyDomains)).write(deletes);
  return forgotten.length;
}
