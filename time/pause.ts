// Waits that an abort signal ends early.
import { backOffMs, FIRST_BACK_OFF_MS } from './back-off.ts';

/** Resolves after `ms`, or early and without an error when `signal` aborts. @example await pause(500, signal) */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
    if (signal.aborted) done();
  });
}

/** Resolves as `work` does, but after `ms` at the latest. Leaves no timer, which would keep a thread alive. */
export async function atMost<T>(ms: number, work: T | Promise<T>): Promise<T | undefined> {
  const done = new AbortController();
  const late = pause(ms, done.signal).then(() => undefined);
  return await Promise.race([work, late]).finally(() => done.abort());
}

/** The wait before something is tried again: 100 ms after the first failure (`failures` is 0 then), each time twice as long. */
export const backOff = (failures: number, longest_ms: number, signal: AbortSignal): Promise<void> =>
  pause(backOffMs(failures, { first_ms: FIRST_BACK_OFF_MS, longest_ms }), signal);
