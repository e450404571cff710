// How long code computes, on a machine that may be busy with something else.

const TIMES = 3;

/** The least of some runs, in milliseconds of this thread's processor time. */
export function leastCpuMs(work: () => unknown): number {
  const took_ms = Array.from({ length: TIMES }, () => {
    const before = process.threadCpuUsage();
    work();
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.min(...took_ms);
}
