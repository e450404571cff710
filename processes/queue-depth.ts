// How many messages wait in the queue: as many as the checkers take in half a second. The queue is first in, first out, so what waits in
// it is what the next owner waits for, whether checkers take a message in a millisecond or in a second. Without effects.

const SECONDS_OF_WORK = 0.5;
/** With fewer, checkers would be idle between two passes. */
const LEAST = 8;
const MOST = 256;
/** The rate is that of about the last second. */
const MEMORY_MS = 1000;

export class QueueDepth {
  #aim = LEAST;
  #messages_a_second = 0;
  /** Messages that waited after the last pass. */
  #left = 0;
  #looked_at: number | null = null;

  /** Returns how many messages to publish where `waiting` wait. */
  room(waiting: number, now_ms: number): number {
    const elapsed_ms = this.#looked_at === null ? 0 : now_ms - this.#looked_at;
    if (elapsed_ms > 0) {
      const rate = (1000 * Math.max(0, this.#left - waiting)) / elapsed_ms;
      const weight = 1 - Math.exp(-elapsed_ms / MEMORY_MS);
      this.#messages_a_second += weight * (rate - this.#messages_a_second);
    }
    this.#looked_at = now_ms;
    const of_rate = Math.ceil(SECONDS_OF_WORK * this.#messages_a_second);
    // An empty queue says only that the checkers take more than it held.
    const of_need = waiting === 0 && this.#left > 0 ? 2 * this.#left : 0;
    this.#aim = Math.min(MOST, Math.max(LEAST, of_rate, of_need));
    this.#left = waiting;
    return Math.max(0, this.#aim - waiting);
  }

  published(messages: number): void {
    this.#left += messages;
  }
}
