// How much of the worker log is kept, and how it is deleted.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { openWorkerLogCommands } from '../../../commands/worker-log.ts';
import { categoryOf, checksOf } from '../../../events/streams.ts';
import { openWorkerLogFollower } from '../../../projections/all.ts';
import type { Read } from '../../../projections/projection.ts';
import { compareDocuments } from '../../../projections/projector/compare.ts';
import type { CollectionSpec, Document } from '../../../readmodels/documents.ts';
import { logJobs, logSegments, SEGMENT_ENTRIES } from '../../../readmodels/operations/log-segments.ts';
import { inGeneration } from '../../../readmodels/projection-state.ts';
import { FOUND } from '../../support/behind.ts';
import { stoppedAt } from '../../support/stopped-documents.ts';
import { commandContext, openTestStores } from '../../support/stores.ts';
import {
  A,
  append,
  assertSame,
  B,
  C,
  check,
  documentsOf,
  expire,
  follow,
  openOver,
  openWorld,
  START_MS,
  urlsOf,
  type World,
} from '../../support/worker-log-world.ts';

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

/** Compares the worker log with one that is made of what the log has now. */
async function compared(
  t: ExecutionContext,
  { stores }: World,
  settings: Parameters<typeof follow>[1],
  meanwhile = async () => {},
) {
  const anew = { log: stores.log, documents: (await openTestStores(t)).documents };
  const [live, rebuilt] = [stores, anew].map(
    ({ documents }): Read =>
      (spec) =>
        documents.reading(inGeneration(spec, 1)),
  ) as [Read, Read];
  const [projection] = openWorkerLogFollower({ worker_log_entries: 1, worker_log_days: 1 }).projections;
  return compareDocuments({
    ...{ projection: projection!, live, rebuilt, signal: new AbortController().signal },
    async readBoth(read) {
      await meanwhile();
      await Promise.all([follow(stores, settings), follow(anew, settings)]);
      return [await read(live), await read(rebuilt)];
    },
  });
}

async function purge({ stores: { log } }: World, job_id: string): Promise<void> {
  const events = await Array.fromAsync(log.readAll());
  const streams = new Set(events.map(({ stream }) => stream));
  for (const stream of streams) {
    if (categoryOf(stream) === 'checks' && checksOf(stream).job_id === job_id) await log.deleteStream(stream);
  }
}

test('the worker log compares equal with a new one of a log from which the checks of purged jobs are gone', async (t) => {
  const few = { worker_log_entries: 3000, worker_log_days: 30 };
  const world = await openWorld(t);
  const ids = Array.from({ length: 5 }, () => randomUUID());
  for (const [n, job_id] of ids.entries()) {
    await check(world, { job_id, urls: urlsOf(900 + 100 * n, 5) });
    if (n === 1)
      await openWorkerLogCommands(world.stores.log).delete(
        { type: 'LogsDeleted', data: { domain: 'host-1.example' } },
        commandContext(),
      );
    await follow(world.stores, few);
    t.like(await compared(t, world, few), { differing: 0 }, `after ${n}`);
  }
  for (const job_id of [ids[2]!, ids[4]!]) {
    await expire(world, job_id);
    await follow(world.stores, few);
    t.like(await compared(t, world, few), { differing: 0 }, 'expired');
    await purge(world, job_id);
    t.like(await compared(t, world, few), { differing: 0 }, 'purged');
    const more = randomUUID();
    ids.push(more);
    await check(world, { job_id: more, urls: urlsOf(450, 5) });
    await follow(world.stores, few);
    t.like(await compared(t, world, few), { differing: 0 }, 'more is checked');
  }

  const live = async <T extends Document>(spec: CollectionSpec<T>) =>
    world.stores.documents.collection(inGeneration(spec, 1));
  const jobs = await live(logJobs);
  const last = (await jobs.get(ids.at(-1)!))!;
  await jobs.write([{ replace: { ...last, last: last.last - 1 } }]);
  const kind = 'changed';
  t.like(await compared(t, world, few), {
    differences: [{ collection: 'worker_log_jobs', id: last._id, kind, fields: ['is_found'] }],
  });
  await jobs.write([{ replace: last }]);
  const segments = await live(logSegments);
  const newest = (await segments.find({}, { limit: 100 })).at(-1)!;
  await segments.write([{ replace: { ...newest, duration: newest.duration.replace(/^..../, 'AAAA') } }]);
  const { differences } = await compared(t, world, few);
  t.deepEqual(
    differences.map(({ fields }) => fields),
    [['digest']],
  );
  await segments.write([{ replace: { ...newest, outcome: newest.outcome.slice(0, -4), duration: 'A' } }]);
  t.true((await compared(t, world, few)).differing > 0, 'a damaged segment');
  await segments.write([{ delete: newest._id }]);
  const lost = await compared(t, world, few);
  t.deepEqual(lost.differences[0], { collection: 'worker_log_states', id: 'log', kind, fields: ['entries'] });
  t.true(lost.differing > 1);
});

test('worker logs that change while they are compared are compared as they are in the end', async (t) => {
  const settings = { worker_log_entries: 3000, worker_log_days: 30 };
  const world = await openWorld(t);
  const [grown, gone, purged, deleted, made] = Array.from({ length: 5 }, () => randomUUID()) as [string, ...string[]];
  for (const job_id of [grown, gone!, purged!, deleted!]) await check(world, { job_id, urls: urlsOf(700, 5), to: 600 });
  await append(world, purged!, 'JobDeleted', 'no_stream');
  await follow(world.stores, settings);
  const found = await compared(t, world, settings, async () => {
    await append(world, purged!, 'JobPurged', 0);
    await append(world, deleted!, 'JobDeleted', 'no_stream');
    await expire(world, gone!);
    for (const job_id of [grown, made!]) await check(world, { job_id, urls: urlsOf(700, 5), from: 600 });
  });
  t.like(found, { differing: 0, differences: [] });
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
