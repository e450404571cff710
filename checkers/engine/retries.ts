// Which failed attempts are retried, and after which back-off.
import { backOffMs, jittered } from '../../time/back-off.ts';

export const RETRY_BASE_MS = 500;
/** Cap on the wait for a Retry-After, since most rate limits are by the minute. */
export const RETRY_AFTER_CAP_MS = 60_000;

/** In base times: the least time from the first attempt to the last one, which is made later in the list and not at once. */
const LATER_BASES = 20;

/**
 * Milliseconds to wait before the next attempt: exponential back-off with jitter (`random` in [0, 1)), before the last one until
 * `LATER_BASES` after the first, and at least the server's `retry_after_ms`, up to the cap. `failures`: failed attempts so far, from 1.
 * `tried_ms`: since the first attempt began; that of a silent host has taken long enough by itself.
 * @example retryDelay(3, 0, null) // 1_000: a half of 500 × 2²
 */
export function retryDelay(
  failures: number,
  random: number,
  retry_after_ms: number | null,
  { base_ms = RETRY_BASE_MS, is_last = false, tried_ms = 0 } = {},
): number {
  const exponential = backOffMs(failures - 1, { first_ms: base_ms, longest_ms: Number.POSITIVE_INFINITY });
  const later_ms = is_last ? jittered(LATER_BASES * base_ms, random) - tried_ms : 0;
  const back_off = Math.max(jittered(exponential, random), later_ms);
  if (retry_after_ms === null) return back_off;
  return Math.max(back_off, Math.min(retry_after_ms, RETRY_AFTER_CAP_MS) + random * base_ms);
}

const UNIT_MS: { readonly [unit: string]: number } = { ms: 1, s: 1000, m: 60_000, min: 60_000, h: 3_600_000 };

/**
 * A Retry-After header, seconds (also with a unit, as some servers write) or a date, in milliseconds from `now_ms` (the wall clock); null
 * when it is neither.
 * @example parseRetryAfter('Thu, 01 Jan 1970 00:00:30 GMT', 10_000) // 20_000
 */
export function parseRetryAfter(value: string | undefined, now_ms: number): number | null {
  if (value === undefined) return null;
  const text = value.trim();
  const [, amount, unit = 's'] =
    /^(\d{1,9}(?:\.\d{1,9})?)\s?(ms|s|m|min|h)?(?:ec|econds?|inutes?|ours?)?$/i.exec(text) ?? [];
  if (amount !== undefined) return Number(amount) * UNIT_MS[unit.toLowerCase()]!;
  const at = /^[A-Za-z]{3}/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - now_ms);
}
