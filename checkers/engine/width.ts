// How many requests may be in flight where no setting fixes it. A request that waits costs a socket and some memory: the number
// grows while the thread is idle, and shrinks when the thread is late or memory is short. A silent request counts as nothing,
// so that dead hosts take no slots from living ones. Pure. Decision 136 says why.

export interface Load {
  /** Requests in flight. */
  running: number;
  /** Requests in flight that have had no answer for some time. */
  silent: number;
  /** Whether the thread was busy since the last look. */
  is_busy: boolean;
  /** How late the thread is with its timers. */
  late_ms: number;
  is_short_of_memory: boolean;
}

/** The requests that a busy thread has in flight. More answer no sooner. */
export const FIRST_WIDTH = 256;
/** Factors a look, of which there are ten a second: from the first width to the largest takes some three seconds. */
const GROWTH = 1.1;
const SHRINKAGE = 0.9;
/** It grows when at least this share of it is in use. */
const USED = 0.9;
/** A thread that is later than this has too much to do. */
const LATE_MS = 100;

export class Width {
  readonly #most: number;
  readonly #least: number;
  #active: number;
  #silent = 0;

  constructor(most: number) {
    this.#most = most;
    this.#least = Math.min(FIRST_WIDTH, most);
    this.#active = this.#least;
  }

  get limit(): number {
    return Math.min(this.#most, Math.floor(this.#active) + this.#silent);
  }

  /** The caller runs it ten times a second, or nearly. */
  look({ running, silent, is_busy, late_ms, is_short_of_memory }: Load): void {
    const is_used = running >= USED * this.limit;
    this.#silent = is_short_of_memory ? 0 : silent;
    if (is_short_of_memory || late_ms > LATE_MS) this.#active = Math.max(this.#least, this.#active * SHRINKAGE);
    else if (!is_busy && is_used) this.#active = Math.min(this.#most, this.#active * GROWTH);
  }
}
