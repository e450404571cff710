// How much of the worker log is kept, and how it is deleted.
import test from 'ava';
import { openWorkerLogCommands } from '../../commands/worker-log.ts';
import { logSegments, SEGMENT_ENTRIES } from '../../readmodels/log-segments.ts';
import { FOUND } from '../support/behind.ts';
import { stoppedAt } from '../support/stopped-documents.ts';
import { commandContext } from '../support/stores.ts';
import {
  A,
  assertSame,
  B,
  C,
  check,
  documentsOf,
  follow,
  openOver,
  openWorld,
  START_MS,
  urlsOf,
} from '../support/worker-log-world.ts';

test('the newest entries are kept, by number and by age', async (t) => {
  const world = await openWorld(t);
  const few = { worker_log_entries: 3000, worker_log_days: 30 };
  await check(world, { job_id: A, urls: urlsOf(4000, 4), outcomeOf: () => FOUND });
  await follow(world.stores, few);
  await check(world, { job_id: B, urls: urlsOf(4000, 4), outcomeOf: () => FOUND });
  await follow(world.stores, few);
  const { segments, jobs } = await documentsOf(world.stores);
  const stored = segments.reduce((sum, { entries }) => sum + entries, 0);
  t.true(stored >= 3000 && stored < 3000 + SEGMENT_ENTRIES, `${stored} are stored`);
  t.deepEqual(
    jobs.map(({ _id }) => _id),
    [B],
    'no document is left of the jobs whose entries went',
  );
  await assertSame(t, openOver(world.stores, few), world.expected.slice(-3000), {});
  await assertSame(t, openOver(world.stores, few), world.expected.slice(-3000), { domain: 'host-1.example' });

  const old = { worker_log_entries: 1_000_000, worker_log_days: 1 };
  const DAY_MS = 86_400_000;
  const worker_log = openOver(world.stores, old, () => START_MS + DAY_MS);
  await assertSame(t, worker_log, world.expected.slice(-stored), {});
  await assertSame(
    t,
    openOver(world.stores, old, () => START_MS + DAY_MS + 1),
    [],
    {},
  );
  // Old segments go when newer entries come.
  const before = world.expected.length;
  await check(world, { job_id: C, urls: urlsOf(2500, 4), at_ms: START_MS + DAY_MS + 1, outcomeOf: () => FOUND });
  await follow(world.stores, old);
  await assertSame(
    t,
    openOver(world.stores, old, () => START_MS + DAY_MS + 1),
    world.expected.slice(before),
    {},
  );
  const [first] = (await documentsOf(world.stores)).segments;
  t.true(first!.until_ms > START_MS);
});

test('a deletion is made in slices, each in a transaction of its own', async (t) => {
  const world = await openWorld(t);
  const { stores } = world;
  // With eleven entries a URL.
  const earlier_attempts = Array.from({ length: 10 }, () => ({
    ...{ status_code: 503, error_code: null, response_time_ms: 1 },
  }));
  await check(world, {
    ...{ job_id: A, urls: urlsOf(Math.ceil((45 * SEGMENT_ENTRIES) / 11), 2) },
    outcomeOf: () => ({ ...FOUND, attempts: 11, earlier_attempts }),
  });
  await follow(stores);
  await openWorkerLogCommands(stores.log).delete(
    { type: 'LogsDeleted', data: { domain: 'host-1.example' } },
    commandContext(),
  );
  const written: number[] = [];
  const counting: typeof stores.documents = {
    ...stoppedAt(stores.documents, -1).documents,
    transaction: (fn) =>
      stores.documents.transaction(async (inside) => {
        let writes = 0;
        const result = await fn({
          async collection(spec) {
            const collection = await inside.collection(spec);
            const write: typeof collection.write = (ops) => {
              if (spec.name.startsWith(logSegments.name)) writes += ops.length;
              return collection.write(ops);
            };
            return {
              write,
              get: (id) => collection.get(id),
              getMany: (ids) => collection.getMany(ids),
              find: (filter, options) => collection.find(filter, options),
              slice: (filter, options) => collection.slice(filter, options),
              stream: (filter, options) => collection.stream(filter, options),
              count: (filter, options) => collection.count(filter, options),
            } satisfies typeof collection;
          },
        });
        if (writes > 0) written.push(writes);
        return result;
      }),
  };
  await follow({ log: stores.log, documents: counting });
  t.deepEqual(written, [20, 20, 5]);
  const kept = world.expected.filter(({ domain }) => domain !== 'host-1.example');
  await assertSame(t, openOver(stores), kept, {});
});
