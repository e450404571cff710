import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import { whileHeld } from '../../roles/holding.ts';
import { hasEnded, type LeaseStore, openLeases, type ProcessIdentity, thisProcess } from '../../roles/leases.ts';
import { until } from '../support/behind.ts';
import { openTestStores } from '../support/stores.ts';

const TTL_MS = 10_000;

test('a holder that renews its lease keeps it', async (t) => {
  const { documents } = await openTestStores(t);
  let ms = 0;
  const monotonic = () => ms;
  const [one, other] = [
    await openLeases(documents, { process: null, monotonic }),
    await openLeases(documents, { process: null, monotonic }),
  ];
  t.true(await one.hold('work', TTL_MS));
  for (let renewal = 0; renewal < 5; renewal++) {
    t.false(await other.hold('work', TTL_MS));
    ms += TTL_MS - 1;
    t.true(await one.hold('work', TTL_MS));
  }
  await one.release('work');
  t.true(await other.hold('work', TTL_MS));
});

test('a standby takes over when the lease has not changed for its time', async (t) => {
  const { documents } = await openTestStores(t);
  let ms = 5_000_000;
  const gone = await openLeases(documents, { process: null });
  const other = await openLeases(documents, { process: null, monotonic: () => ms });
  await gone.hold('work', TTL_MS);
  t.false(await other.hold('work', TTL_MS), 'the first look starts the watch');
  ms += TTL_MS - 1;
  t.false(await other.hold('work', TTL_MS));
  ms += 1;
  t.true(await other.hold('work', TTL_MS));
  t.false(await gone.hold('work', TTL_MS), 'who comes back finds it taken');
});

test.serial('a step of the wall clock, forwards or back, moves no lease', async (t) => {
  const { documents } = await openTestStores(t);
  const [one, other] = [await openLeases(documents, { process: null }), await openLeases(documents, { process: null })];
  const real = Date.now;
  t.teardown(() => (Date.now = real));
  t.true(await one.hold('work', TTL_MS));
  for (const step_ms of [30 * 60_000, -60 * 60_000, 0]) {
    Date.now = () => real() + step_ms;
    t.false(await other.hold('work', TTL_MS), `${step_ms}`);
    t.true(await one.hold('work', TTL_MS), `${step_ms}`);
  }
});

test('a holder of this machine that was killed frees its lease at once', async (t) => {
  const { documents } = await openTestStores(t);
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
  await once(child, 'spawn');
  const holder = { ...thisProcess()!, pid: child.pid!, began: await beganAt(child.pid!) };
  const killed = await openLeases(documents, { process: holder });
  const successor = await openLeases(documents);
  t.true(await killed.hold('work', TTL_MS));
  t.false(await successor.hold('work', TTL_MS));
  child.kill('SIGKILL');
  await once(child, 'exit');
  t.true(await successor.hold('work', TTL_MS));
});

test('it is not certain that a process of another boot, container or machine has ended', (t) => {
  const me = thisProcess()!;
  const no_such_pid = 2 ** 22 + 1;
  t.false(hasEnded(me));
  t.true(hasEnded({ ...me, pid: no_such_pid }));
  t.true(hasEnded({ ...me, began: '1' }), 'the number is used again');
  for (const other of [{ boot: 'another' }, { pid_namespace: 'pid:[1]' }] satisfies Partial<ProcessIdentity>[]) {
    t.false(hasEnded({ ...me, pid: no_such_pid, ...other }));
  }
});

test('two holders in one process of one machine exclude each other', async (t) => {
  const { documents } = await openTestStores(t);
  const [one, other] = [await openLeases(documents), await openLeases(documents)];
  t.true(await one.hold('work', TTL_MS));
  t.false(await other.hold('work', TTL_MS));
});

test('who takes a lease over first ends the transactions of its last holder, and not those of one that lives', async (t) => {
  const { documents } = await openTestStores(t);
  const ended: string[] = [];
  let ms = 0;
  const open = (client: string) => {
    const own: LeaseStore = {
      client,
      collection: (spec) => documents.collection(spec),
      transaction: (fn) => documents.transaction(fn),
      endTransactionsOf: async (of) => void ended.push(`${client} ends ${of}`),
    };
    return openLeases(own, { process: null, monotonic: () => ms });
  };
  const [one, other] = [await open('one'), await open('other')];
  for (let renewal = 0; renewal < 2; renewal++) {
    t.true(await one.hold('work', TTL_MS));
    t.false(await other.hold('work', TTL_MS));
  }
  t.deepEqual(ended, []);
  ms += TTL_MS;
  t.true(await other.hold('work', TTL_MS));
  t.deepEqual(ended, ['other ends one']);
});

test('while the store is away the role waits without a limit, and works when the store is back', async (t) => {
  const { documents } = await openTestStores(t);
  const real = await openLeases(documents);
  let is_away = true;
  let runs = 0;
  const stop = new AbortController();
  const said: string[] = [];
  const leases = {
    ...real,
    hold: async (name: string, ttl_ms: number) => (is_away ? away() : real.hold(name, ttl_ms)),
  };
  const running = whileHeld(
    leases,
    'work',
    stop.signal,
    async (signal) => {
      runs += 1;
      if (!signal.aborted) await once(signal, 'abort');
    },
    { ttl_ms: 60, say: (state) => said.push(state) },
  );
  await until(() => said.length > 0);
  t.deepEqual([runs, said[0]], [0, 'waiting']);
  is_away = false;
  // A machine with much else to do may lose such a short lease, and take it again, at any time.
  await until(() => runs >= 1);
  // The lease cannot be renewed: the holder stops by its own clock.
  is_away = true;
  await until(() => said.at(-1) === 'waiting');
  const before = runs;
  is_away = false;
  await until(() => runs > before);
  stop.abort();
  await running;
});

test('a renewal is one transaction, with no look before it', async (t) => {
  const { documents } = await openTestStores(t);
  let reads = 0;
  const store: LeaseStore = {
    client: documents.client,
    async collection(spec) {
      const found = await documents.collection(spec);
      const counting = { get: (id: string) => found.get(id).finally(() => reads++) };
      return Object.assign(Object.create(found), counting);
    },
    transaction: (fn) => documents.transaction(fn),
    endTransactionsOf: async () => {},
  };
  const leases = await openLeases(store);
  for (let renewal = 0; renewal < 5; renewal++) t.true(await leases.hold('work', TTL_MS));
  t.is(reads, 1);
  await leases.release('work');
  t.true(await leases.hold('work', TTL_MS));
  t.is(reads, 2);
});

test.serial('a store that takes a third of the lease for each renewal loses no lease', async (t) => {
  const ttl_ms = 60;
  let ms = 0;
  const asked: { until: number; answer: () => void }[] = [];
  const leases = {
    hold: () => new Promise<boolean>((resolve) => asked.push({ until: ms + 23, answer: () => resolve(true) })),
    release: async () => {},
  };
  let runs = 0;
  const stop = new AbortController();
  const run = async (signal: AbortSignal) => {
    runs += 1;
    await once(signal, 'abort');
  };
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  const running = whileHeld(leases, 'work', stop.signal, run, { ttl_ms, monotonic: () => ms });
  for (; ms < 20 * ttl_ms; ms++) {
    for (const { until, answer } of asked) if (until === ms) answer();
    await turn();
    mock.timers.tick(1);
    await turn();
  }
  t.is(runs, 1);
  stop.abort();
  for (const { answer } of asked) answer();
  await running;
});

async function away(): Promise<never> {
  throw Object.assign(new Error('away'), { code: 'unavailable' });
}

async function beganAt(pid: number): Promise<string> {
  const { readFile } = await import('node:fs/promises');
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]!;
}
