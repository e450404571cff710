// Whose turn it is: whoever has the fewest running, and among equals who has waited longest. Its cost does not grow with
// the number of those who take turns.
import { type Linked, LinkedList } from './linked-list.ts';

export interface TakesTurns<T> extends Linked<T> {
  running: number;
}

export class Turns<T extends TakesTurns<T>> {
  /** By how many they have running. */
  readonly #lists: LinkedList<T>[] = [];
  #fewest = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Null when nobody waits. */
  get next(): T | null {
    if (this.#size === 0) return null;
    for (;;) {
      const first = this.#lists[this.#fewest]?.first ?? null;
      if (first !== null) return first;
      this.#fewest++;
    }
  }

  /** From now on it waits for its turn. */
  join(one: T): void {
    const { running } = one;
    while (this.#lists.length <= running) this.#lists.push(new LinkedList<T>());
    this.#lists[running]!.push(one);
    if (this.#size++ === 0 || running < this.#fewest) this.#fewest = running;
  }

  leave(one: T): void {
    this.#lists[one.running]!.remove(one);
    this.#size--;
  }

  /** It has more running now, or fewer, whether it waits for its turn or not. */
  changed(one: T, by: 1 | -1): void {
    const waits = one.list !== null;
    if (waits) this.leave(one);
    one.running += by;
    if (waits) this.join(one);
  }
}
