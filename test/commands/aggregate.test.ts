// How commands run: writers of one stream in one process take turns, in several the expected revision decides.
import test from 'ava';
import { openAggregate } from '../../commands/aggregate.ts';
import type { EventStore } from '../../events/event-store.ts';
import { commandContext, openTestStores } from '../support/stores.ts';

type Counted = { type: 'Counted'; data: { n: number } };
const fold = { initial: () => ({ n: 0 }), evolve: (_: { n: number }, event: Counted) => ({ n: event.data.n }) };
const count = (state: Readonly<{ n: number }>) => ({
  events: [{ type: 'Counted' as const, data: { n: state.n + 1 } }],
});

test('concurrent commands, in one process and in two, each see the events before them', async (t) => {
  const { log } = await openTestStores(t);
  const [here, there] = [openAggregate(log, fold), openAggregate(log, fold)];
  await Promise.all(
    Array.from({ length: 40 }, (_, i) => (i % 2 ? here : there).handle('count-1', commandContext(), count)),
  );
  t.is((await here.read('count-1')).state.n, 40);
});

test('a decision without events appends nothing and names the last position', async (t) => {
  const { log } = await openTestStores(t);
  const aggregate = openAggregate(log, fold);
  const first = await aggregate.handle('count-1', commandContext(), count);
  const again = await aggregate.handle('count-1', commandContext(), () => ({ events: [] }));
  t.true(first.ok && again.ok && again.appended === 0 && again.position === first.position);
});

test('a refusal appends nothing', async (t) => {
  const { log } = await openTestStores(t);
  const aggregate = openAggregate(log, fold);
  const refused = { code: 'no', message: 'No.' };
  t.deepEqual(await aggregate.handle('count-1', commandContext(), () => ({ refused })), { ok: false, refused });
  t.is(await log.head(), '');
});

test('a command reads nothing when no other process has written', async (t) => {
  const { log } = await openTestStores(t);
  const { reads, counted } = countingReads(log);
  const aggregate = openAggregate(counted, fold, { monotonic: () => 0 });
  await aggregate.handle('count-1', commandContext(), count, { assume_empty: true });
  const second = await aggregate.handle('count-1', commandContext(), count);
  t.true(second.ok && second.state.n === 2);
  t.is(reads(), 0);
});

test('a state is read again only where another process has written since', async (t) => {
  const { log } = await openTestStores(t);
  const { reads, counted } = countingReads(log);
  const [here, there] = [openAggregate(counted, fold), openAggregate(log, fold)];
  for (const stream of ['count-1', 'count-2']) {
    await here.read(stream);
    const before = reads();
    await here.read(stream);
    t.is(reads(), before);
    await there.handle(stream, commandContext(), count);
    t.is((await here.read(stream)).state.n, 1);
    t.is(reads(), before + 1);
    await here.read(stream);
    t.is(reads(), before + 1);
  }
});

test('an aggregate decides a command again that it decided on an old state', async (t) => {
  const { log } = await openTestStores(t);
  const [here, there] = [openAggregate(log, fold), openAggregate(log, fold)];
  await here.handle('count-1', commandContext(), count);
  await there.handle('count-1', commandContext(), count);
  const refused = { code: 'no', message: 'No.' };
  const onlyAt = (n: number) => (state: { n: number }) => (state.n === n ? count(state) : { refused });
  t.like(await here.handle('count-1', commandContext(), onlyAt(2)), { ok: true, appended: 1 });
  t.like(await there.handle('count-1', commandContext(), onlyAt(2)), { ok: false, refused });
  t.like(await there.handle('count-1', commandContext(), ({ n }) => (n === 3 ? { events: [] } : count({ n }))), {
    ok: true,
    appended: 0,
  });
  const elsewhere = openAggregate(log, fold);
  t.like(await elsewhere.handle('count-1', commandContext(), onlyAt(0), { assume_empty: true }), { ok: false });
  const defect = ({ n }: { n: number }) => (n === 3 ? count({ n }) : Promise.reject(new Error('a defect')));
  t.like(await openAggregate(log, fold).handle('count-1', commandContext(), defect, { assume_empty: true }), {
    ok: true,
    state: { n: 4 },
  });
});

test('a command decided on an assumed state reads nothing, and keeps no state that may lack fields', async (t) => {
  const { log } = await openTestStores(t);
  for (let n = 0; n < 3; n++) await openAggregate(log, fold).handle('count-1', commandContext(), count);
  const { reads, counted } = countingReads(log);
  const aggregate = openAggregate(counted, fold);
  const assumed = { state: { n: 3 }, revision: 2 };
  t.like(await aggregate.handle('count-1', commandContext(), count, { assumed }), { ok: true, appended: 1 });
  t.is(reads(), 0);
  t.deepEqual([(await aggregate.read('count-1')).state, reads()], [{ n: 4 }, 1]);
});

test('a command decided on an assumed state that is out of date is decided on that of the log', async (t) => {
  const { log } = await openTestStores(t);
  for (let n = 0; n < 3; n++) await openAggregate(log, fold).handle('count-1', commandContext(), count);
  const refused = { code: 'no', message: 'No.' };
  const onlyAt = (n: number) => (state: { n: number }) => (state.n === n ? count(state) : { refused });
  const run = (decide: ReturnType<typeof onlyAt>, n: number) =>
    openAggregate(log, fold).handle('count-1', commandContext(), decide, {
      assumed: { state: { n }, revision: n - 1 },
    });
  t.like(await run(onlyAt(2), 2), { ok: false, refused }, 'an older state, on which it would be allowed');
  t.like(await run(onlyAt(3), 2), { ok: true, appended: 1, state: { n: 4 } }, 'an older state, on which it is refused');
  t.like(await run(onlyAt(9), 9), { ok: false, refused }, 'a state that the log never had');
});

test('peek reads the cached state without the log', async (t) => {
  const { log } = await openTestStores(t);
  const { reads, counted } = countingReads(log);
  await openAggregate(log, fold).handle('count-1', commandContext(), count);
  const aggregate = openAggregate(counted, fold);
  t.deepEqual([await aggregate.peek('count-1'), reads()], [{ n: 1 }, 1]);
  await openAggregate(log, fold).handle('count-1', commandContext(), count);
  t.deepEqual([await aggregate.peek('count-1'), reads()], [{ n: 1 }, 1]);
  t.deepEqual((await aggregate.read('count-1')).state, { n: 2 });
});

test('a state that grew counts with its new size in the cache', async (t) => {
  const { log } = await openTestStores(t);
  const { reads, counted } = countingReads(log);
  const growing = {
    initial: () => [] as number[],
    evolve: (state: number[], { data }: Counted) => Object.assign(state, { [state.length]: data.n }),
  };
  const sizes = { size: { most: 10, of: (state: number[]) => 1 + state.length } };
  const aggregate = openAggregate(counted, growing, sizes);
  const grow = () => ({ events: [{ type: 'Counted' as const, data: { n: 1 } }] });
  for (const stream of ['count-1', 'count-2']) {
    for (let n = 0; n < 7; n++) await aggregate.handle(stream, commandContext(), grow, { assume_empty: true });
  }
  t.is(reads(), 0);
  t.is((await aggregate.peek('count-2')).length, 7);
  t.is(reads(), 0);
  t.is((await aggregate.peek('count-1')).length, 7);
  t.is(reads(), 1);
});

test('concurrent reads of a stream that wait for one another are one, and see what was appended before them', async (t) => {
  const { log } = await openTestStores(t);
  const { reads, counted } = countingReads(log);
  const [here, there] = [openAggregate(counted, fold), openAggregate(log, fold)];
  await here.handle('count-1', commandContext(), count, { assume_empty: true });
  const first = here.read('count-1');
  await there.handle('count-1', commandContext(), count);
  const others = Array.from({ length: 50 }, () => here.read('count-1'));
  for (const { state } of await Promise.all(others)) t.is(state.n, 2);
  await first;
  t.true(reads() <= 2);
  await there.handle('count-1', commandContext(), count);
  t.is((await here.read('count-1')).state.n, 3);
});

/** A log that an operator replaces under a running process by another one. */
function replaceable(before: EventStore): { log: EventStore; become(after: EventStore): void } {
  let current = before;
  const log: EventStore = {
    ...before,
    append: (...args) => current.append(...args),
    readStream: (...args) => current.readStream(...args),
    lastId: (stream) => current.lastId!(stream),
  };
  return { log, become: (after) => (current = after) };
}

test('no command uses a cached state whose events a restored backup lacks', async (t) => {
  const [{ log: before }, { log: backup }] = [await openTestStores(t), await openTestStores(t)];
  const { log: replaced, become } = replaceable(before);
  const done = ({ n }: { n: number }) => (n === 3 ? { events: [] } : count({ n }));
  const writer = openAggregate(backup, fold);
  const [shorter, longer] = [openAggregate(replaced, fold), openAggregate(replaced, fold)];
  for (let n = 0; n < 3; n++) await shorter.handle('count-1', commandContext(), done);
  t.is((await longer.peek('count-1')).n, 3);
  become(backup);
  await writer.handle('count-1', commandContext(), count);
  t.like(await shorter.handle('count-1', commandContext(), done), { ok: true, appended: 1, state: { n: 2 } });
  for (let n = 0; n < 4; n++) await writer.handle('count-1', commandContext(), count);
  t.is((await longer.read('count-1')).state.n, 6);
});

test('no command appends to a restored backup that has grown to the revision of a cached state', async (t) => {
  const [{ log: before }, { log: backup }] = [await openTestStores(t), await openTestStores(t)];
  const { log: replaced, become } = replaceable(before);
  let now = 0;
  const aggregate = openAggregate(replaced, fold, { monotonic: () => now });
  await aggregate.handle('count-1', commandContext(), () => count({ n: 0 }));
  const writer = openAggregate(backup, fold);
  await writer.handle('count-1', commandContext(), () => count({ n: 9 }));
  become(backup);
  // The restoration takes longer than a state is trusted.
  now += 5_000;
  const decided: number[] = [];
  await aggregate.handle('count-1', commandContext(), ({ n }) => {
    decided.push(n);
    return count({ n });
  });
  t.deepEqual(decided, [(await writer.read('count-1')).state.n - 1], 'the decision saw the state of the restored log');
});

function countingReads(log: EventStore): { reads: () => number; counted: EventStore } {
  let reads = 0;
  const readStream: EventStore['readStream'] = (...args) => {
    reads++;
    return log.readStream(...args);
  };
  const lastId: EventStore['lastId'] = (stream) => log.lastId!(stream);
  return { reads: () => reads, counted: { ...log, append: (...args) => log.append(...args), readStream, lastId } };
}

/** The log, which appends as it should, but the answer to the first append never comes. */
function losingOneAnswer(log: EventStore): EventStore {
  let is_lost = false;
  return {
    ...log,
    readStream: (...args) => log.readStream(...args),
    async append(...args) {
      const result = await log.append(...args);
      if (is_lost) return result;
      is_lost = true;
      throw Object.assign(new Error('no answer'), { code: 'unavailable' });
    },
  };
}

test('after an append without an answer, the next command reads the log again', async (t) => {
  const { log } = await openTestStores(t);
  const aggregate = openAggregate(losingOneAnswer(log), fold);
  await t.throwsAsync(aggregate.handle('count-1', commandContext(), count), { message: 'no answer' });
  await aggregate.handle('count-1', commandContext(), count);
  t.is((await aggregate.read('count-1')).state.n, 2);
});

test('an aggregate decides waiting commands in order and appends them together', async (t) => {
  const { log } = await openTestStores(t);
  const appends: number[] = [];
  const counted: EventStore = {
    ...log,
    readStream: (...args) => log.readStream(...args),
    append(stream, expected, events) {
      appends.push(events.length);
      return log.append(stream, expected, events);
    },
  };
  const aggregate = openAggregate(counted, fold, { max_per_append: 8 });
  const refused = { code: 'no', message: 'No.' };
  const defect = new Error('a defect of one command');
  const outcomes = await Promise.allSettled([
    aggregate.handle('count-1', commandContext(), count),
    aggregate.handle('count-1', commandContext(), () => ({ refused })),
    aggregate.handle('count-1', commandContext(), () => Promise.reject(defect)),
    aggregate.handle('count-1', commandContext(), count),
    aggregate.handle('count-1', commandContext(), ({ n }) => (n === 2 ? { events: [] } : count({ n: 100 }))),
  ]);
  t.deepEqual(
    outcomes.map((one) => (one.status === 'rejected' ? one.reason : one.value.ok ? one.value.appended : 'refused')),
    [1, 'refused', defect, 1, 0],
  );
  t.deepEqual(appends, [2]);
  t.is((await openAggregate(log, fold).read('count-1')).state.n, 2);
});

test('two processes that append together lose nothing and count nothing twice', async (t) => {
  const { log } = await openTestStores(t);
  const [here, there] = [1, 2].map(() => openAggregate(log, fold, { max_per_append: 8 }));
  await Promise.all(
    Array.from({ length: 60 }, (_, i) => (i % 2 ? here! : there!).handle('count-1', commandContext(), count)),
  );
  const numbers = (await Array.fromAsync(log.readStream('count-1'))).map(({ data }) => (data as Counted['data']).n);
  t.deepEqual(
    numbers,
    Array.from({ length: 60 }, (_, n) => n + 1),
  );
  t.is((await here!.read('count-1')).state.n, 60);
});

test('when the answer to an append of several commands never comes, each command fails and the next reads the log again', async (t) => {
  const { log } = await openTestStores(t);
  const aggregate = openAggregate(losingOneAnswer(log), fold, { max_per_append: 8 });
  const told = await Promise.allSettled([1, 2, 3].map(() => aggregate.handle('count-1', commandContext(), count)));
  t.deepEqual(
    told.map(({ status }) => status),
    ['rejected', 'rejected', 'rejected'],
  );
  await aggregate.handle('count-1', commandContext(), count);
  t.is((await aggregate.read('count-1')).state.n, 4);
});

test('an aggregate appends commands one by one that are too large together', async (t) => {
  const { log } = await openTestStores(t);
  const aggregate = openAggregate(log, fold, { max_per_append: 8 });
  const large = ({ n }: { n: number }) => ({
    events: [{ type: 'Counted' as const, data: { n: n + 1, text: 'x'.repeat(600_000) } }],
  });
  const handled = await Promise.all([1, 2, 3].map(() => aggregate.handle('count-1', commandContext(), large)));
  t.true(handled.every(({ ok }) => ok));
  t.is((await openAggregate(log, fold).read('count-1')).state.n, 3);
});
