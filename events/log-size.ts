// How large the event log may be: what its store can hold, or less where an operator says so. Decision 200 says why.
import type { LogSize } from './event-store.ts';

const MB = 1e6;
/** Of what it may have; a log with more is told. */
const LARGE = 0.8;

/**
 * The size with the limit that the operator has set, when that is the lower one.
 * @example limitedTo({ bytes: 5, events: null, limit_bytes: 2e12 }, 1_000_000).limit_bytes // 1_000_000_000_000
 */
export function limitedTo(size: LogSize, max_mb: number | null): LogSize {
  return { ...size, limit_bytes: Math.min(size.limit_bytes, max_mb === null ? Number.POSITIVE_INFINITY : max_mb * MB) };
}

/**
 * Whether the log has most of what it may have.
 * @example isLarge({ bytes: 81, events: null, limit_bytes: 100 }) // true
 */
export function isLarge({ bytes, limit_bytes }: LogSize): boolean {
  return bytes > LARGE * limit_bytes;
}
