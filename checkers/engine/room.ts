// Limits concurrent requests to the files, memory and ports of the machine: a shortage halves the limit, and each success
// raises it. Pure: the clock is an argument. Decision 23 says why.

/** After a shortage no request starts for this long. The wait doubles while not even one request has room. */
const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 2_000;
/** A machine without a success for this long is starved. */
const STARVED_MS = 10_000;

/** Growth of the limit above the threshold, for each round of as many successes as the limit. */
const GROWTH = 4;

export class Room {
  /** The limit of a machine with room. */
  concurrency: number;
  #limit = Number.POSITIVE_INFINITY;
  /** Up to the threshold each success raises the limit by 1; above it growth is linear. */
  #threshold = 0;
  #wait_ms = FIRST_WAIT_MS;
  #next_at = 0;
  #lowered_at = Number.NEGATIVE_INFINITY;
  #succeeded_at = 0;
  /** The machine had no room for some time, and has none since. */
  is_starved = false;

  constructor(concurrency: number) {
    this.concurrency = concurrency;
  }

  get isShort(): boolean {
    return this.#limit < this.concurrency;
  }

  /** Most concurrent requests. */
  get limit(): number {
    return Math.min(this.concurrency, Math.floor(this.#limit));
  }

  mayStart(running: number, now: number): boolean {
    return running < this.limit && now >= this.#next_at;
  }

  /** A request that started at `asked_at`, beside `running` others, failed for lack of resources. */
  failed(asked_at: number, running: number, now: number): void {
    if (!this.isShort) this.#succeeded_at = now;
    // A request that started before the limit was lowered says nothing new.
    if (asked_at < this.#lowered_at) return;
    this.#lowered_at = now;
    this.#wait_ms = running > 0 ? FIRST_WAIT_MS : Math.min(2 * this.#wait_ms, LONGEST_WAIT_MS);
    this.#next_at = now + this.#wait_ms;
    this.#limit = Math.max(1, Math.floor(Math.min(running, this.concurrency) / 2));
    this.#threshold = Math.max(this.#limit, Math.floor(this.#threshold / 2));
  }

  /** A request had the resources that it needed. */
  succeeded(now: number): void {
    this.#succeeded_at = now;
    this.#wait_ms = FIRST_WAIT_MS;
    this.#limit += this.#limit < this.#threshold ? 1 : GROWTH / this.#limit;
  }

  /** Whether a machine that is short has become starved or, when `hasRoom` says so, has recovered; null for no change. */
  look(now: number, hasRoom: () => boolean): 'starved' | 'recovered' | null {
    if (!this.is_starved) {
      this.is_starved = now - this.#succeeded_at >= STARVED_MS;
      return this.is_starved ? 'starved' : null;
    }
    if (!hasRoom()) return null;
    this.is_starved = false;
    this.#succeeded_at = now;
    this.#next_at = now;
    return 'recovered';
  }
}
