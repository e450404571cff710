// An intrusive doubly linked list, which removes any member in constant time. A member is in one list at most.
import assert from 'node:assert';

export interface Linked<T> {
  /** Set by the list: the neighbours, and the list itself. */
  before: T | null;
  after: T | null;
  list: object | null;
}

export class LinkedList<T extends Linked<T>> {
  first: T | null = null;
  last: T | null = null;
  size = 0;

  push(member: T): void {
    assert(member.list === null);
    member.list = this;
    member.before = this.last;
    if (this.last === null) this.first = member;
    else this.last.after = member;
    this.last = member;
    this.size++;
  }

  unshift(member: T): void {
    assert(member.list === null);
    member.list = this;
    member.after = this.first;
    if (this.first === null) this.last = member;
    else this.first.before = member;
    this.first = member;
    this.size++;
  }

  /** Removes the first member; undefined when the list is empty. */
  shift(): T | undefined {
    const member = this.first;
    if (member === null) return undefined;
    this.remove(member);
    return member;
  }

  remove(member: T): void {
    assert(member.list === this);
    const { before, after } = member;
    if (before === null) this.first = after;
    else before.after = after;
    if (after === null) this.last = before;
    else after.before = before;
    member.before = null;
    member.after = null;
    member.list = null;
    this.size--;
  }
}
