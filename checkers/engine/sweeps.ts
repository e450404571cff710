// One timer that sweeps over all requests in flight, instead of a timer for each of thousands.

const SWEEPS_PER_TIMEOUT = 40;
const MIN_INTERVAL_MS = 10;
const MAX_INTERVAL_MS = 100;
/** A sweep this many intervals after the last one is late. */
const LATE_INTERVALS = 3;

/** Milliseconds between two sweeps, fine enough for the time limit of an attempt and for `host_gap_ms` (0: no gap). */
export function sweepInterval(timeout_ms: number, host_gap_ms: number): number {
  const finest_ms = Math.min(timeout_ms / SWEEPS_PER_TIMEOUT, host_gap_ms || MAX_INTERVAL_MS);
  return Math.min(Math.max(finest_ms, MIN_INTERVAL_MS), MAX_INTERVAL_MS);
}

/** The state after a sweep. 'idle': only idle connections remain, which do not keep the process alive. */
export type Remaining = 'work' | 'idle' | 'nothing';

export class Sweeps {
  readonly #interval_ms: number;
  readonly #now: () => number;
  readonly #sweep: (now: number, late_ms: number) => Remaining;
  #timer: NodeJS.Timeout | null = null;
  #pending: NodeJS.Immediate | undefined;
  #swept_at = 0;
  #skipped = false;

  constructor(interval_ms: number, now: () => number, sweep: (now: number, late_ms: number) => Remaining) {
    this.#interval_ms = interval_ms;
    this.#now = now;
    this.#sweep = sweep;
  }

  /** Starts the sweeps, which run until a sweep returns 'nothing'. */
  start(): void {
    if (this.#timer === null) {
      this.#swept_at = this.#now();
      this.#timer = setInterval(() => this.#tick(), this.#interval_ms);
    }
    this.#timer.ref();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    clearImmediate(this.#pending);
    this.#timer = null;
  }

  #tick(): void {
    const now = this.#now();
    const late_ms = Math.max(0, now - this.#swept_at - this.#interval_ms);
    const is_late = late_ms > (LATE_INTERVALS - 1) * this.#interval_ms;
    this.#swept_at = now;
    // The process slept or was busy: it skips one sweep, to let exchanges go on before any request times out.
    this.#skipped = is_late && !this.#skipped;
    if (this.#skipped) return;
    // Sockets are read between a timer and its immediate, so every answer that came by `now` is read before the sweep.
    this.#pending = setImmediate(() => this.#run(now, late_ms));
  }

  #run(now: number, late_ms: number): void {
    const left = this.#sweep(now, late_ms);
    if (left === 'nothing') this.stop();
    else if (left === 'idle') this.#timer?.unref();
  }
}
