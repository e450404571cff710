// The port that counts requests in windows of time. Adapters: `adapters/rate-counters/{memory,mongodb}`.

export interface RateWindow {
  /** Part of the stored keys: each window of the service has its own name. */
  name: string;
  duration_s: number;
}

/** A window begins with the first request of its key, and always ends `duration_s` later. */
export interface RateCounter {
  /** Counts a request. Returns the number of requests in the window, with this one, and the time until the window ends. */
  count(key: string): Promise<{ used: number; resets_in_ms: number }>;
}

export interface RateCounters {
  open(window: RateWindow): RateCounter;
  close(): Promise<void>;
}
