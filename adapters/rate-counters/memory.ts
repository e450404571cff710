// Counts requests in the memory of one process. The counts end with the process.
import {
  countOf,
  type RateCount,
  type RateCounter,
  type RateCounters,
  type RateWindow,
} from '../../http/frame/limits/rate-counters.ts';

/** The most keys of a window. Above it the key that was counted least lately begins anew, so that strangers with many addresses fill no memory. */
export const MOST_KEYS = 100_000;

export const openMemoryRates = (): RateCounters => ({
  open: (window) => openMemoryRate(window),
  close: async () => {},
});

interface Bucket {
  level: number;
  counted_at: number;
}

/** `monotonic`: milliseconds that never go back. */
export function openMemoryRate({ duration_s }: RateWindow, monotonic = () => performance.now()): RateCounter {
  const duration_ms = duration_s * 1000;
  /** The one that was counted least lately comes first: it is empty before the others. */
  const buckets = new Map<string, Bucket>();
  function forgetEmpty(now: number): void {
    for (const [key, { counted_at }] of buckets) {
      if (counted_at + duration_ms > now && buckets.size < MOST_KEYS) return;
      buckets.delete(key);
    }
  }
  const levelAt = (now: number, known: Bucket | undefined, most: number) =>
    known ? Math.max(0, known.level - ((now - known.counted_at) * most) / duration_ms) : 0;
  function count(key: string, most: number): RateCount {
    const now = monotonic();
    const known = buckets.get(key);
    if (known) buckets.delete(key);
    else forgetEmpty(now);
    const left = levelAt(now, known, most);
    const is_over = left + 1 > most;
    const bucket = { level: is_over ? left : left + 1, counted_at: now };
    buckets.set(key, bucket);
    return countOf({ level: bucket.level, is_over }, most, duration_ms);
  }
  const hasRoom = (key: string, most: number) => levelAt(monotonic(), buckets.get(key), most) + 1 <= most;
  return { count: async (key, most) => count(key, most), now: { count, hasRoom } };
}
