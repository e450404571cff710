// Slots, hosts and groups, without a network.
import test from 'ava';
import fc from 'fast-check';
import { type Lane, Scheduler, type Task } from '../../../checkers/engine/scheduler.ts';
import { leastCpuMs } from '../../support/cpu-time.ts';

class Named implements Task {
  readonly owner: string;
  readonly group: string;
  host: string;
  readonly name: string;
  lane: Lane | null = null;
  before: Task | null = null;
  after: Task | null = null;
  list: object | null = null;
  constructor(name: string, group: string, host: string, owner = '') {
    this.name = name;
    this.owner = owner;
    this.group = group;
    this.host = host;
  }
}

function scheduled(concurrency: number, per_host: number, ...tasks: [name: string, group: string, host: string][]) {
  const scheduler = new Scheduler<Named>(concurrency, () => per_host);
  const all = tasks.map((each) => new Named(...each));
  for (const task of all) scheduler.add(task);
  const names = (): string => {
    let started = '';
    for (let task = scheduler.next(); task !== undefined; task = scheduler.next()) started += task.name;
    return started;
  };
  return { scheduler, all, names };
}

test('new slots go to the hosts of a group in turn', (t) => {
  const { names } = scheduled(
    4,
    9,
    ['a', 'g', 'x'],
    ['b', 'g', 'x'],
    ['c', 'g', 'y'],
    ['d', 'g', 'z'],
    ['e', 'g', 'x'],
  );
  t.is(names(), 'acdb');
});

test('a task that does not fit keeps its turn', (t) => {
  const { scheduler, names } = scheduled(4, 9, ['a', 'g', 'x'], ['b', 'g', 'y'], ['c', 'g', 'z']);
  t.is(
    scheduler.next(({ host }) => host === 'y'),
    undefined,
  );
  t.is(scheduler.running, 0);
  t.is(scheduler.next(({ host }) => host === 'x')?.name, 'a');
  t.is(names(), 'bc');
});

test('with more hosts than slots a freed slot goes to the same host while it has tasks', (t) => {
  const { scheduler, all, names } = scheduled(1, 9, ['a', 'g', 'x'], ['b', 'g', 'y'], ['c', 'g', 'x'], ['d', 'g', 'x']);
  let order = names();
  for (let task = all[0]; task !== undefined; task = all.find(({ name }) => name === order.at(-1))) {
    scheduler.release(task);
    const name = names();
    if (name === '') break;
    order += name;
  }
  t.is(order, 'acdb');
});

test('with a slot for every host the hosts take turns, so that none needs a second connection', (t) => {
  const tasks = Array.from({ length: 9 }, (_, i): [string, string, string] => [
    String(i),
    'g',
    'xyz'[Math.floor(i / 3)]!,
  ]);
  const { scheduler, all, names } = scheduled(3, 9, ...tasks);
  let order = names();
  for (const host of 'yxzyxz') {
    scheduler.release(all.findLast((task) => task.host === host && order.includes(task.name) && task.lane !== null)!);
    order += names();
  }
  t.is(order, '036147258');
});

test('on a busy thread the tasks of a host wait for its open connections', (t) => {
  const { scheduler, all, names } = scheduled(9, 9, ['a', 'g', 'x']);
  scheduler.sweep(true);
  t.is(names(), 'a');
  const added = Array.from('bcdy', (name) => new Named(name, 'g', name === 'y' ? 'y' : 'x'));
  for (const task of added) scheduler.add(task);
  t.is(names(), 'y', 'a host without a connection gets one');
  scheduler.release(all[0]!);
  t.is(names(), 'b');
  scheduler.sweep(true);
  t.is(names(), '', 'a task of it ended since the last look');
  scheduler.sweep(true);
  t.is(names(), 'c', 'none did');
  scheduler.release(added[0]!);
  scheduler.release(added[1]!);
  scheduler.sweep(true);
  t.is(names(), 'd', 'there is no more');
});

test('on a busy thread a host that had no tasks begins with one connection again', (t) => {
  const { scheduler, all, names } = scheduled(9, 2, ['a', 'g', 'x'], ['b', 'g', 'x']);
  t.is(names(), 'ab');
  scheduler.sweep(true);
  for (const task of all) scheduler.release(task);
  for (const name of 'cd') scheduler.add(new Named(name, 'g', 'x'));
  t.is(names(), 'c');
});

test('a thread that is no longer busy opens all connections that the limits allow', (t) => {
  const { scheduler, all, names } = scheduled(9, 3, ['a', 'g', 'x'], ['b', 'g', 'x'], ['c', 'g', 'x'], ['d', 'g', 'x']);
  scheduler.sweep(true);
  t.is(names(), 'a');
  scheduler.sweep(false);
  t.is(names(), 'bc');
  scheduler.sweep(true);
  scheduler.release(all[0]!);
  t.is(names(), 'd', 'it has three connections now');
});

test('a busy thread does not delay a group with few slots', (t) => {
  const many = Array.from('abcd', (name): [string, string, string] => [name, 'g', name === 'd' ? 'x' : name]);
  const { scheduler, names } = scheduled(12, 9, ...many, ['e', 'g', 'x']);
  scheduler.sweep(true);
  t.is(names(), 'abcd');
  for (const name of '1234') scheduler.add(new Named(name, 'h', 'y'));
  t.is(names(), '123', 'up to half of its part');
});

test('the group with the fewest running tasks comes next', (t) => {
  const { scheduler, names } = scheduled(6, 9, ['a', 'g', 'x'], ['b', 'g', 'x'], ['c', 'g', 'x'], ['d', 'g', 'x']);
  t.is(names(), 'abcd');
  scheduler.add(new Named('e', 'g', 'x'));
  scheduler.add(new Named('f', 'h', 'x'));
  scheduler.add(new Named('g', 'h', 'x'));
  t.is(names(), 'fg');
});

test('groups that wait for one host take turns', (t) => {
  const { scheduler, all, names } = scheduled(9, 1, ['a', 'g', 'x'], ['b', 'g', 'x'], ['c', 'h', 'x'], ['d', 'h', 'x']);
  let order = names();
  while (order.length < 4) {
    scheduler.release(all.find(({ name }) => name === order.at(-1))!);
    order += names();
  }
  t.is(order, 'acbd');
});

/** Returns the order in which the tasks start when they end in the same order. */
function orderOf(slots: number, per_host: number, tasks: readonly Named[]): Named[] {
  const scheduler = new Scheduler<Named>(slots, () => per_host);
  for (const task of tasks) scheduler.add(task);
  const order: Named[] = [];
  for (let ended = 0; ended < tasks.length; ended++) {
    for (let task = scheduler.next(); task !== undefined; task = scheduler.next()) order.push(task);
    scheduler.release(order[ended]!);
  }
  return order;
}

const tasksOf = (owner: string, groups: number, each: number, host = (i: number) => `h${i}`) =>
  Array.from({ length: groups * each }, (_, i) => new Named(owner, `${owner}${i % groups}`, host(i), owner));

test('owners share the slots equally, however many groups each has', (t) => {
  const order = orderOf(8, 9, [...tasksOf('many', 100, 20), ...tasksOf('one', 1, 200)]);
  const first = order.slice(0, 400);
  t.is(first.filter(({ owner }) => owner === 'one').length, 200);
});

test('the groups of an owner take turns', (t) => {
  const order = orderOf(4, 9, tasksOf('o', 50, 10));
  for (let from = 0; from < order.length; from += 50) {
    const groups = new Set(order.slice(from, from + 50).map(({ group }) => group));
    t.is(groups.size, 50);
  }
});

test('owners that wait for one host take turns, however many groups each has', (t) => {
  const host = () => 'x';
  const order = orderOf(8, 1, [...tasksOf('many', 100, 1, host), ...tasksOf('one', 1, 10, host)]);
  const last = order.findLastIndex(({ owner }) => owner === 'one');
  t.true(last <= 21, `the last of ten was number ${last}`);
});

test('the cost of a decision does not grow with the number of owners and groups', (t) => {
  const cost = (owners: number, groups: number): number => {
    const tasks = Array.from({ length: 60_000 }, (_, i) => {
      const owner = `o${i % owners}`;
      return new Named('t', `${owner}-${Math.floor(i / owners) % groups}`, `h${i % 40}`, owner);
    });
    return leastCpuMs(() => orderOf(64, 2, tasks));
  };
  const few = cost(2, 2);
  for (const [owners, groups] of [
    [20_000, 1],
    [1, 20_000],
    [200, 100],
  ] as const) {
    const many = cost(owners, groups);
    // Every owner and group is created and forgotten, and processor caches are small.
    t.true(many < 12 * few + 50, `${owners} owners of ${groups} groups: ${many} ms instead of ${few}`);
  }
});

test('a task that continues comes before the other tasks of its host', (t) => {
  const { scheduler, all, names } = scheduled(1, 1, ['a', 'g', 'x'], ['b', 'g', 'x']);
  names();
  scheduler.release(all[0]!);
  scheduler.add(all[0]!, true);
  t.is(names(), 'a');
});

test('another group gets a free host when the task that waits for it is removed', (t) => {
  const { scheduler, all, names } = scheduled(9, 1, ['a', 'g', 'x'], ['b', 'h', 'x'], ['c', 'i', 'x']);
  t.is(names(), 'a');
  scheduler.release(all[0]!);
  scheduler.remove(all[1]!);
  t.is(names(), 'c');
});

// For any order of adding, starting, ending and removing, the limits hold, and no task is lost or waits needlessly.
test('in any sequence of calls the limits hold, and no startable task waits', (t) => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('add'), owner: fc.nat(2), group: fc.nat(3), host: fc.nat(4), first: fc.boolean() }),
    fc.record({ kind: fc.constantFrom('start', 'end', 'remove'), at: fc.nat(50) }),
    fc.record({ limited: fc.nat(4), to: fc.nat(3) }),
    fc.record({ is_busy: fc.boolean() }),
  );
  const property = fc.property(
    fc.integer({ min: 1, max: 5 }),
    fc.integer({ min: 1, max: 3 }),
    fc.array(step, { maxLength: 120 }),
    (concurrency, per_host, steps) => {
      const limits = new Map<string, number>();
      const limitOf = (host: string): number => limits.get(host) ?? per_host;
      const scheduler = new Scheduler<Named>(concurrency, limitOf);
      const queued = new Set<Named>();
      const running = new Set<Named>();
      const runningOn = (host: string): number => [...running].filter((task) => task.host === host).length;
      const start = (): boolean => {
        const task = scheduler.next();
        if (task === undefined) return false;
        if (runningOn(task.host) >= limitOf(task.host)) throw new Error('host over its limit');
        if (!queued.delete(task)) throw new Error('started twice, or after its removal');
        running.add(task);
        return true;
      };
      const end = (task: Named): void => {
        running.delete(task);
        scheduler.release(task);
      };
      for (const each of steps) {
        if ('group' in each) {
          const task = new Named('t', `g${each.group}`, `h${each.host}`, `o${each.owner}`);
          scheduler.add(task, each.first);
          queued.add(task);
        } else if ('limited' in each) {
          limits.set(`h${each.limited}`, each.to);
          scheduler.limitChanged(`h${each.limited}`);
        } else if ('is_busy' in each) {
          scheduler.sweep(each.is_busy);
        } else if (each.kind === 'start') {
          start();
        } else {
          const from = each.kind === 'end' ? running : queued;
          const task = [...from][each.at % Math.max(1, from.size)];
          if (task === undefined) continue;
          if (each.kind === 'end') end(task);
          else {
            scheduler.remove(task);
            queued.delete(task);
          }
        }
        const hosts = new Set([...queued, ...running].map(({ host }) => host));
        let startable = 0;
        for (const host of hosts) {
          const room = Math.max(0, limitOf(host) - runningOn(host));
          startable += Math.min([...queued].filter((task) => task.host === host).length, room);
        }
        if (running.size > concurrency || scheduler.running !== running.size) throw new Error('slots');
        if (scheduler.queued !== queued.size || scheduler.startable !== startable) throw new Error('counts');
      }
      for (const host of limits.keys()) {
        limits.set(host, per_host);
        scheduler.limitChanged(host);
      }
      // A busy thread delays tasks of hosts with connections only until its next looks, and other hosts not at all.
      while (start());
      for (let looks = 0; looks < 2 && running.size < concurrency; looks++) scheduler.sweep(true);
      while (start());
      if (queued.size > 0 && running.size === 0) throw new Error('nothing runs');
      while (running.size > 0) {
        end([...running][0]!);
        while (start());
      }
      if (queued.size > 0) throw new Error(`${queued.size} tasks never started`);
      scheduler.sweep(false);
      if ([...scheduler.hosts].length > 0) throw new Error('a host was kept');
    },
  );
  t.notThrows(() => fc.assert(property, { numRuns: 500 }));
});
