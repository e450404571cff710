// Regular looks at all that is under way, instead of a timer for each of thousands of requests.

const SWEEPS_PER_TIMEOUT = 40;
const MIN_INTERVAL_MS = 10;
const MAX_INTERVAL_MS = 100;
/** A sweep that comes after so many times its interval is late. */
const LATE_INTERVALS = 3;

/** Between two sweeps: fine enough for the timeout of an attempt and for the gap between two requests to a host (0: none). */
export function sweepInterval(timeout_ms: number, host_gap_ms: number): number {
  const finest_ms = Math.min(timeout_ms / SWEEPS_PER_TIMEOUT, host_gap_ms || MAX_INTERVAL_MS);
  return Math.min(Math.max(finest_ms, MIN_INTERVAL_MS), MAX_INTERVAL_MS);
}

/** What there is to look at after a sweep; for 'idle' the process need not stay alive. */
export type Remaining = 'work' | 'idle' | 'nothing';

export class Sweeps {
  readonly #interval_ms: number;
  readonly #now: () => number;
  readonly #sweep: (now: number) => Remaining;
  #timer: NodeJS.Timeout | null = null;
  #swept_at = 0;
  #skipped = false;

  constructor(interval_ms: number, now: () => number, sweep: (now: number) => Remaining) {
    this.#interval_ms = interval_ms;
    this.#now = now;
    this.#sweep = sweep;
  }

  /** There is work: sweeps go on until nothing is left. */
  start(): void {
    if (this.#timer === null) {
      this.#swept_at = this.#now();
      this.#timer = setInterval(() => this.#tick(), this.#interval_ms);
    }
    this.#timer.ref();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #tick(): void {
    const now = this.#now();
    const is_late = now - this.#swept_at > LATE_INTERVALS * this.#interval_ms;
    this.#swept_at = now;
    // The process slept, or was busy: it reads what came meanwhile before a sweep takes anybody for silent.
    this.#skipped = is_late && !this.#skipped;
    if (this.#skipped) return;
    const left = this.#sweep(now);
    if (left === 'nothing') this.stop();
    else if (left === 'idle') this.#timer?.unref();
  }
}
