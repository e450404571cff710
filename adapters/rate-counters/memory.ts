// Counts requests in the memory of one process. The counts end with the process.
import RateLimiterMemory from 'rate-limiter-flexible/lib/RateLimiterMemory.js';
import type { RateCounter, RateCounters, RateWindow } from '../../http/limits/rate-counters.ts';

export const openMemoryRates = (): RateCounters => ({ open: openMemoryRate, close: async () => {} });

export function openMemoryRate({ name, duration_s }: RateWindow): RateCounter {
  const limiter = new RateLimiterMemory({ keyPrefix: name, points: Number.MAX_SAFE_INTEGER, duration: duration_s });
  return {
    async count(key) {
      const { consumedPoints, msBeforeNext } = await limiter.consume(key);
      return { used: consumedPoints, resets_in_ms: msBeforeNext };
    },
  };
}
