// Wall time without its steps back. A process that compares it with a timestamp of the log neither waits for hours nor acts
// twice when an operator sets the system clock back.

/** The clock's rate while it is ahead of the wall clock. */
const PACE = 0.5;

/**
 * Makes a clock of milliseconds since 1970 that never goes back. It follows a step forward at once. After a step back it
 * runs at half speed until wall time has caught up. `now` is wall time, `monotonic` never goes back; both in ms.
 */
export function steadyClock(now: () => number, monotonic: () => number): () => number {
  let shown_ms = now();
  let at_ms = monotonic();
  return () => {
    const elapsed_ms = monotonic() - at_ms;
    at_ms += elapsed_ms;
    shown_ms = Math.max(now(), shown_ms + elapsed_ms * PACE);
    return shown_ms;
  };
}
