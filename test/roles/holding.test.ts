// When a holder lets go of its lease, and who takes it: over a lease of the test's own, with a clock that the test moves.
import { once } from 'node:events';
import { mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { DependencyFault } from '../../roles/dependencies.ts';
import { unlessAnswering, type Work, whileHeld } from '../../roles/holding.ts';

const STEP_MS = 100;
const never = () => new Promise<never>(() => {});

/** Processes that want one lease. */
function openWorld(t: ExecutionContext) {
  mock.timers.enable({ apis: ['setInterval', 'setTimeout'] });
  let ms = 0;
  let lease: string | null = null;
  /** Every change of hands. */
  const holders: string[] = [];
  const stop = new AbortController();
  const running: Promise<void>[] = [];
  t.teardown(async () => {
    stop.abort();
    await pass(1_000);
    await Promise.all(running);
    mock.timers.reset();
  });
  async function pass(for_ms: number): Promise<void> {
    for (const until = ms + for_ms; ms < until; ms += STEP_MS) {
      mock.timers.tick(STEP_MS);
      for (let turns = 0; turns < 10; turns++) await turn();
    }
  }
  function start(name: string) {
    const process = {
      unable: null as string | null,
      hangs: false,
      fails: false,
      /** No pass of it ends. */
      stands: false,
      /** How long the store takes for the release. */
      release_ms: 0,
      has_let_go: false,
      state: '',
      reason: undefined as string | undefined,
    };
    const keeper = {
      async hold() {
        if (lease !== null && lease !== name) return false;
        if (lease === null) holders.push(name);
        lease = name;
        return true;
      },
      async release() {
        process.has_let_go = true;
        if (process.release_ms > 0) await new Promise((resolve) => setTimeout(resolve, process.release_ms));
        if (lease === name) lease = null;
      },
    };
    const run = async (signal: AbortSignal, work: Work) => {
      const passes = setInterval(() => {
        if (process.fails) work.failed('its pass fails');
        else if (!process.stands) work.done();
      }, STEP_MS);
      if (!signal.aborted) await once(signal, 'abort');
      clearInterval(passes);
    };
    const unable = unlessAnswering({
      'the queue': async () => {
        if (process.hangs) await never();
        if (process.unable !== null) throw new DependencyFault(process.unable);
      },
    });
    const say = (state: string, reason?: string) => void Object.assign(process, { state, reason });
    running.push(whileHeld(keeper, 'work', stop.signal, run, { unable, monotonic: () => ms, say }));
    return process;
  }
  return { pass, start, holders, holder: () => lease, stop, ended: () => Promise.all(running) };
}

for (const [fault, cut] of Object.entries({
  'is cut from a store': { unable: 'the queue does not answer' },
  'gets no answer from a store': { hangs: true },
  'fails in each pass': { fails: true },
})) {
  test.serial(`a holder that ${fault} says so within 4 s, and leaves its lease to another within 12 s`, async (t) => {
    const world = openWorld(t);
    const one = world.start('one');
    await world.pass(1_000);
    const other = world.start('other');
    await world.pass(3_000);
    t.deepEqual([one.state, other.state], ['working', 'standing_by']);
    Object.assign(one, cut);
    await world.pass(4_000);
    t.is(one.state, 'waiting');
    t.is(other.state, 'standing_by');
    await world.pass(8_000);
    t.is(other.state, 'working');
    t.not(one.state, 'working');
    await world.pass(60_000);
    t.deepEqual(world.holders, ['one', 'other']);
  });
}

test.serial('a lease that no process can work with is passed to none, and taken by the first that can', async (t) => {
  const world = openWorld(t);
  const [one, other] = [world.start('one'), world.start('other')];
  await world.pass(3_000);
  for (const each of [one, other]) each.unable = 'the event log does not answer';
  await world.pass(120_000);
  t.is(world.holder(), null);
  t.is(world.holders.length, 1);
  for (const each of [one, other]) t.deepEqual([each.state, each.reason], ['waiting', 'the event log does not answer']);
  other.unable = null;
  await world.pass(1_000);
  t.is(other.state, 'working');
  one.unable = null;
  await world.pass(60_000);
  t.is(world.holders.length, 2);
});

test.serial('a holder whose store is back in time keeps its lease, and works after its next pass', async (t) => {
  const world = openWorld(t);
  const one = world.start('one');
  world.start('other');
  await world.pass(1_000);
  one.unable = 'the queue does not answer';
  await world.pass(6_000);
  t.is(one.state, 'waiting');
  one.unable = null;
  one.fails = true;
  await world.pass(1_500);
  t.is(one.state, 'waiting', 'no work moves yet');
  one.fails = false;
  await world.pass(STEP_MS);
  t.is(one.state, 'working');
  await world.pass(30_000);
  t.deepEqual(world.holders, ['one']);
});

test.serial('who gives a lease up and is stopped meanwhile ends when the lease is given up', async (t) => {
  const world = openWorld(t);
  const one = world.start('one');
  await world.pass(1_000);
  Object.assign(one, { unable: 'the queue does not answer', release_ms: 400 });
  let has_ended = false;
  while (!one.has_let_go) await world.pass(STEP_MS);
  world.stop.abort();
  void world.ended().then(() => (has_ended = true));
  await world.pass(200);
  t.deepEqual([has_ended, world.holder()], [false, 'one']);
  await world.pass(400);
  t.deepEqual([has_ended, world.holder()], [true, null]);
});

test.serial('who takes a lease over works only when its first pass is done', async (t) => {
  const world = openWorld(t);
  const one = world.start('one');
  one.stands = true;
  await world.pass(500);
  t.is(world.holder(), 'one');
  t.deepEqual([one.state, one.reason], ['waiting', 'it takes the work over']);
  one.stands = false;
  await world.pass(500);
  t.is(one.state, 'working');
});

test.serial('a process alone keeps trying while its passes fail', async (t) => {
  const world = openWorld(t);
  const one = world.start('one');
  await world.pass(1_000);
  one.fails = true;
  await world.pass(60_000);
  one.fails = false;
  await world.pass(3_000);
  t.is(one.state, 'working');
});

test('a store that fails or says nothing is named, and a fault in its own words', async (t) => {
  const fails = (error: Error) => async () => Promise.reject(error);
  t.is(await unlessAnswering({ 'the log': async () => 'a' })(), null);
  t.is(await unlessAnswering({ 'the log': async () => 'a', 'the queue': never })(), 'the queue does not answer');
  t.is(await unlessAnswering({ 'the log': fails(new Error('secret')) })(), 'the log does not answer');
  t.is(await unlessAnswering({ 'the log': fails(new DependencyFault('it is built')) })(), 'it is built');
});
