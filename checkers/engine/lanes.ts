// What the scheduler keeps: tasks in lanes, lanes in groups, groups under their owners; and the lanes that wait for one host.
import assert from 'node:assert';
import { type Linked, LinkedList } from './linked-list.ts';
import type { TakesTurns, Turns } from './turns.ts';

/** What is scheduled. The scheduler keeps its own notes on it between `add` and `release`. */
export interface Task extends Linked<Task> {
  readonly owner: string;
  readonly group: string;
  /** May change between a release and the next add. */
  host: string;
  /** The scheduler's; null when the task is neither queued nor running. */
  lane: Lane | null;
}

/** The queue of one group for one host. */
export interface Lane extends Linked<Lane> {
  readonly group: Group;
  readonly host: Host;
  readonly tasks: LinkedList<Task>;
  /** `ready`: in the list of its group; `blocked`: in that of its host; `empty`: without tasks. */
  state: 'empty' | 'ready' | 'blocked';
  running: number;
}

export interface Group extends TakesTurns<Group> {
  readonly id: string;
  readonly owner: Owner;
  readonly lanes: Map<string, Lane>;
  readonly ready: LinkedList<Lane>;
}

export interface Owner extends TakesTurns<Owner> {
  readonly id: string;
  readonly groups: Map<string, Group>;
  /** Its groups with a lane that may be startable. */
  readonly turns: Turns<Group>;
}

export interface Host {
  readonly name: string;
  /** Of tasks running at once; 0 when none may start now. */
  limit: number;
  /** Lanes with tasks that wait for this host's limit, or for its connections. */
  readonly blocked: BlockedLanes;
  /** As many connections as tasks have run at once; 1 before the first, for which there is always room. */
  connections: number;
  /** Whether one of its tasks ended, or its lanes began to wait, since the last look. */
  moved: boolean;
  lanes: number;
  running: number;
  queued: number;
  startable: number;
}

/** The links of a member of no list. */
export const UNLINKED = { before: null, after: null, list: null };

/** Lanes that wait for one host: owners in turn, and the lanes of each in turn. */
export class BlockedLanes {
  readonly #turn = new LinkedList<BlockedOwner>();
  #owners: Map<Owner, BlockedOwner> | null = null;
  size = 0;

  /** Null when none waits. */
  get next(): Lane | null {
    return this.#turn.first?.lanes.first ?? null;
  }

  push(lane: Lane): void {
    this.#owners ??= new Map();
    const { owner } = lane.group;
    let blocked = this.#owners.get(owner);
    if (blocked === undefined) {
      blocked = { owner, lanes: new LinkedList(), ...UNLINKED };
      this.#owners.set(owner, blocked);
      this.#turn.push(blocked);
    }
    blocked.lanes.push(lane);
    this.size++;
  }

  remove(lane: Lane): void {
    const blocked = this.#owners?.get(lane.group.owner);
    assert(blocked);
    blocked.lanes.remove(lane);
    this.size--;
    this.#turn.remove(blocked);
    if (blocked.lanes.size > 0) this.#turn.push(blocked);
    else this.#owners!.delete(blocked.owner);
  }
}

interface BlockedOwner extends Linked<BlockedOwner> {
  readonly owner: Owner;
  readonly lanes: LinkedList<Lane>;
}
