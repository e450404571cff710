// Measures how busy the event loop of this thread is.

/** A thread with a higher event loop utilization is busy. */
const BUSY_UTILIZATION = 0.9;

/** Returns a function that says whether this thread was busy since the function's previous call. */
export function watchThread(): () => boolean {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization > BUSY_UTILIZATION;
  };
}
