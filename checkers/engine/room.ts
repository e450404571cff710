// How many requests the machine has room for: half as many when it lacks something, and more again with each that succeeds.
// Pure: the clock is an argument.

/** After a shortage nothing starts for so long; where not even one request has room, ever longer. */
const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 2_000;
/** Without a success for so long the machine is taken to have no room at all. */
const STARVED_MS = 10_000;

/** By how many it grows while as many succeed as run at once. */
const GROWTH = 4;

export class Room {
  readonly #concurrency: number;
  #limit = Number.POSITIVE_INFINITY;
  /** Up to here it grows with each success, above it ever slower. */
  #threshold = 0;
  #wait_ms = FIRST_WAIT_MS;
  #next_at = 0;
  #lowered_at = Number.NEGATIVE_INFINITY;
  #succeeded_at = 0;

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  get isShort(): boolean {
    return this.#limit < this.#concurrency;
  }

  /** Requests at once. */
  get limit(): number {
    return Math.min(this.#concurrency, Math.floor(this.#limit));
  }

  mayStart(running: number, now: number): boolean {
    return running < this.limit && now >= this.#next_at;
  }

  /** The machine lacked something for a request that began at `asked_at`, beside `running` others. */
  failed(asked_at: number, running: number, now: number): void {
    if (!this.isShort) this.#succeeded_at = now;
    // What began before the limit was lowered says nothing new.
    if (asked_at < this.#lowered_at) return;
    this.#lowered_at = now;
    this.#wait_ms = running > 0 ? FIRST_WAIT_MS : Math.min(2 * this.#wait_ms, LONGEST_WAIT_MS);
    this.#next_at = now + this.#wait_ms;
    this.#limit = Math.max(1, Math.floor(Math.min(running, this.#concurrency) / 2));
    this.#threshold = Math.max(this.#limit, Math.floor(this.#threshold / 2));
  }

  /** A request had what it needed. */
  succeeded(now: number): void {
    this.#succeeded_at = now;
    this.#wait_ms = FIRST_WAIT_MS;
    this.#limit += this.#limit < this.#threshold ? 1 : GROWTH / this.#limit;
  }

  isStarved(now: number): boolean {
    return this.isShort && now - this.#succeeded_at >= STARVED_MS;
  }

  /** It may be asked again whether there is room. */
  tryAgain(now: number): void {
    this.#succeeded_at = now;
    this.#next_at = now;
  }
}
