// Rate limits of an API: requests of each API key a minute and a day. A request without a valid key counts for its client's address.
import { subscriberOf } from '../../net/cidr.ts';
import type { Api } from '../apis/api.ts';
import { HttpError } from '../errors.ts';
import type { Caller } from '../route.ts';
import type { RateCounter, RateCounters } from './rate-counters.ts';

const MINUTE_S = 60;
const DAY_S = 86_400;

interface Limit {
  counter: RateCounter;
  /** Begins the sentence of a refusal, as `period` ends it. */
  subject: string;
  most: number;
  period: string;
}
interface Counted {
  limit: Limit;
  left: number;
  resets_in_ms: number;
}

/** `shared` counts keys for all processes, `own` counts addresses for this process. `now`: Unix milliseconds, for X-RateLimit-Reset. */
export function openRateLimits(options: {
  shared: RateCounters;
  own: RateCounters;
  per_minute: number;
  per_day: number;
  now: () => number;
}) {
  const { shared, own, per_minute, per_day, now } = options;
  const minute = { counter: shared.open({ name: 'key-minute', duration_s: MINUTE_S }), most: per_minute };
  const day = { counter: shared.open({ name: 'key-day', duration_s: DAY_S }), most: per_day };
  const address = { counter: own.open({ name: 'address-minute', duration_s: MINUTE_S }), most: per_minute };
  // A request that the first limit refuses does not count for the second.
  const of_key: Limit[] = [
    { ...minute, subject: 'An API key', period: 'a minute' },
    { ...day, subject: 'An API key', period: 'a day' },
  ];
  const of_address: Limit[] = [{ ...address, subject: 'An address without a valid API key', period: 'a minute' }];

  function headersOf({ limit, left, resets_in_ms }: Counted): Record<string, string> {
    return {
      'X-RateLimit-Limit': String(limit.most),
      'X-RateLimit-Remaining': String(Math.max(0, left)),
      'X-RateLimit-Reset': String(Math.ceil((now() + resets_in_ms) / 1000)),
    };
  }
  return {
    /** Counts the request and returns the X-RateLimit headers. Throws 429, with the same headers and Retry-After, over the limit. */
    async admit({ api, caller, ip }: { api: Api; caller: Caller | null; ip: string }): Promise<Record<string, string>> {
      if (!api.is_rate_limited) return {};
      const [limits, key] =
        caller === null ? [of_address, subscriberOf(ip)] : [of_key, caller.key_id ?? caller.user_id];
      let tightest: Counted | null = null;
      for (const limit of limits) {
        const { used, resets_in_ms } = await limit.counter.count(key);
        const counted = { limit, left: limit.most - used, resets_in_ms };
        if (counted.left < 0) throw rateLimited(limit, resets_in_ms, headersOf(counted));
        if (tightest === null || counted.left < tightest.left) tightest = counted;
      }
      return tightest === null ? {} : headersOf(tightest);
    },
  };
}

export function rateLimited(
  { subject, most, period }: Omit<Limit, 'counter'>,
  resets_in_ms: number,
  headers: Record<string, string> = {},
): HttpError {
  const wait_s = Math.max(1, Math.ceil(resets_in_ms / 1000));
  const message = `${subject} may send ${most.toLocaleString('en')} requests ${period}. Try again in ${wait_s} s.`;
  return new HttpError(429, 'rate_limited', message, undefined, { ...headers, 'Retry-After': String(wait_s) });
}
