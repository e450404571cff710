// How fast each host is asked. One that says that it is too much is asked by half as many at once, with a growing gap
// between them, and not at all while it wants to be waited for; answers bring it back, step by step. A host without
// trouble has no state here. Pure: the clock is an argument.
import type { IncomingHttpHeaders } from 'node:http';
import { LRUCache } from 'lru-cache';
import { firstOf } from './headers.ts';
import { parseRetryAfter, RETRY_AFTER_CAP_MS } from './retries.ts';

/** Several checkers share what a host is asked. */
export interface HostPeers {
  /** Of so many requests at once, how many are this checker's: 0 to all. */
  shareOf(host: string, limit: number): number;
  /** A host wants nothing for so long: the others are to know. */
  held(host: string, wait_ms: number): void;
}

/** What an answer says of how its host was asked. */
export interface Throttling {
  /** From Retry-After; null when it does not say. */
  retry_after_ms: number | null;
  /** A 429 or a Retry-After. A bare 503 may be about its page alone: it slows its host less. */
  is_explicit: boolean;
}

/** Null when it says nothing of it. A challenge that came as a 503 is not about how often it was asked. */
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
  /** Between the starts of two requests, trouble or not. */
  gap_ms: number;
  /** In [0, 1). */
  random: () => number;
}

const FIRST_GAP_MS = 100;
const MAX_GAP_MS = 10_000;
const MAX_GAP_OF_503_MS = 1000;
/** A gap that is less than this is none. */
const MIN_GAP_MS = 20;
/**
 * What each good answer adds to the starts a second: this share of them, at least so many. What one refusal halves is made
 * good by 35 answers, so that a host which is kept at its limit refuses few.
 */
const STARTS_SHARE_ADDED = 0.02;
const STARTS_ADDED = 0.01;
/** After a Retry-After those who wait for it do not all come in one moment. */
const SPREAD_MS = 500;
/** Hosts that are remembered: a job's next batch meets the penalty of the one before. */
const KEPT_HOSTS = 20_000;

interface Pace {
  /** Requests at once, as if this checker were alone. */
  limit: number;
  /** Besides the setting's; 0 for none. */
  gap_ms: number;
  /** What was asked until then knew nothing of it: its answers say nothing new. */
  slowed_at: number;
  /** Good answers since the limit last changed. */
  answers: number;
  free_at: number;
}

export class Hosts {
  readonly #settings: HostSettings;
  readonly #paces = new LRUCache<string, Pace>({ max: KEPT_HOSTS });
  /** Where nothing may start now. */
  readonly #held = new Set<string>();
  peers: HostPeers | null = null;

  constructor(settings: HostSettings) {
    this.#settings = settings;
  }

  /** How many requests may run at once. */
  limitOf(host: string): number {
    if (this.#held.has(host)) return 0;
    const { per_host } = this.#settings;
    const limit = this.#paces.peek(host)?.limit ?? per_host;
    if (this.peers === null) return limit;
    // Who has a part keeps one request of it, however slow the host: together they are still within the setting.
    const share = this.peers.shareOf(host, per_host);
    return Math.min(share, Math.max(1, Math.floor((limit * share) / per_host)));
  }

  /** A request begins. True when the host's limit is another now. */
  started(host: string, now: number): boolean {
    const { gap_ms, random } = this.#settings;
    if (gap_ms === 0 && this.#paces.size === 0) return false;
    const pace = this.#paces.get(host) ?? (gap_ms === 0 ? null : this.#begin(host));
    if (pace === null) return false;
    const gap = Math.max(gap_ms && gap_ms * this.#gapFactor(host), pace.gap_ms * (0.75 + random() / 2));
    return gap > 0 && this.#hold(host, pace, now + gap);
  }

  /** An answer that said that it was too much, to what was asked at `asked_at`. True when this is news. */
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

  /** Nothing starts there for so long, up to the cap. */
  hold(host: string, now: number, wait_ms: number): void {
    const pace = this.#paces.get(host) ?? this.#begin(host);
    this.#hold(host, pace, now + Math.min(wait_ms, RETRY_AFTER_CAP_MS) + this.#settings.random() * SPREAD_MS);
  }

  /** A good answer to what was asked at `asked_at`. True when the host's limit is another now. */
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

  /** It was gone and is back: one request first, then more with its answers. */
  restart(host: string, now: number): void {
    const pace = this.#paces.get(host) ?? this.#begin(host);
    pace.limit = 1;
    pace.answers = 0;
    pace.slowed_at = now;
  }

  /** Calls `freed` for each host that was held until now. */
  sweep(now: number, freed: (host: string) => void): void {
    for (const host of this.#held) {
      const pace = this.#paces.peek(host);
      if (pace !== undefined && pace.free_at > now) continue;
      this.#held.delete(host);
      if (pace?.limit === this.#settings.per_host && pace.gap_ms === 0) this.#paces.delete(host);
      freed(host);
    }
  }

  /** Hosts in trouble, or with a gap to wait for. */
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

  /** By how much this checker's gaps are longer, so that those of all together are not shorter than the setting's. */
  #gapFactor(host: string): number {
    const { per_host } = this.#settings;
    return this.peers === null ? 1 : per_host / Math.max(1, this.peers.shareOf(host, per_host));
  }
}
