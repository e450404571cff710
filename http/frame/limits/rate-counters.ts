// The port that counts requests in buckets. Adapters: `adapters/rate-counters/{memory,mongodb}`.

export interface RateWindow {
  /** Part of the stored keys: each bucket of the service has its own name. */
  name: string;
  /** A full bucket is empty again after this long. */
  duration_s: number;
}

export interface RateCount {
  /** The requests in the bucket, with this one, rounded up; more than `most` for one that found no room, and is not counted. */
  used: number;
  /** Until there is room for another request; 0 where there is some. */
  next_in_ms: number;
  /** Until the bucket is empty. */
  resets_in_ms: number;
}

/** A bucket of a key has room for `most` requests, and loses them evenly: one after each `duration_s / most`. */
export interface RateCounter {
  count(key: string, most: number): Promise<RateCount>;
  /** The same without a wait, and whether there is room for the request. Missing where others share the counts. */
  readonly now?: { count(key: string, most: number): RateCount; hasRoom(key: string, most: number): boolean };
}

export interface RateCounters {
  open(window: RateWindow): RateCounter;
  close(): Promise<void>;
}

/**
 * What a count says of a bucket that holds `level` requests afterwards; `is_over`: this one found no room.
 * @example countOf({ level: 60, is_over: true }, 60, 60_000) // { used: 61, next_in_ms: 1000, resets_in_ms: 60000 }
 */
export function countOf(
  { level, is_over }: { level: number; is_over: boolean },
  most: number,
  duration_ms: number,
): RateCount {
  const each_ms = duration_ms / most;
  const missing = level + 1 - most;
  return {
    used: is_over ? most + 1 : Math.ceil(level),
    next_in_ms: Math.max(0, Math.ceil(missing * each_ms)),
    resets_in_ms: Math.ceil(level * each_ms),
  };
}
