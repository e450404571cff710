// Picks the next task. Owners share the slots in turn, and so do the groups of each owner. Each host has a limit, and a host
// whose connection just became free goes before the others of its group. A busy thread opens no connection that it can do
// without. A decision takes constant time for any number of owners, groups or tasks. Pure: no clock, no input or output.
// Decision 21 says why.
import assert from 'node:assert';
import { BlockedLanes, type Group, type Host, type Lane, type Owner, type Task, UNLINKED } from './lanes.ts';
import { LeastBusy } from './least-busy.ts';
import { LinkedList } from './linked-list.ts';

export type { Lane, Task } from './lanes.ts';

export class Scheduler<T extends Task> {
  /** Most tasks that run at a time. */
  concurrency: number;
  readonly #limit_of: (host: string) => number;
  readonly #owners = new Map<string, Owner>();
  readonly #hosts = new Map<string, Host>();
  /** Owners with a ready lane. */
  readonly #turns = new LeastBusy<Owner>();
  /** Hosts with blocked lanes. */
  readonly #waiting = new Set<Host>();
  /** Lanes that have become idle since the last sweep. The next one forgets those that still are: most get another task before. */
  #idle: Lane[] = [];
  #is_busy = false;
  #running = 0;
  #queued = 0;
  #startable = 0;

  /** The scheduler calls `limit_of` when a host gets its first task, and at `limitChanged`. */
  constructor(concurrency: number, limit_of: (host: string) => number) {
    assert(concurrency >= 1);
    this.concurrency = concurrency;
    this.#limit_of = limit_of;
  }

  get running(): number {
    return this.#running;
  }

  get queued(): number {
    return this.#queued;
  }

  /** Number of queued tasks that the limits of their hosts let start, given free slots. */
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
    this.#unblockSome(host);
  }

  /**
   * The caller runs it regularly. A busy thread gains nothing from another connection to a host that has one, and the
   * connection costs as much as many requests: so the host's tasks wait for its open connections. A slow host, of which no
   * task ended between two sweeps, gets one more connection.
   */
  sweep(is_busy: boolean): void {
    this.#is_busy = is_busy;
    for (const host of this.#waiting) {
      if (host.running >= host.limit) continue;
      if (!is_busy || !host.moved) {
        host.connections++;
        this.#unblockSome(host);
      }
      host.moved = false;
    }
    const idle = this.#idle;
    this.#idle = [];
    for (const lane of idle) {
      lane.is_idle = false;
      if (lane.state === 'empty' && lane.running === 0 && !lane.is_paced) this.#forget(lane);
    }
  }

  /** Queues a task. `first`: before the others of its group and host, for a task that continues. */
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

  /** Takes a slot for the next task and returns it; undefined when no slot is free, no task may start or it does not fit. */
  next(fits?: (task: T) => boolean): T | undefined {
    if (this.#running >= this.concurrency) return undefined;
    for (;;) {
      const owner = this.#turns.next;
      if (owner === null) return undefined;
      const lane = owner.turns.next?.ready.first;
      assert(lane);
      const { host } = lane;
      if (lane.is_paced) {
        this.#unlink(lane);
        lane.state = 'paced';
        continue;
      }
      if (!this.#hasRoom(lane)) {
        this.#unlink(lane);
        this.#block(lane);
        continue;
      }
      if (fits !== undefined && !fits(lane.tasks.first as T)) return undefined;
      this.#unlink(lane);
      const task = lane.tasks.shift() as T;
      lane.running++;
      host.running++;
      host.connections = Math.max(host.connections, host.running);
      host.queued--;
      this.#ran(lane.group, 1);
      this.#running++;
      this.#queued--;
      this.#count(host);
      if (lane.tasks.size > 0) this.#link(lane, false);
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
    this.#ran(group, -1);
    this.#running--;
    this.#count(host);
    if (host.blocked.size > 0) {
      this.#unblock(host);
    } else if (lane.state === 'ready' && group.lanes.size > this.concurrency) {
      // The host's connection is open, so its next task goes before those of other hosts. With no more hosts than slots the
      // connections of the other hosts are open too, and the hosts take turns.
      this.#unlink(lane);
      this.#link(lane, true);
    }
    if (lane.state === 'empty' && lane.running === 0) this.#idles(lane);
  }

  /** Lets no further task of this one's group and host start before `resume` is called with the lane, which is returned. */
  pace(task: T): Lane {
    assert(task.lane !== null);
    task.lane.is_paced = true;
    return task.lane;
  }

  resume(lane: Lane): void {
    lane.is_paced = false;
    if (lane.state === 'paced') lane.state = 'empty';
    if (lane.state !== 'empty') return;
    if (lane.tasks.size > 0) this.#link(lane, false);
    else if (lane.running === 0) this.#idles(lane);
  }

  /** Removes a queued task; a running task is left alone. */
  remove(task: T): void {
    const { lane } = task;
    assert(lane !== null);
    if (task.list === null) return;
    lane.tasks.remove(task);
    task.lane = null;
    this.#queued--;
    lane.host.queued--;
    this.#count(lane.host);
    if (lane.tasks.size > 0 || lane.state === 'paced') return;
    if (lane.state === 'ready') {
      this.#unlink(lane);
      // Another lane of the host may take this lane's place.
      this.#unblock(lane.host);
    } else {
      lane.host.blocked.remove(lane);
      if (lane.host.blocked.size === 0) this.#waiting.delete(lane.host);
      lane.state = 'empty';
    }
    if (lane.running === 0) this.#idles(lane);
  }

  #hasRoom({ group, host }: Lane): boolean {
    if (host.running >= host.limit) return false;
    return !this.#is_busy || host.running < host.connections || this.#isShort(group);
  }

  /** Whether a group among several has less than half of its share of the slots: a busy thread does not slow it down. */
  #isShort({ owner, running }: Group): boolean {
    const sharers = this.#owners.size * owner.groups.size;
    return sharers > 1 && 2 * sharers * running < this.concurrency;
  }

  #block(lane: Lane): void {
    const { host } = lane;
    lane.state = 'blocked';
    host.blocked.push(lane);
    if (host.blocked.size > 1) return;
    host.moved = true;
    this.#waiting.add(host);
  }

  #unblock(host: Host): void {
    const lane = host.blocked.next;
    if (lane === null || !this.#hasRoom(lane)) return;
    host.blocked.remove(lane);
    if (host.blocked.size === 0) this.#waiting.delete(host);
    this.#link(lane, true);
  }

  /** Unblocks as many lanes as the host has room for. A lane without room blocks again when its turn comes. */
  #unblockSome(host: Host): void {
    for (let room = host.limit - host.running; room > 0; room--) {
      const lane = host.blocked.next;
      if (lane === null) break;
      host.blocked.remove(lane);
      this.#link(lane, false);
    }
    if (host.blocked.size === 0) this.#waiting.delete(host);
  }

  #ran(group: Group, by: 1 | -1): void {
    group.owner.turns.changed(group, by);
    this.#turns.changed(group.owner, by);
  }

  #lane(task: T): Lane {
    let owner = this.#owners.get(task.owner);
    if (owner === undefined) {
      owner = { id: task.owner, groups: new Map(), turns: new LeastBusy(), running: 0, ...UNLINKED };
      this.#owners.set(task.owner, owner);
    }
    let group = owner.groups.get(task.group);
    if (group === undefined) {
      group = { id: task.group, owner, lanes: new Map(), ready: new LinkedList(), running: 0, ...UNLINKED };
      owner.groups.set(task.group, group);
    }
    let lane = group.lanes.get(task.host);
    if (lane !== undefined) return lane;
    let host = this.#hosts.get(task.host);
    if (host === undefined) {
      const limit = this.#limit_of(task.host);
      const counts = { connections: 1, lanes: 0, running: 0, queued: 0, startable: 0 };
      host = { name: task.host, limit, blocked: new BlockedLanes(), moved: false, ...counts };
      this.#hosts.set(task.host, host);
    }
    host.lanes++;
    lane = {
      group,
      host,
      tasks: new LinkedList(),
      state: 'empty',
      is_paced: false,
      running: 0,
      is_idle: false,
      ...UNLINKED,
    };
    group.lanes.set(task.host, lane);
    return lane;
  }

  #idles(lane: Lane): void {
    const { host } = lane;
    // Its next task begins with one connection, as a new host's does.
    if (host.running === 0 && host.queued === 0) host.connections = 1;
    if (lane.is_idle) return;
    lane.is_idle = true;
    this.#idle.push(lane);
  }

  #forget(lane: Lane): void {
    const { group, host } = lane;
    assert(lane.state === 'empty' && lane.tasks.size === 0);
    group.lanes.delete(host.name);
    if (group.lanes.size === 0) {
      const { owner } = group;
      owner.groups.delete(group.id);
      if (owner.groups.size === 0) this.#owners.delete(owner.id);
    }
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
    if (first) group.ready.unshift(lane);
    else group.ready.push(lane);
    if (group.list !== null) return;
    const { owner } = group;
    owner.turns.join(group);
    if (owner.list === null) this.#turns.join(owner);
  }

  #unlink(lane: Lane): void {
    assert(lane.state === 'ready');
    lane.state = 'empty';
    const { group } = lane;
    group.ready.remove(lane);
    if (group.ready.size > 0) return;
    const { owner } = group;
    owner.turns.leave(group);
    if (owner.turns.size === 0) this.#turns.leave(owner);
  }
}
