// How busy this thread is.

/** A thread that spends more of its time than this has none to spare. */
const BUSY_UTILIZATION = 0.9;

/** Makes what tells whether this thread has had no time to spare since it was last asked. */
export function watchThread(): () => boolean {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization > BUSY_UTILIZATION;
  };
}
