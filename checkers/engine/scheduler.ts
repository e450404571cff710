// Who goes next: slots shared by groups in turn, hosts within a limit, and a host whose connection just became free
// before the others of its group. A thread that is busy opens no connection that it can do without. Pure: no clock, no
// input or output.
import assert from 'node:assert';

/** What is scheduled. The scheduler keeps its own notes on it between `add` and `release`. */
export interface Task {
  readonly group: string;
  /** May change between a release and the next add. */
  host: string;
  /** The scheduler's; null when the task is neither queued nor running. */
  lane: Lane | null;
  /** The scheduler's: who goes before and after it in the queue of its lane. */
  before: Task | null;
  after: Task | null;
}

/** The queue of one group for one host. */
export interface Lane {
  readonly group: Group;
  readonly host: Host;
  readonly tasks: Fifo;
  /** `ready`: in the list of its group; `blocked`: in that of its host; `empty`: without tasks. */
  state: 'empty' | 'ready' | 'blocked';
  previous: Lane | null;
  next: Lane | null;
  running: number;
}

interface Group {
  readonly id: string;
  readonly lanes: Map<string, Lane>;
  first: Lane | null;
  last: Lane | null;
  running: number;
}

interface Host {
  readonly name: string;
  /** Of tasks running at once; 0 when none may start now. */
  limit: number;
  /** Lanes with tasks that wait for this host's limit, or for its connections, in turn. */
  readonly blocked: Lane[];
  /** As many connections as tasks have run at once; 1 before the first, for which there is always room. */
  connections: number;
  /** Whether one of its tasks ended, or its lanes began to wait, since the last look. */
  moved: boolean;
  lanes: number;
  running: number;
  queued: number;
  startable: number;
}

export class Scheduler<T extends Task> {
  readonly #concurrency: number;
  readonly #limit_of: (host: string) => number;
  readonly #groups = new Map<string, Group>();
  readonly #hosts = new Map<string, Host>();
  /** Groups with a lane that may be startable, the next in turn first. */
  readonly #turn = new Set<Group>();
  /** Hosts with blocked lanes. */
  readonly #waiting = new Set<Host>();
  #is_busy = false;
  #running = 0;
  #queued = 0;
  #startable = 0;

  /** `limit_of` is asked when a host gets its first task, and when its limit is said to have changed. */
  constructor(concurrency: number, limit_of: (host: string) => number) {
    assert(concurrency >= 1);
    this.#concurrency = concurrency;
    this.#limit_of = limit_of;
  }

  get running(): number {
    return this.#running;
  }

  get queued(): number {
    return this.#queued;
  }

  /** How many queued tasks the limits of their hosts would let start, were there slots. */
  get startable(): number {
    return this.#startable;
  }

  /** The hosts that have tasks, queued or running. */
  get hosts(): Iterable<string> {
    return this.#hosts.keys();
  }

  limitChanged(name: string): void {
    const host = this.#hosts.get(name);
    if (host === undefined) return;
    host.limit = this.#limit_of(name);
    this.#count(host);
    if (host.running < host.limit) this.#unblockAll(host);
  }

  /**
   * To be told regularly whether the thread is busy. One that is gains nothing from another connection to a host that has
   * one, and the connection costs as much as many requests: the host's tasks wait for those it has. Where none of them
   * ended from one look to the next, the host is slow, and gets one more; and a group that has little gets what it asks.
   */
  look(is_busy: boolean): void {
    this.#is_busy = is_busy;
    for (const host of this.#waiting) {
      if (host.running >= host.limit) continue;
      if (!is_busy || !host.moved) {
        host.connections++;
        this.#unblockAll(host);
      }
      host.moved = false;
    }
  }

  /** `first`: before the others of its group and host, for a task that goes on. */
  add(task: T, first = false): void {
    assert(task.lane === null);
    const lane = this.#lane(task);
    if (first) lane.tasks.unshift(task);
    else lane.tasks.push(task);
    task.lane = lane;
    this.#queued++;
    lane.host.queued++;
    this.#count(lane.host);
    if (lane.state === 'empty') this.#link(lane, false);
  }

  /** The task to start now, which takes a slot; undefined when there is no slot or none may start. */
  next(): T | undefined {
    if (this.#running >= this.#concurrency) return undefined;
    for (;;) {
      const group = this.#nextGroup();
      if (group === undefined) return undefined;
      const lane = group.first;
      assert(lane !== null);
      this.#unlink(lane);
      const { host } = lane;
      if (!this.#hasRoom(lane)) {
        this.#block(lane);
        continue;
      }
      const task = lane.tasks.shift() as T;
      lane.running++;
      host.running++;
      host.connections = Math.max(host.connections, host.running);
      host.queued--;
      group.running++;
      this.#running++;
      this.#queued--;
      this.#count(host);
      if (lane.tasks.size > 0) this.#link(lane, false);
      if (this.#turn.size > 1 && this.#turn.delete(group)) this.#turn.add(group);
      return task;
    }
  }

  /** Gives back the slot of a task that `next` returned. */
  release(task: T): void {
    const { lane } = task;
    assert(lane !== null && lane.running > 0);
    task.lane = null;
    const { host, group } = lane;
    lane.running--;
    host.running--;
    host.moved = true;
    group.running--;
    this.#running--;
    this.#count(host);
    if (host.blocked.length > 0) {
      this.#unblock(host);
    } else if (lane.state === 'ready' && group.lanes.size > this.#concurrency) {
      // The host's connection is open: its next task goes before those of other hosts. With no more hosts than slots the
      // others' are open too, and taking turns they need no more of them.
      this.#unlink(lane);
      this.#link(lane, true);
    }
    if (lane.state === 'empty' && lane.running === 0) this.#forget(lane);
  }

  /** Takes a queued task out; one that is running is not there. */
  remove(task: T): void {
    const { lane } = task;
    assert(lane !== null);
    if (!lane.tasks.remove(task)) return;
    task.lane = null;
    this.#queued--;
    lane.host.queued--;
    this.#count(lane.host);
    if (lane.tasks.size > 0) return;
    if (lane.state === 'ready') {
      this.#unlink(lane);
      // The place that this lane would have taken.
      this.#unblock(lane.host);
    } else {
      const { blocked } = lane.host;
      blocked.splice(blocked.indexOf(lane), 1);
      if (blocked.length === 0) this.#waiting.delete(lane.host);
      lane.state = 'empty';
    }
    if (lane.running === 0) this.#forget(lane);
  }

  #hasRoom({ group, host }: Lane): boolean {
    if (host.running >= host.limit) return false;
    return !this.#is_busy || host.running < host.connections || this.#isShort(group);
  }

  /** Beside others it has less than half of its part of the slots: that they keep the thread busy is not to slow it down. */
  #isShort(group: Group): boolean {
    const groups = this.#groups.size;
    return groups > 1 && 2 * groups * group.running < this.#concurrency;
  }

  #block(lane: Lane): void {
    const { host } = lane;
    lane.state = 'blocked';
    if (host.blocked.push(lane) > 1) return;
    host.moved = true;
    this.#waiting.add(host);
  }

  #unblock(host: Host): void {
    const [lane] = host.blocked;
    if (lane === undefined || !this.#hasRoom(lane)) return;
    host.blocked.shift();
    if (host.blocked.length === 0) this.#waiting.delete(host);
    this.#link(lane, true);
  }

  /** Those for whom there is no room block again when their turn comes. */
  #unblockAll(host: Host): void {
    this.#waiting.delete(host);
    for (const lane of host.blocked.splice(0)) this.#link(lane, false);
  }

  /** The group with the fewest running tasks, the first in turn among equals. */
  #nextGroup(): Group | undefined {
    let best: Group | undefined;
    for (const group of this.#turn) {
      if (best === undefined || group.running < best.running) best = group;
      if (best.running === 0) break;
    }
    return best;
  }

  #lane(task: T): Lane {
    let group = this.#groups.get(task.group);
    if (group === undefined) {
      group = { id: task.group, lanes: new Map(), first: null, last: null, running: 0 };
      this.#groups.set(task.group, group);
    }
    let lane = group.lanes.get(task.host);
    if (lane !== undefined) return lane;
    let host = this.#hosts.get(task.host);
    if (host === undefined) {
      const limit = this.#limit_of(task.host);
      const counts = { connections: 1, lanes: 0, running: 0, queued: 0, startable: 0 };
      host = { name: task.host, limit, blocked: [], moved: false, ...counts };
      this.#hosts.set(task.host, host);
    }
    host.lanes++;
    lane = { group, host, tasks: new Fifo(), state: 'empty', previous: null, next: null, running: 0 };
    group.lanes.set(task.host, lane);
    return lane;
  }

  #forget(lane: Lane): void {
    const { group, host } = lane;
    assert(lane.state === 'empty' && lane.tasks.size === 0);
    group.lanes.delete(host.name);
    if (group.lanes.size === 0) this.#groups.delete(group.id);
    if (--host.lanes === 0) this.#hosts.delete(host.name);
  }

  #count(host: Host): void {
    const startable = Math.max(0, Math.min(host.queued, host.limit - host.running));
    this.#startable += startable - host.startable;
    host.startable = startable;
  }

  #link(lane: Lane, first: boolean): void {
    assert(lane.state !== 'ready');
    lane.state = 'ready';
    const { group } = lane;
    if (group.first === null || group.last === null) {
      group.first = lane;
      group.last = lane;
      this.#turn.add(group);
    } else if (first) {
      lane.next = group.first;
      group.first.previous = lane;
      group.first = lane;
    } else {
      lane.previous = group.last;
      group.last.next = lane;
      group.last = lane;
    }
  }

  #unlink(lane: Lane): void {
    assert(lane.state === 'ready');
    const { group, previous, next } = lane;
    lane.state = 'empty';
    if (previous !== null) previous.next = next;
    else group.first = next;
    if (next !== null) next.previous = previous;
    else group.last = previous;
    lane.previous = null;
    lane.next = null;
    if (group.first === null) this.#turn.delete(group);
  }
}

/** A queue from which any task is taken at once, however long it is: its links are in the tasks. */
class Fifo {
  #first: Task | null = null;
  #last: Task | null = null;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(task: Task): void {
    task.before = this.#last;
    if (this.#last === null) this.#first = task;
    else this.#last.after = task;
    this.#last = task;
    this.#size++;
  }

  unshift(task: Task): void {
    task.after = this.#first;
    if (this.#first === null) this.#last = task;
    else this.#first.before = task;
    this.#first = task;
    this.#size++;
  }

  shift(): Task {
    const task = this.#first;
    assert(task);
    this.remove(task);
    return task;
  }

  /** False when it is not there: it is running. */
  remove(task: Task): boolean {
    const { before, after } = task;
    if (before === null && this.#first !== task) return false;
    if (before === null) this.#first = after;
    else before.after = after;
    if (after === null) this.#last = before;
    else after.before = before;
    task.before = null;
    task.after = null;
    this.#size--;
    return true;
  }
}
