// The limit of one route: so many requests a minute of one caller, over all processes where they share counters.

import type { ErrorSpec } from '../route.ts';
import type { RateCounters } from './rate-counters.ts';
import { rateLimited } from './rate-limits.ts';

const MINUTE_S = 60;

export interface RequestLimit {
  /** Counts a request; throws 429 over the limit. */
  admit(key: string): Promise<void>;
}

/** `subject` begins the sentence of a refusal: "A user may send 60 requests a minute." */
export function openRequestLimit(
  rates: Pick<RateCounters, 'open'>,
  { name, subject, most }: { name: string; subject: string; most: number },
): RequestLimit {
  const counter = rates.open({ name, duration_s: MINUTE_S });
  return {
    async admit(key) {
      const { used, resets_in_ms } = await counter.count(key);
      if (used > most) throw rateLimited({ subject, most, period: 'a minute' }, resets_in_ms);
    },
  };
}

/** The 429 that a route with a limit declares. */
export const overLimit = (subject: string, most: number): ErrorSpec => ({
  description: 'There were too many requests. The header Retry-After says when to try again.',
  examples: { rate_limited: { message: rateLimited({ subject, most, period: 'a minute' }, 12_000).message } },
  headers: { 'Retry-After': 'The seconds to wait.' },
});
