// The port that counts requests within windows of time. Adapters: `adapters/rate-counters/{memory,mongodb}`.

export interface RateWindow {
  /** In the names of what is stored. */
  name: string;
  duration_s: number;
}

/** A window begins with the first request of its key, and ends its duration later, whatever comes in between. */
export interface RateCounter {
  /** Counts a request; how many the window holds with it, and when it ends. */
  count(key: string): Promise<{ used: number; resets_in_ms: number }>;
}

export interface RateCounters {
  open(window: RateWindow): RateCounter;
  close(): Promise<void>;
}
