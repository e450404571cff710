// The waits between tries of something that failed: they double with each failure, up to a longest one.

export interface BackOff {
  first_ms: number;
  longest_ms: number;
}

/** Of the service's own work: roles, stores, records. */
export const FIRST_BACK_OFF_MS = 100;

/**
 * The wait in ms after `failures` earlier failures: `first_ms` after the first failure (`failures` is 0 then).
 * @example [0, 1, 2, 9].map((failures) => backOffMs(failures, { first_ms: 100, longest_ms: 5_000 })) // [100, 200, 400, 5_000]
 */
export function backOffMs(failures: number, { first_ms, longest_ms }: BackOff): number {
  return Math.min(first_ms * 2 ** failures, longest_ms);
}

/**
 * Shortens a wait by up to a half, so that many clients of one server do not try again at the same time. `random` in [0, 1).
 * @example jittered(1_000, 0) // 500
 */
export function jittered(wait_ms: number, random: number): number {
  return wait_ms * (0.5 + random / 2);
}
