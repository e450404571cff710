// Back-off: how long to retry while the server is away, and how long to wait between tries.
import { backOffMs, jittered, type BackOff as Waits } from '../../../time/back-off.ts';
import { EventStoreError } from './errors.ts';

export interface Limits {
  /** Time limit of an answer, and of a read's next event. */
  answer_ms: number;
  /** A connection that says nothing is replaced after this long. */
  silent_ms: number;
  /** After this long without an answer, an append or read fails with code `unavailable`. Subscriptions never give up. */
  unavailable_after_ms: number;
  /** Waits between tries; jitter shortens each by up to a half. */
  waits: Waits;
}

/** Counts tries and time since the last success, and computes the wait before the next try. */
export class BackOff {
  readonly #limits: Limits;
  #since = performance.now();
  #tries = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Call after each success: the next failure starts over with the first wait. */
  reset(): void {
    this.#since = performance.now();
    this.#tries = 0;
  }

  /**
   * Returns the jittered wait before the next try of `what`, in ms.
   * @throws EventStoreError with code `unavailable` when that try would come after `unavailable_after_ms`, unless `forever`.
   */
  next(what: string, cause: unknown, forever = false): number {
    const { waits, unavailable_after_ms } = this.#limits;
    const wait_ms = Math.round(jittered(backOffMs(this.#tries, waits), Math.random()));
    this.#tries += 1;
    if (!forever && performance.now() + wait_ms - this.#since > unavailable_after_ms) {
      throw new EventStoreError('unavailable', `${what}: the event store is unavailable`, { cause });
    }
    return wait_ms;
  }
}
