// Wall time without its steps back: what is due at a time of the log neither waits for hours nor happens again and again
// when somebody sets the clock.

/** How much of the time this clock goes on while it is ahead of the wall clock. */
const PACE = 0.5;

/**
 * Milliseconds since 1970 that never go back. A step forward is followed at once. After a step back the clock goes on at
 * half its pace until wall time has caught up.
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
