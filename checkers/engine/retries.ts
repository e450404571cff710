// Which failed attempts are retried, and after which back-off.
import type { ErrorCode } from '../../events/checks.ts';
import { backOffMs, jittered } from '../../time/back-off.ts';

export const RETRY_BASE_MS = 500;
/** Cap on the wait for a Retry-After, since most rate limits are by the minute. */
export const RETRY_AFTER_CAP_MS = 60_000;

const RETRIED_ERRORS: ReadonlySet<ErrorCode> = new Set(['connect_timeout', 'response_timeout', 'connection_reset']);

export function isRetriedError(code: ErrorCode): boolean {
  return RETRIED_ERRORS.has(code);
}

export function isRetriedStatus(status: number): boolean {
  return status === 429 || (status >= 502 && status <= 504);
}

/**
 * Milliseconds to wait before the next attempt: exponential back-off with jitter (`random` in [0, 1)), and at least the
 * server's `retry_after_ms`, up to the cap. `failures`: failed attempts so far, from 1.
 * @example retryDelay(3, 0, null) // 1_000: a half of 500 × 2²
 */
export function retryDelay(
  failures: number,
  random: number,
  retry_after_ms: number | null,
  base_ms = RETRY_BASE_MS,
): number {
  const back_off = jittered(
    backOffMs(failures - 1, { first_ms: base_ms, longest_ms: Number.POSITIVE_INFINITY }),
    random,
  );
  if (retry_after_ms === null) return back_off;
  return Math.max(back_off, Math.min(retry_after_ms, RETRY_AFTER_CAP_MS) + random * base_ms);
}

/**
 * A Retry-After header, seconds or a date, in milliseconds from `now_ms` (the wall clock); null when it is neither.
 * @example parseRetryAfter('Thu, 01 Jan 1970 00:00:30 GMT', 10_000) // 20_000
 */
export function parseRetryAfter(value: string | undefined, now_ms: number): number | null {
  if (value === undefined) return null;
  const text = value.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const at = /^[A-Za-z]{3}/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - now_ms);
}
