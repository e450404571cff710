// Picks the member with the fewest running tasks, and among equals the one that has waited longest, in constant time for any
// number of members.
import { type Linked, LinkedList } from './linked-list.ts';

export interface MayRun<T> extends Linked<T> {
  running: number;
}

export class LeastBusy<T extends MayRun<T>> {
  /** Waiting members by their number of running tasks. */
  readonly #lists: LinkedList<T>[] = [];
  #fewest = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The member whose turn it is; null when none waits. */
  get next(): T | null {
    if (this.#size === 0) return null;
    for (;;) {
      const first = this.#lists[this.#fewest]?.first ?? null;
      if (first !== null) return first;
      this.#fewest++;
    }
  }

  /** The member now waits for its turn. */
  join(member: T): void {
    const { running } = member;
    while (this.#lists.length <= running) this.#lists.push(new LinkedList<T>());
    this.#lists[running]!.push(member);
    if (this.#size++ === 0 || running < this.#fewest) this.#fewest = running;
  }

  leave(member: T): void {
    this.#lists[member.running]!.remove(member);
    this.#size--;
  }

  /** Changes the member's number of running tasks, whether it waits for its turn or not. */
  changed(member: T, by: 1 | -1): void {
    const waits = member.list !== null;
    if (waits) this.leave(member);
    member.running += by;
    if (waits) this.join(member);
  }
}
