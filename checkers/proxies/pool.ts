// Which proxy the next connection goes through: at random, by how well each did of late; one that fails is benched for a
// while, ever longer, and then tried with one connection. It counts what each meets until someone asks.
import assert from 'node:assert';
import type { ProxyEndpoint } from './endpoint.ts';

/** What a request through a proxy came to. */
export type Met =
  /** An answer, whatever it says. */
  | 'answered'
  /** An answer that bears the marks of bot protection. */
  | 'blocked'
  | 'timed_out'
  /** The proxy itself was not there, or would not have us. */
  | 'proxy_down'
  /** Anything else: the proxy's doing or the target's. */
  | 'failed';

/** What it met since it was last asked. */
export interface Counts {
  requests: number;
  answered: number;
  blocked: number;
  timed_out: number;
  failed: number;
  /** The sum over the answered and the blocked, in milliseconds. */
  response_time_ms: number;
  /** The hosts with something else than answers; at most `MAX_TROUBLED_HOSTS`. */
  readonly hosts: Map<string, { blocked: number; failed: number }>;
}

/** Weight of the latest result in a proxy's score. */
const RECENCY = 0.1;
/** The worst is still chosen now and then, or it could never show that it is well again. */
const MIN_SCORE = 0.05;
const MAX_DRAWS = 16;
/** So many failures in a row, over any hosts, are the proxy's. */
const MAX_MISSES = 20;
const BENCH_MS = 1000;
const MAX_BENCH_MS = 5 * 60_000;
export const MAX_TROUBLED_HOSTS = 100;

export class PooledProxy {
  endpoint: ProxyEndpoint;
  listed = true;
  /** Connections through it, idle ones included. */
  open = 0;
  /** The share of answers among its results, the recent ones first. */
  score = 1;
  misses = 0;
  /** How often it was benched since its last answer. */
  benchings = 0;
  benched_until = Number.NEGATIVE_INFINITY;
  counts = newCounts();

  constructor(endpoint: ProxyEndpoint) {
    this.endpoint = endpoint;
  }
}

export interface ProxyPoolOptions {
  /** Connections at a time through one proxy. */
  per_proxy: number;
  /** Milliseconds that never go back. */
  now?: () => number;
  /** In [0, 1). */
  random?: () => number;
}

export class ProxyPool {
  readonly #per_proxy: number;
  readonly #now: () => number;
  readonly #random: () => number;
  #proxies: readonly PooledProxy[] = [];
  /** Off the list, and not yet reported so. */
  readonly #unlisted = new Set<PooledProxy>();

  constructor(options: ProxyPoolOptions) {
    this.#per_proxy = options.per_proxy;
    this.#now = options.now ?? (() => performance.now());
    this.#random = options.random ?? Math.random;
  }

  get size(): number {
    return this.#proxies.length;
  }

  /** Those that are still listed keep their health and their counts; what goes through the others ends by itself. */
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

  /** Whether `take` has one to give. */
  get usable(): boolean {
    const now = this.#now();
    return this.#proxies.some((proxy) => this.#isUsable(proxy, now));
  }

  isBenched(proxy: PooledProxy): boolean {
    return this.#now() < proxy.benched_until;
  }

  /** One that is usable, of those to be avoided only when there is no other; null when none is. To be released. */
  take(avoided?: ReadonlySet<PooledProxy> | null): PooledProxy | null {
    const proxy = this.#draw(avoided ?? null);
    if (proxy !== null) proxy.open++;
    return proxy;
  }

  release(proxy: PooledProxy): void {
    assert(proxy.open > 0);
    proxy.open--;
  }

  /** `response_time_ms`: of an answer. `host`: the target's. */
  met(proxy: PooledProxy, what: Met, host: string, response_time_ms = 0): void {
    const { counts } = proxy;
    counts.requests++;
    if (what === 'answered' || what === 'blocked') {
      counts[what]++;
      counts.response_time_ms += response_time_ms;
      if (what === 'blocked') trouble(counts, host, 'blocked');
      // A site that refuses us says nothing against the proxy, and to go on by another one would be evasion.
      proxy.score += (1 - proxy.score) * RECENCY;
      proxy.misses = 0;
      proxy.benchings = 0;
      return;
    }
    counts[what === 'timed_out' ? 'timed_out' : 'failed']++;
    if (what !== 'proxy_down') trouble(counts, host, 'failed');
    proxy.score -= proxy.score * RECENCY;
    proxy.misses++;
    // What was under way when it was benched fails with it: one failure.
    if (this.isBenched(proxy)) return;
    if (what === 'proxy_down' || proxy.misses >= MAX_MISSES) {
      proxy.benched_until = this.#now() + Math.min(BENCH_MS * 2 ** proxy.benchings, MAX_BENCH_MS);
      proxy.benchings++;
      proxy.misses = 0;
    }
  }

  /** Everything counted since the last call, those off the list for the last time. */
  drain(): { proxy: PooledProxy; counts: Counts }[] {
    const drained = [...this.#proxies, ...this.#unlisted].map((proxy) => {
      const { counts } = proxy;
      proxy.counts = newCounts();
      return { proxy, counts };
    });
    for (const proxy of this.#unlisted) if (proxy.open === 0) this.#unlisted.delete(proxy);
    return drained;
  }

  /** After the bench one connection tells whether it is well. */
  #isUsable(proxy: PooledProxy, now: number): boolean {
    return now >= proxy.benched_until && proxy.open < (proxy.benchings > 0 ? 1 : this.#per_proxy);
  }

  #draw(avoided: ReadonlySet<PooledProxy> | null): PooledProxy | null {
    const proxies = this.#proxies;
    const now = this.#now();
    // Each as likely as its score: drawn evenly, and kept with that probability.
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

function newCounts(): Counts {
  return { requests: 0, answered: 0, blocked: 0, timed_out: 0, failed: 0, response_time_ms: 0, hosts: new Map() };
}

function trouble({ hosts }: Counts, host: string, kind: 'blocked' | 'failed'): void {
  let counts = hosts.get(host);
  if (counts === undefined) {
    if (hosts.size >= MAX_TROUBLED_HOSTS) return;
    counts = { blocked: 0, failed: 0 };
    hosts.set(host, counts);
  }
  counts[kind]++;
}
