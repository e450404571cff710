// A clock that lags where the machine does, so that nothing is late for want of a processor.
import type { ExecutionContext } from 'ava';

const TICK_MS = 10;

/** Milliseconds that never go back; it stops with the test. */
export function patientClock(t: ExecutionContext): () => number {
  let ms = 0;
  const timer = setInterval(() => (ms += TICK_MS), TICK_MS);
  t.teardown(() => clearInterval(timer));
  return () => ms;
}
