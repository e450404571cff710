// An unordered collection that adds and removes a member without hashing: each member knows its place in one array. A member
// is in one bag at most.
import assert from 'node:assert';

export interface Placed {
  /** Set by the bag; -1 outside of it. */
  place: number;
}

export class Bag<T extends Placed> {
  readonly #members: T[] = [];

  get size(): number {
    return this.#members.length;
  }

  /** The members now: the caller may add and remove members while it walks over them. */
  get all(): readonly T[] {
    return [...this.#members];
  }

  add(member: T): void {
    assert(member.place < 0);
    member.place = this.#members.push(member) - 1;
  }

  /** Removes a member; the last one takes its place. */
  delete(member: T): void {
    const { place } = member;
    assert(this.#members[place] === member);
    const last = this.#members.pop()!;
    if (last !== member) {
      this.#members[place] = last;
      last.place = place;
    }
    member.place = -1;
  }
}
