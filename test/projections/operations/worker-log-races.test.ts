// The worker log beside what goes wrong: readers that began earlier, and followers that are killed or that run at once.
import test from 'ava';
import { openWorkerLogCommands } from '../../../commands/worker-log.ts';
import { openWorkerLog, workerLogLimits } from '../../../readmodels/operations/worker-log.ts';
import { openReadModels } from '../../../readmodels/read-models.ts';
import { FOUND, until } from '../../support/behind.ts';
import { stoppedAt } from '../../support/stopped-documents.ts';
import { commandContext } from '../../support/stores.ts';
import {
  A,
  append,
  assertSame,
  B,
  C,
  check,
  follow,
  GONE,
  openOver,
  openWorld,
  SETTINGS,
  START_MS,
  startFollower,
  urlsOf,
} from '../../support/worker-log-world.ts';

test('a list is without what was deleted before it, also beside a reading that began earlier', async (t) => {
  const world = await openWorld(t);
  await check(world, { job_id: 'a', urls: urlsOf(10, 2) });
  await follow(world.stores);
  const readmodels = openReadModels(world.stores.documents, { follower: 'worker_log' });
  const [arrived, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let is_held = false;
  const held: typeof readmodels = {
    ...readmodels,
    position: () => readmodels.position(),
    get flips() {
      return readmodels.flips;
    },
    collection(spec) {
      const collection = readmodels.collection(spec);
      return {
        ...collection,
        async get(id) {
          const found = await collection.get(id);
          if (is_held) {
            is_held = false;
            arrived.resolve();
            await released.promise;
          }
          return found;
        },
      };
    },
  };
  const worker_log = openWorkerLog(held, workerLogLimits(SETTINGS), () => START_MS);
  await worker_log.refresh();
  is_held = true;
  const earlier = worker_log.refresh();
  await arrived.promise;
  await openWorkerLogCommands(world.stores.log).delete({ type: 'LogsTruncated', data: {} }, commandContext());
  await follow(world.stores);
  const listing = worker_log.list({}, { limit: 10, offset: 0 });
  released.resolve();
  await earlier;
  t.is((await listing).total, 0);
});

test('searches at the same time have turns of their own, so that the event loop is held no longer than by one', async (t) => {
  const world = await openWorld(t);
  await check(world, { job_id: A, urls: urlsOf(10, 2) });
  await follow(world.stores);
  const worker_log = openOver(world.stores);
  await worker_log.refresh();
  let [turn, is_over] = [0, false];
  const count = () => {
    turn++;
    if (!is_over) setImmediate(count);
  };
  setImmediate(count);
  const turns = await Promise.all(
    Array.from({ length: 6 }, async (_, n) => {
      if (n < 2) await worker_log.list({ domain: `host-${n}.example` }, { limit: 10, offset: 0 });
      else if (n < 4) await worker_log.stats(START_MS, START_MS);
      else await worker_log.find({ job_id: A, index: n, attempt: 1 });
      return turn;
    }),
  );
  is_over = true;
  t.is(new Set(turns).size, turns.length, `turns ${turns}`);
});

test('a follower that is killed before or after any transaction, and one that continues beside it, make each entry once', async (t) => {
  for (let place = 0; ; place++) {
    const world = await openWorld(t);
    const { stores } = world;
    await check(world, { job_id: A, urls: urlsOf(2300, 3), outcomeOf: () => FOUND });
    await openWorkerLogCommands(stores.log).delete(
      { type: 'LogsDeleted', data: { domain: 'host-1.example' } },
      commandContext(),
    );
    await append(world, GONE, 'JobDeleted', 'no_stream');
    await check(world, { job_id: B, urls: urlsOf(100, 3), outcomeOf: () => FOUND });
    const expected = world.expected.filter(({ job_id, domain }) => job_id === B || domain !== 'host-1.example');
    const sleeping = stoppedAt(stores.documents, place);
    const stop = new AbortController();
    const sleeper = startFollower({ log: stores.log, documents: sleeping.documents }, stop.signal);
    const all_read = openReadModels(stores.documents, { follower: 'worker_log' });
    const end = await stores.log.head();
    const reached = await Promise.race([
      sleeping.stopped.then(() => true),
      until(() => all_read.passed(end, 20)).then(() => false),
    ]);
    // The other one works while the first one sleeps; then the first one wakes and goes on, or is killed where it slept.
    await follow(stores);
    if (place % 2 === 0) stop.abort();
    sleeping.goOn();
    await check(world, { job_id: C, urls: urlsOf(10, 3), outcomeOf: () => FOUND });
    await follow(stores);
    stop.abort();
    await sleeper;
    await assertSame(t, openOver(stores), [...expected, ...world.expected.slice(-10)], {});
    if (!reached) return void t.true(place > 6, `${place} places`);
  }
});
