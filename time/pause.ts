// Waits that an abort signal ends early.

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

const FIRST_BACK_OFF_MS = 100;

/** The wait before something is tried again: 100 ms after the first failure (`failures` is 0 then), each time twice as long. */
export const backOff = (failures: number, longest_ms: number, signal: AbortSignal): Promise<void> =>
  pause(Math.min(FIRST_BACK_OFF_MS * 2 ** failures, longest_ms), signal);
