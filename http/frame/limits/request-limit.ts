// The limit of one route: so many requests a minute of one caller, over all processes where they share counters. Decision 125 says why.

import { MINUTE_S } from '../../../time/units.ts';
import type { ErrorSpec } from '../route.ts';
import { holdersOf } from './address-shares.ts';
import type { RateCounters } from './rate-counters.ts';
import { rateLimited } from './rate-limits.ts';

export type RequestLimit = ReturnType<typeof openRequestLimit>;

/** `subject` begins the sentence of a refusal: "A user may send 60 requests a minute." */
export function openRequestLimit(
  rates: Pick<RateCounters, 'open'>,
  { name, subject, most }: { name: string; subject: string; most: number },
) {
  const counter = rates.open({ name, duration_s: MINUTE_S });
  async function admit(key: string, times = 1): Promise<void> {
    const { used, next_in_ms } = await counter.count(key, times * most);
    if (used > times * most) throw rateLimited({ subject, most: times * most, period: 'a minute' }, next_in_ms);
  }
  return {
    /** Counts a request; throws 429 over the limit. */
    admit: (key: string) => admit(key),
    /** Counts for the address, and for its /48, which may send four times as many. */
    async admitAddress(ip: string): Promise<void> {
      for (const [name, times] of [...holdersOf(ip)].reverse()) await admit(name, times);
    },
  };
}

/** The 429 that a route with a limit declares. */
export const overLimit = (subject: string, most: number): ErrorSpec => ({
  description: 'There were too many requests. The header Retry-After says when to try again.',
  examples: { rate_limited: { message: rateLimited({ subject, most, period: 'a minute' }, 12_000).message } },
  headers: { 'Retry-After': 'The seconds to wait.' },
});
