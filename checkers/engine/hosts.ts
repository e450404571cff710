// The pace of requests to each host. A throttled host gets half as many concurrent requests, with a growing gap between them,
// and none until its Retry-After has passed. Good answers restore the pace step by step. A host that never throttled has no
// state here. Pure: the clock is an argument.
import type { IncomingHttpHeaders } from 'node:http';
import { LRUCache } from 'lru-cache';
import { firstOf } from './headers.ts';
import { parseRetryAfter, RETRY_AFTER_CAP_MS } from './retries.ts';

/** An answer by which a host throttles us. */
export interface Throttling {
  /** From Retry-After; null without one. */
  retry_after_ms: number | null;
  /** True for a 429 or a Retry-After. A bare 503 may concern its page alone, so it slows the host less. */
  is_explicit: boolean;
}

/** Null for an answer that does not throttle. A bot challenge with status 503 does not throttle either. */
export function throttlingOf(
  status: number,
  headers: IncomingHttpHeaders,
  protection: string | null,
  wall: () => number,
): Throttling | null {
  if (status !== 429 && (status !== 503 || protection !== null)) return null;
  const retry_after_ms = parseRetryAfter(firstOf(headers, 'retry-after'), wall());
  return { retry_after_ms, is_explicit: status === 429 || retry_after_ms !== null };
}

export interface HostSettings {
  per_host: number;
  /** Least time between the starts of two requests to a host, throttled or not. */
  gap_ms: number;
  /** In [0, 1). */
  random: () => number;
}

const FIRST_GAP_MS = 100;
const MAX_GAP_MS = 10_000;
const MAX_GAP_OF_503_MS = 1000;
/** A smaller gap becomes 0. */
const MIN_GAP_MS = 20;
/**
 * Each good answer adds this share to the starts a second, at least `STARTS_ADDED`. 35 answers make up for one refusal,
 * which halves the starts, so a host at its limit refuses few requests.
 */
const STARTS_SHARE_ADDED = 0.02;
const STARTS_ADDED = 0.01;
/** Jitter after a Retry-After, so that the waiting requests do not start at once. */
const SPREAD_MS = 500;
/** Limit on the hosts with a pace. A job's next batch finds the pace of the previous one. */
const KEPT_HOSTS = 20_000;

interface Pace {
  /** Concurrent requests. */
  limit: number;
  /** Gap between starts, besides the setting's; 0 for none. */
  gap_ms: number;
  /** When the host was last slowed. Answers to requests from before say nothing new. */
  slowed_at: number;
  /** Good answers since the limit last changed. */
  answers: number;
  /** No request starts before this time. */
  free_at: number;
}

export class Hosts {
  readonly #settings: HostSettings;
  readonly #paces = new LRUCache<string, Pace>({ max: KEPT_HOSTS });
  /** Hosts to which no request may start now. */
  readonly #held = new Set<string>();
  /** Whether a host is for this checker to ask; null while all of them are. */
  owns: ((host: string) => boolean) | null = null;

  constructor(settings: HostSettings) {
    this.#settings = settings;
  }

  /** How many requests to the host may run at once. */
  limitOf(host: string): number {
    if (this.#held.has(host)) return 0;
    const { per_host } = this.#settings;
    const limit = this.#paces.peek(host)?.limit ?? per_host;
    // A redirect may lead to a host that another checker asks at its limit: one request after the other adds little to that.
    return this.owns === null || this.owns(host) ? limit : 1;
  }

  /** A request starts. True when that changes the host's limit. */
  started(host: string, now: number): boolean {
    const { gap_ms, random } = this.#settings;
    if (gap_ms === 0 && this.#paces.size === 0) return false;
    const pace = this.#paces.get(host) ?? (gap_ms === 0 ? null : this.#begin(host));
    if (pace === null) return false;
    const gap = Math.max(gap_ms, pace.gap_ms * (0.75 + random() / 2));
    return gap > 0 && this.#hold(host, pace, now + gap);
  }

  /** Slows a host that throttled a request of `asked_at`. True when the host was not slowed since that request. */
  slow(host: string, asked_at: number, now: number, { retry_after_ms, is_explicit }: Throttling): boolean {
    const { random } = this.#settings;
    const pace = this.#paces.get(host) ?? this.#begin(host);
    const is_news = asked_at > pace.slowed_at;
    if (is_news) {
      pace.limit = Math.max(1, pace.limit >> 1);
      const max = is_explicit ? MAX_GAP_MS : MAX_GAP_OF_503_MS;
      if (pace.gap_ms < max) pace.gap_ms = Math.min(max, Math.max(FIRST_GAP_MS, 2 * pace.gap_ms));
      pace.slowed_at = now;
      pace.answers = 0;
    }
    if (retry_after_ms !== null) {
      this.hold(host, now, retry_after_ms);
    } else if (is_news) {
      this.#hold(host, pace, now + pace.gap_ms * (0.75 + random() / 2));
    }
    return is_news;
  }

  /** Lets no request to the host start for `wait_ms`, up to the cap of Retry-After. */
  hold(host: string, now: number, wait_ms: number): void {
    const pace = this.#paces.get(host) ?? this.#begin(host);
    this.#hold(host, pace, now + Math.min(wait_ms, RETRY_AFTER_CAP_MS) + this.#settings.random() * SPREAD_MS);
  }

  /** Records a good answer to a request of `asked_at`. True when that changes the host's limit. */
  answered(host: string, asked_at: number): boolean {
    if (this.#paces.size === 0) return false;
    const pace = this.#paces.get(host);
    if (pace === undefined || asked_at <= pace.slowed_at) return false;
    if (pace.gap_ms > 0) {
      const starts = 1000 / pace.gap_ms;
      const gap = 1000 / (starts + Math.max(STARTS_ADDED, STARTS_SHARE_ADDED * starts));
      pace.gap_ms = gap < MIN_GAP_MS ? 0 : gap;
    }
    if (pace.limit === this.#settings.per_host) {
      if (pace.gap_ms === 0 && !this.#held.has(host)) this.#paces.delete(host);
      return false;
    }
    if (++pace.answers < pace.limit) return false;
    pace.answers = 0;
    pace.limit++;
    return true;
  }

  /** A host came back: it gets one request at first, then more with its answers. */
  restart(host: string, now: number): void {
    const pace = this.#paces.get(host) ?? this.#begin(host);
    pace.limit = 1;
    pace.answers = 0;
    pace.slowed_at = now;
  }

  /** Calls `freed` for each host whose hold has passed. */
  sweep(now: number, freed: (host: string) => void): void {
    for (const host of this.#held) {
      const pace = this.#paces.peek(host);
      if (pace !== undefined && pace.free_at > now) continue;
      this.#held.delete(host);
      if (pace?.limit === this.#settings.per_host && pace.gap_ms === 0) this.#paces.delete(host);
      freed(host);
    }
  }

  /** Number of hosts to which no request may start now. */
  get held(): number {
    return this.#held.size;
  }

  /** Number of hosts with a reduced pace or a gap. */
  get size(): number {
    return this.#paces.size;
  }

  #begin(host: string): Pace {
    const { per_host } = this.#settings;
    const pace = { limit: per_host, gap_ms: 0, slowed_at: Number.NEGATIVE_INFINITY, answers: 0, free_at: 0 };
    this.#paces.set(host, pace);
    return pace;
  }

  #hold(host: string, pace: Pace, until: number): boolean {
    pace.free_at = Math.max(pace.free_at, until);
    if (this.#held.has(host)) return false;
    this.#held.add(host);
    return true;
  }
}
