// A clock that lags where the machine does, so that nothing is late for want of a processor.
import type { ExecutionContext } from 'ava';

const TICK_MS = 10;

/** Milliseconds that never go back; it stops with the test. */
export function patientClock(t: ExecutionContext): () => number {
  const { elapsed_ms, stop } = startPatientTimer();
  t.teardown(stop);
  return elapsed_ms;
}

/** The milliseconds since it was started, by a clock of that kind: what is held to an upper bound is measured by it. */
export function startPatientTimer(): { elapsed_ms(): number; stop(): void } {
  let ms = 0;
  const timer = setInterval(() => (ms += TICK_MS), TICK_MS);
  timer.unref();
  return { elapsed_ms: () => ms, stop: () => clearInterval(timer) };
}
