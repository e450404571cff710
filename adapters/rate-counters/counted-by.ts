// What rate-limiter-flexible says of a request, in the words of the port. It only counts here: what the limit is, and
// what becomes of those above it, is for whoever asks.
import type { RateLimiterAbstract } from 'rate-limiter-flexible';

export async function countedBy(limiter: RateLimiterAbstract, key: string) {
  const { consumedPoints, msBeforeNext } = await limiter.consume(key);
  return { used: consumedPoints, resets_in_ms: msBeforeNext };
}
