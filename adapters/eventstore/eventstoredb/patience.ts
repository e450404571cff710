// How long to go on trying while the server is away, and how long to wait in between.
import { EventStoreError } from './errors.ts';

export interface Limits {
  /** How long the server may take for an answer, or for the next event of a read. */
  answer_ms: number;
  /** After this long without an answer an append or read fails with code `unavailable`. Subscriptions never give up. */
  unavailable_after_ms: number;
  /** The waits before trying again: from the first, doubling, to the last; each is jittered down to its half. */
  backoff_ms: { first: number; last: number };
}

/** Counts tries and time since the last success, and says how long to wait before the next try. */
export class Patience {
  readonly #limits: Limits;
  #since = performance.now();
  #tries = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Call on progress: the next failure is a first one again. */
  renew(): void {
    this.#since = performance.now();
    this.#tries = 0;
  }

  /**
   * The jittered wait before the next try of `what`.
   * @throws EventStoreError with code `unavailable` when there have been tries for long enough, unless `forever`.
   */
  next(what: string, cause: unknown, forever = false): number {
    const { backoff_ms, unavailable_after_ms } = this.#limits;
    const most = Math.min(backoff_ms.last, backoff_ms.first * 2 ** this.#tries);
    const wait_ms = Math.round(most * (0.5 + Math.random() / 2));
    this.#tries += 1;
    if (!forever && performance.now() + wait_ms - this.#since > unavailable_after_ms) {
      throw new EventStoreError('unavailable', `${what}: the event store is unavailable`, { cause });
    }
    return wait_ms;
  }
}
