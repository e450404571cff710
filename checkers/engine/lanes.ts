// The scheduler's data: tasks in lanes, lanes in groups, groups under their owners; and the lanes blocked by a host.
import assert from 'node:assert';
import type { LeastBusy, MayRun } from './least-busy.ts';
import { type Linked, LinkedList } from './linked-list.ts';

/** A task of the scheduler, which owns the links and the lane from `add` to `release`. */
export interface Task extends Linked<Task> {
  readonly owner: string;
  readonly group: string;
  /** May change between a `release` and the next `add`. */
  host: string;
  /** Set by the scheduler; null when the task is neither queued nor running. */
  lane: Lane | null;
}

/** The queue of one group for one host. */
export interface Lane extends Linked<Lane> {
  readonly group: Group;
  readonly host: Host;
  readonly tasks: LinkedList<Task>;
  /** `ready`: in its group's list; `blocked`: in its host's list; `paced`: it waits for `resume`; `empty`: without tasks. */
  state: 'empty' | 'ready' | 'blocked' | 'paced';
  /** Whether none of its tasks may start before `resume`. */
  is_paced: boolean;
  running: number;
  /** Whether the scheduler's next sweep looks whether to forget it. */
  is_idle: boolean;
}

export interface Group extends MayRun<Group> {
  readonly id: string;
  readonly owner: Owner;
  readonly lanes: Map<string, Lane>;
  readonly ready: LinkedList<Lane>;
}

export interface Owner extends MayRun<Owner> {
  readonly id: string;
  readonly groups: Map<string, Group>;
  /** Groups of the owner with a ready lane. */
  readonly turns: LeastBusy<Group>;
}

export interface Host {
  readonly name: string;
  /** Most tasks that run at once; 0 when none may start now. */
  limit: number;
  /** Lanes that wait for the host's limit or for its connections. */
  readonly blocked: BlockedLanes;
  /** Most tasks that have run at once, which is how many connections the host has; 1 before its first task. */
  connections: number;
  /** Whether a task of the host ended, or its first lane blocked, since the last sweep. */
  moved: boolean;
  lanes: number;
  running: number;
  queued: number;
  startable: number;
}

/** The links of an object that is in no list. */
export const UNLINKED = { before: null, after: null, list: null };

/** The lanes blocked by a host. Owners take turns, and so do the lanes of each owner. */
export class BlockedLanes {
  /** The only lane. Most hosts have one, which needs no turns. */
  #only: Lane | null = null;
  readonly #turn = new LinkedList<BlockedOwner>();
  #owners: Map<Owner, BlockedOwner> | null = null;
  size = 0;

  /** The lane whose turn it is; null when no lane waits. */
  get next(): Lane | null {
    return this.#only ?? this.#turn.first?.lanes.first ?? null;
  }

  push(lane: Lane): void {
    if (this.size++ === 0) {
      this.#only = lane;
      return;
    }
    if (this.#only !== null) this.#join(this.#only);
    this.#only = null;
    this.#join(lane);
  }

  #join(lane: Lane): void {
    this.#owners ??= new Map();
    const { owner } = lane.group;
    let blocked = this.#owners.get(owner);
    if (blocked === undefined) {
      blocked = { owner, lanes: new LinkedList(), ...UNLINKED };
      this.#owners.set(owner, blocked);
      this.#turn.push(blocked);
    }
    blocked.lanes.push(lane);
  }

  remove(lane: Lane): void {
    this.size--;
    if (this.#only !== null) {
      assert(this.#only === lane);
      this.#only = null;
      return;
    }
    const blocked = this.#owners?.get(lane.group.owner);
    assert(blocked);
    blocked.lanes.remove(lane);
    this.#turn.remove(blocked);
    if (blocked.lanes.size > 0) this.#turn.push(blocked);
    else this.#owners!.delete(blocked.owner);
  }
}

interface BlockedOwner extends Linked<BlockedOwner> {
  readonly owner: Owner;
  readonly lanes: LinkedList<Lane>;
}
