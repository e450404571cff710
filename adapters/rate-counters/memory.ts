// Counts requests in the memory of one process. The counts end with the process.
import type { RateCounter, RateCounters, RateWindow } from '../../http/limits/rate-counters.ts';

/** The most keys of a window. Above it the oldest key begins anew, so that strangers with many addresses fill no memory. */
export const MOST_KEYS = 100_000;

export const openMemoryRates = (): RateCounters => ({
  open: (window) => openMemoryRate(window),
  close: async () => {},
});

interface Counted {
  used: number;
  ends_at: number;
}

/** `monotonic`: milliseconds that never go back. */
export function openMemoryRate({ duration_s }: RateWindow, monotonic = () => performance.now()): RateCounter {
  /** All windows last equally long, so that the one that ends next comes first. */
  const windows = new Map<string, Counted>();
  function forgetEnded(now: number): void {
    for (const [key, { ends_at }] of windows) {
      if (ends_at > now && windows.size < MOST_KEYS) return;
      windows.delete(key);
    }
  }
  function begun(key: string, now: number): Counted {
    forgetEnded(now);
    const window = { used: 0, ends_at: now + duration_s * 1000 };
    windows.set(key, window);
    return window;
  }
  return {
    async count(key) {
      const now = monotonic();
      const known = windows.get(key);
      const window = known && known.ends_at > now ? known : begun(key, now);
      window.used++;
      return { used: window.used, resets_in_ms: window.ends_at - now };
    },
  };
}
