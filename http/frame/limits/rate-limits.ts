// Rate limits: requests of each API key a minute and a day, and requests to the gateway of each user and of each address a minute.
// Decision 17 says why.
import { LRUCache } from 'lru-cache';
import { isTestUser } from '../../../events/test-user.ts';
import { DAY_S, MINUTE_S } from '../../../time/units.ts';
import type { Api } from '../api.ts';
import { HttpError } from '../errors.ts';
import type { Caller } from '../route.ts';
import { holdersOf } from './address-shares.ts';
import type { RateCount, RateCounter, RateCounters } from './rate-counters.ts';

interface Limit {
  counter: RateCounter;
  /** Begins the sentence of a refusal: "An API key may send 60 requests a minute." */
  subject: string;
  most: number;
  what: string;
  period: string;
}
interface Counted {
  limit: Limit;
  left: number;
  resets_in_ms: number;
}

export interface RateLimitOptions {
  /** `shared` counts for all processes, `own` for this process alone. */
  shared: RateCounters;
  own: RateCounters;
  per_minute: number;
  per_day: number;
  /** Reads of one key, which count for nothing else. */
  reads_per_minute: number;
  gateway: { of_user: number; changes_of_user: number; of_address: number };
  /** Unix milliseconds, for X-RateLimit-Reset. */
  now: () => number;
}

export interface Admitted {
  api: Api;
  /** Undefined while nobody has looked at the credentials; null for a request without valid ones. */
  caller: Caller | null | undefined;
  ip: string;
  method: string;
}

export function openRateLimits(options: RateLimitOptions) {
  const { shared, own, per_minute, per_day, reads_per_minute, gateway, now } = options;
  const limit = (
    counters: RateCounters,
    name: string,
    of: Omit<Limit, 'counter' | 'period'>,
    duration_s = MINUTE_S,
  ) => ({
    ...{ ...of, counter: counters.open({ name, duration_s }) },
    period: duration_s === DAY_S ? 'a day' : 'a minute',
  });
  // A request that the first limit refuses does not count for the second.
  const key = { subject: 'An API key', what: 'requests' };
  const of_key = [
    limit(shared, 'key-minute', { ...key, most: per_minute }),
    limit(shared, 'key-day', { ...key, most: per_day }, DAY_S),
  ];
  const reads_of_key = [limit(shared, 'key-reads-minute', { ...key, what: 'reads', most: reads_per_minute })];
  const without_key = { subject: 'An address without a valid API key', what: 'requests', most: per_minute };
  const withoutKey = limitsByAddress(limit(own, 'address-minute', without_key));
  // The gateway counts reads in this process alone: a count that all share would cost more than many of the reads.
  const user = { subject: 'A user', what: 'requests', most: gateway.of_user };
  const change = { subject: 'A user', what: 'changes', most: gateway.changes_of_user };
  const of_user = limit(own, 'user-minute', user);
  const changes_of_user = limit(shared, 'user-changes-minute', change);
  const address = { subject: 'An address', what: 'requests', most: gateway.of_address };
  const ofAddress = limitsByAddress(limit(own, 'gateway-address-minute', address));

  function limitsFor({ api, caller, ip, method }: Admitted): readonly (readonly [Limit, key: string])[] {
    if (api.credentials !== 'token') {
      if (caller === undefined) return [];
      if (caller === null) return withoutKey(ip);
      // Whoever follows a job spends nothing of what submissions may.
      // Test keys cost nothing, so that another one is no further allowance.
      const of = isTestUser(caller.user_id) ? caller.user_id : (caller.key_id ?? caller.user_id);
      return (isRead(method) ? reads_of_key : of_key).map((one) => [one, of]);
    }
    // Before anything is known of the caller: a stranger costs no look at credentials.
    if (caller === undefined) return ofAddress(ip);
    if (caller === null) return [];
    return (isRead(method) ? [of_user] : [of_user, changes_of_user]).map((one) => [one, caller.user_id]);
  }
  function headersOf({ limit, left, resets_in_ms }: Counted): Record<string, string> {
    return {
      'X-RateLimit-Limit': String(limit.most),
      'X-RateLimit-Remaining': String(Math.max(0, left)),
      'X-RateLimit-Reset': String(Math.ceil((now() + resets_in_ms) / 1000)),
    };
  }
  return {
    /**
     * Counts the request and returns the X-RateLimit headers. Throws 429, with the same headers and Retry-After, over the limit. It is
     * called before the service looks at the credentials, and once more with the caller.
     */
    async admit(request: Admitted): Promise<Record<string, string>> {
      let tightest: Counted | null = null;
      for (const [limit, key] of limitsFor(request)) {
        const count = await limit.counter.count(key, limit.most);
        const one = counted(limit, count);
        if (one.left < 0) throw rateLimited(limit, count.next_in_ms, headersOf(one));
        if (tightest === null || one.left < tightest.left) tightest = one;
      }
      return tightest === null ? {} : headersOf(tightest);
    },
    /** The headers of both calls, counted at once; null, and nothing is counted, where that would wait or a limit refuses the request. */
    admitNow(request: Admitted & { caller: Caller | null }): Record<string, string> | null {
      const before = limitsFor({ ...request, caller: undefined });
      const after = limitsFor(request);
      const hasRoom = ([limit, key]: (typeof after)[number]) => limit.counter.now?.hasRoom(key, limit.most) === true;
      if (!before.every(hasRoom) || !after.every(hasRoom)) return null;
      const [first, last] = [before, after].map((limits) => {
        const counts = limits.map(([limit, key]) => counted(limit, limit.counter.now!.count(key, limit.most)));
        return counts.reduce<Counted | null>((a, b) => (a === null || b.left < a.left ? b : a), null);
      });
      const tightest = last ?? first;
      return tightest ? headersOf(tightest) : {};
    },
  };
}

const counted = (limit: Limit, { used, resets_in_ms }: RateCount): Counted => ({
  limit,
  left: limit.most - used,
  resets_in_ms,
});

const isRead = (method: string) => method === 'GET' || method === 'HEAD';

const MAX_ADDRESSES = 1000;

/** Of an address, the narrowest first: what it refuses to one /64 does not count for its /48. */
function limitsByAddress(limit: Limit): (ip: string) => readonly (readonly [Limit, key: string])[] {
  const known = new LRUCache<string, readonly (readonly [Limit, key: string])[]>({ max: MAX_ADDRESSES });
  return (ip) => {
    const before = known.get(ip);
    if (before) return before;
    const limits = holdersOf(ip).map(([name, times]) => [{ ...limit, most: times * limit.most }, name] as const);
    known.set(ip, limits.reverse());
    return limits;
  };
}

export function rateLimited(
  { subject, most, what = 'requests', period }: Omit<Limit, 'counter' | 'what'> & { what?: string },
  next_in_ms: number,
  headers: Record<string, string> = {},
): HttpError {
  const wait_s = Math.max(1, Math.ceil(next_in_ms / 1000));
  const message = `${subject} may send ${most.toLocaleString('en')} ${what} ${period}. Try again in ${wait_s} s.`;
  return new HttpError(429, 'rate_limited', message, undefined, { ...headers, 'Retry-After': String(wait_s) });
}
