// Picks the proxy of each new connection at random, weighted by its recent results. A failing proxy is benched with growing
// back-off, then half-open: one connection tries it. The pool counts the results of each proxy until `drain`.
import assert from 'node:assert';
import { backOffMs } from '../../time/back-off.ts';
import type { ProxyEndpoint } from './endpoint.ts';

/** The result of a request through a proxy. */
export type ProxyResult =
  /** An answer of any status. */
  | 'answered'
  /** An answer with marks of bot protection. */
  | 'blocked'
  | 'timed_out'
  /** The proxy was unreachable, or refused us. */
  | 'proxy_down'
  /** Any other failure, of the proxy or of the target. */
  | 'failed';

/** The results of one proxy since the last `drain`. */
export interface Counts {
  requests: number;
  answered: number;
  blocked: number;
  timed_out: number;
  failed: number;
  /** Sum over the answered and blocked requests. */
  response_time_ms: number;
  /** Hosts that blocked or failed requests since the `drain` before the last one, at most `MAX_TROUBLED_HOSTS`. */
  readonly hosts: Map<string, HostCounts>;
}

export interface HostCounts {
  blocked: number;
  failed: number;
  /** Only after the host's first trouble. */
  answered: number;
}

/** Weight of the latest result in a proxy's score. */
const RECENCY = 0.1;
/** The pool still picks the worst proxy now and then, so that it can recover. */
const MIN_SCORE = 0.05;
const MAX_DRAWS = 16;
/** The pool benches a proxy after this many consecutive failures, over any hosts. */
const MAX_MISSES = 20;
const BENCH_MS = 1000;
const MAX_BENCH_MS = 5 * 60_000;
export const MAX_TROUBLED_HOSTS = 100;

export class PooledProxy {
  endpoint: ProxyEndpoint;
  listed = true;
  /** Open connections, idle ones included. */
  open = 0;
  /** Moving average of the share of answers among the results. */
  score = 1;
  /** Consecutive failures. */
  misses = 0;
  /** How often the pool benched the proxy since its last answer. */
  benchings = 0;
  benched_until = Number.NEGATIVE_INFINITY;
  counts = newCounts();

  constructor(endpoint: ProxyEndpoint) {
    this.endpoint = endpoint;
  }
}

export interface ProxyPoolOptions {
  /** Most connections at a time through one proxy. */
  per_proxy: number;
  /** Monotonic clock, in milliseconds. */
  now?: () => number;
  /** In [0, 1). */
  random?: () => number;
}

export class ProxyPool {
  readonly #per_proxy: number;
  readonly #now: () => number;
  readonly #random: () => number;
  #proxies: readonly PooledProxy[] = [];
  /** Proxies that left the list and still await their last `drain`. */
  readonly #unlisted = new Set<PooledProxy>();

  constructor(options: ProxyPoolOptions) {
    this.#per_proxy = options.per_proxy;
    this.#now = options.now ?? (() => performance.now());
    this.#random = options.random ?? Math.random;
  }

  get size(): number {
    return this.#proxies.length;
  }

  /** Sets the list. Proxies on the old and the new list keep their health and counts; connections through others run on. */
  list(endpoints: readonly ProxyEndpoint[]): void {
    const known = new Map([...this.#proxies, ...this.#unlisted].map((proxy) => [proxy.endpoint.id, proxy]));
    const listed = new Map<string, PooledProxy>();
    for (const endpoint of endpoints) {
      const proxy = known.get(endpoint.id) ?? new PooledProxy(endpoint);
      proxy.endpoint = endpoint;
      proxy.listed = true;
      this.#unlisted.delete(proxy);
      listed.set(endpoint.id, proxy);
    }
    for (const proxy of this.#proxies) {
      if (listed.has(proxy.endpoint.id)) continue;
      proxy.listed = false;
      this.#unlisted.add(proxy);
    }
    this.#proxies = [...listed.values()];
  }

  /** Whether `take` would return a proxy. */
  get usable(): boolean {
    const now = this.#now();
    return this.#proxies.some((proxy) => this.#isUsable(proxy, now));
  }

  isBenched(proxy: PooledProxy): boolean {
    return this.#restsFor(proxy) > 0;
  }

  /** Null for a proxy in use; else the milliseconds until one connection tries it, 0 when that may happen now. */
  quarantine(proxy: PooledProxy): { retry_ms: number } | null {
    const retry_ms = this.#restsFor(proxy);
    return retry_ms > 0 || proxy.benchings > 0 ? { retry_ms } : null;
  }

  #restsFor(proxy: PooledProxy): number {
    return Math.max(0, proxy.benched_until - this.#now());
  }

  /** A usable proxy, one of `avoided` only if there is no other; null for none. The caller releases it. */
  take(avoided?: ReadonlySet<PooledProxy> | null): PooledProxy | null {
    const proxy = this.#draw(avoided ?? null);
    if (proxy !== null) proxy.open++;
    return proxy;
  }

  release(proxy: PooledProxy): void {
    assert(proxy.open > 0);
    proxy.open--;
  }

  /** Counts the result of a request to the target `host`. `response_time_ms` is for answers only. */
  record(proxy: PooledProxy, result: ProxyResult, host: string, response_time_ms = 0): void {
    const { counts } = proxy;
    counts.requests++;
    if (result === 'answered' || result === 'blocked') {
      counts[result]++;
      counts.response_time_ms += response_time_ms;
      if (result === 'blocked') countTrouble(counts, host, 'blocked');
      else {
        const troubled = counts.hosts.get(host);
        if (troubled) troubled.answered++;
      }
      // A site's refusal says nothing against the proxy, and a retry through another proxy would be evasion.
      proxy.score += (1 - proxy.score) * RECENCY;
      proxy.misses = 0;
      proxy.benchings = 0;
      return;
    }
    counts[result === 'timed_out' ? 'timed_out' : 'failed']++;
    if (result !== 'proxy_down') countTrouble(counts, host, 'failed');
    proxy.score -= proxy.score * RECENCY;
    proxy.misses++;
    // Requests in flight when the pool benched the proxy fail with it: that is one failure.
    if (this.isBenched(proxy)) return;
    if (result === 'proxy_down' || proxy.misses >= MAX_MISSES) {
      proxy.benched_until = this.#now() + backOffMs(proxy.benchings, { first_ms: BENCH_MS, longest_ms: MAX_BENCH_MS });
      proxy.benchings++;
      proxy.misses = 0;
    }
  }

  /** Returns and resets the counts of each proxy. Unlisted proxies without open connections appear for the last time. */
  drain(): { proxy: PooledProxy; counts: Counts }[] {
    const drained = [...this.#proxies, ...this.#unlisted].map((proxy) => {
      const { counts } = proxy;
      proxy.counts = newCounts(counts.hosts);
      return { proxy, counts };
    });
    for (const proxy of this.#unlisted) if (proxy.open === 0) this.#unlisted.delete(proxy);
    return drained;
  }

  /** A proxy after its bench is half-open: it gets one connection. */
  #isUsable(proxy: PooledProxy, now: number): boolean {
    return now >= proxy.benched_until && proxy.open < (proxy.benchings > 0 ? 1 : this.#per_proxy);
  }

  #draw(avoided: ReadonlySet<PooledProxy> | null): PooledProxy | null {
    const proxies = this.#proxies;
    const now = this.#now();
    // Rejection sampling: draw evenly, and keep a proxy with the probability of its score.
    for (let i = 0; i < MAX_DRAWS && proxies.length > 0; i++) {
      const proxy = proxies[Math.floor(this.#random() * proxies.length)]!;
      if (!this.#isUsable(proxy, now) || avoided?.has(proxy) === true) continue;
      if (this.#random() < Math.max(proxy.score, MIN_SCORE)) return proxy;
    }
    const usable = proxies.filter((proxy) => this.#isUsable(proxy, now));
    const wanted = usable.filter((proxy) => avoided?.has(proxy) !== true);
    const left = wanted.length > 0 ? wanted : usable;
    return left[Math.floor(this.#random() * left.length)] ?? null;
  }
}

/** Hosts with trouble in `before` go on being counted, so that the statistics tell when they work again. */
function newCounts(before: Counts['hosts'] = new Map()): Counts {
  const hosts: Counts['hosts'] = new Map();
  for (const [host, { blocked, failed }] of before) {
    if (blocked + failed > 0) hosts.set(host, { blocked: 0, failed: 0, answered: 0 });
  }
  return { requests: 0, answered: 0, blocked: 0, timed_out: 0, failed: 0, response_time_ms: 0, hosts };
}

function countTrouble({ hosts }: Counts, host: string, kind: 'blocked' | 'failed'): void {
  let counts = hosts.get(host);
  if (counts === undefined) {
    if (hosts.size >= MAX_TROUBLED_HOSTS) return;
    counts = { blocked: 0, failed: 0, answered: 0 };
    hosts.set(host, counts);
  }
  counts[kind]++;
}
