// Who goes next: slots shared by groups in turn, hosts within a limit, and a host whose connection just became free
// before the others of its group. Pure: no clock, no input or output.
import assert from 'node:assert';

/** What is scheduled. The scheduler keeps its own notes on it between `add` and `release`. */
export interface Task {
  readonly group: string;
  /** May change between a release and the next add. */
  host: string;
  /** The scheduler's; null when the task is neither queued nor running. */
  lane: Lane | null;
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
  /** Lanes with tasks that wait for this host's limit, in turn. */
  readonly blocked: Lane[];
  lanes: number;
  running: number;
  queued: number;
  startable: number;
}

export class Scheduler<T extends Task> {
  readonly #concurrency: number;
  readonly #per_host: number;
  readonly #groups = new Map<string, Group>();
  readonly #hosts = new Map<string, Host>();
  /** Groups with a lane that may be startable, the next in turn first. */
  readonly #turn = new Set<Group>();
  #running = 0;
  #queued = 0;
  #startable = 0;

  constructor(concurrency: number, per_host: number) {
    assert(concurrency >= 1 && per_host >= 1);
    this.#concurrency = concurrency;
    this.#per_host = per_host;
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

  hasQueued(host: string): boolean {
    const known = this.#hosts.get(host);
    return known !== undefined && known.queued > 0;
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
      if (host.running >= this.#per_host) {
        lane.state = 'blocked';
        host.blocked.push(lane);
        continue;
      }
      const task = lane.tasks.shift() as T;
      lane.running++;
      host.running++;
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
    group.running--;
    this.#running--;
    this.#count(host);
    if (host.blocked.length > 0) this.#unblock(host);
    else if (lane.state === 'ready') {
      // The host's connection is open: its next task goes before those of other hosts.
      this.#unlink(lane);
      this.#link(lane, true);
    } else if (lane.running === 0) this.#forget(lane);
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
      if (lane.host.running < this.#per_host) this.#unblock(lane.host);
    } else {
      lane.host.blocked.splice(lane.host.blocked.indexOf(lane), 1);
      lane.state = 'empty';
    }
    if (lane.running === 0) this.#forget(lane);
  }

  #unblock(host: Host): void {
    const lane = host.blocked.shift();
    if (lane !== undefined) this.#link(lane, true);
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
      host = { name: task.host, blocked: [], lanes: 0, running: 0, queued: 0, startable: 0 };
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
    const startable = Math.min(host.queued, this.#per_host - host.running);
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

/** A queue whose shift does not move the rest. */
class Fifo {
  #items: (Task | null)[] = [];
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  push(task: Task): void {
    this.#items.push(task);
  }

  unshift(task: Task): void {
    if (this.#head > 0) this.#items[--this.#head] = task;
    else this.#items.unshift(task);
  }

  shift(): Task {
    const task = this.#items[this.#head];
    assert(task);
    this.#items[this.#head++] = null;
    if (this.#head === this.#items.length) {
      this.#items.length = 0;
      this.#head = 0;
    } else if (this.#head >= 1024 && this.#head * 2 >= this.#items.length) {
      this.#items.splice(0, this.#head);
      this.#head = 0;
    }
    return task;
  }

  remove(task: Task): boolean {
    const at = this.#items.indexOf(task, this.#head);
    if (at < 0) return false;
    this.#items.splice(at, 1);
    if (this.#head === this.#items.length) {
      this.#items.length = 0;
      this.#head = 0;
    }
    return true;
  }
}
