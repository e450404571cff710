// The projector: it builds a new version beside the live one, continues an interrupted build, and parks events that a
// projection cannot apply. A reader never gets half of anything.
import test from 'ava';
import type { Projection } from '../../../projections/projection.ts';
import { GRACE_MS } from '../../../projections/projector/build.ts';
import { type Document, kept, type ReadModelSpec } from '../../../readmodels/documents.ts';
import { parkedEvents, projectionStates, requestRebuild } from '../../../readmodels/projection-state.ts';
import { openReadModels } from '../../../readmodels/read-models.ts';
import { until } from '../../support/behind.ts';
import { stoppedAt } from '../../support/stopped-documents.ts';
import { openTestStores, project, silent, type TestStores } from '../../support/stores.ts';
import { count, counting, held, startProjector, tally } from '../../support/tallies.ts';

const collectionsOf = async ({ documents }: TestStores, name: string) =>
  (await documents.names()).filter((one) => one.startsWith(`${name}_`));
const stateOf = ({ documents }: TestStores) => documents.reading(projectionStates).get('tallies');

test('a new version of a projection is read when it has reached the position of the old one', async (t) => {
  const stores = await openTestStores(t);
  await count(stores.log, 5);
  await project(stores, [counting(1, 1)]);
  t.is(await tally(stores), 5);
  const seen: unknown[] = [];
  const watching: Projection = {
    ...counting(2, 10),
    async apply(events, open) {
      // During the build, readers see the old version.
      seen.push(await tally(stores));
      await counting(2, 10).apply(events, open);
    },
  };
  await project(stores, [watching]);
  t.deepEqual(seen, [5]);
  t.is(await tally(stores), 50);
  await count(stores.log, 1);
  await project(stores, [counting(2, 10)]);
  t.is(await tally(stores), 60);
});

test('during a rebuild the old documents and their position keep up with the log', async (t) => {
  const stores = await openTestStores(t);
  const { log, documents } = stores;
  await count(log, 5);
  await project(stores, [counting(1, 1)]);
  await requestRebuild(documents, 'tallies');
  const readmodels = openReadModels(documents);
  const building = Promise.withResolvers<void>();
  const seen = Promise.withResolvers<void>();
  const stop = new AbortController();
  const slow: Projection = {
    ...counting(1, 1),
    async apply(events, open) {
      // The live read model gets three at the most.
      if (events.length >= 5) building.resolve();
      await counting(1, 1).apply(events, open);
    },
  };
  // The test delays the build between transactions, where a slow build spends its time.
  const slow_log = Object.create(log) as typeof log;
  slow_log.readAll = async function* (options) {
    yield* log.readAll(options);
    if (options?.limit !== 1) await seen.promise;
  };
  for (const name of ['append', 'readStream', 'subscribe', 'head'] as const)
    slow_log[name] = log[name].bind(log) as never;
  const running = startProjector({ log: slow_log, documents }, [slow], stop.signal);
  await count(log, 3);
  t.true(await readmodels.passed(await log.head(), 10_000), 'nobody waits for the build');
  t.is(await tally(stores), 8);
  t.is((await stateOf(stores))?.generation, 1);
  seen.resolve();
  await building.promise;
  await until(async () => (await stateOf(stores))?.generation === 2);
  t.is(await tally(stores), 8);
  await count(log, 1);
  t.true(await readmodels.passed(await log.head(), 10_000));
  t.is(await tally(stores), 9);
  stop.abort();
  await running;
});

test('an interrupted build continues where it stopped', async (t) => {
  const stores = await openTestStores(t);
  await count(stores.log, 1500);
  await project(stores, [counting(1, 1)]);
  const stop = new AbortController();
  const interrupted = counting(2, 1, () => stop.abort());
  await startProjector(stores, [interrupted], stop.signal);
  const applied: number[] = [];
  await project(stores, [counting(2, 1, (n) => applied.push(n))]);
  t.deepEqual(applied, [500], 'the first thousand is not read again');
  t.is(await tally(stores), 1500);
});

test('two concurrent projectors count every event once', async (t) => {
  const stores = await openTestStores(t);
  const { log, documents } = stores;
  const stop = new AbortController();
  // Both projectors believe that they hold the lease.
  const running = [1, 2].map(() => startProjector(stores, [counting(1, 1)], stop.signal, { leases: held }));
  await count(log, 200);
  t.true(await openReadModels(documents).passed(await log.head(), 10_000));
  stop.abort();
  await Promise.all(running);
  t.is(await tally(stores), 200);
});

interface Row extends Document {
  n: number;
}
const rows: ReadModelSpec<Row> = {
  name: 'rows',
  ...kept('1 kB', 'never', 'none'),
  fields: { n: 'number' },
  indexes: [{ fields: { n: 1 } }],
};
const listing = (version: number): Projection => ({
  name: 'rows',
  version,
  types: ['Counted'],
  collections: [rows],
  async apply(events, open) {
    await (await open(rows)).write(
      events.map(({ id, data }) => ({ replace: { _id: id, n: (data as { n: number }).n } })),
    );
  },
});

test('a stream from before a flip ends whole, and one that outlasts the grace period ends with an error', async (t) => {
  const stores = await openTestStores(t);
  const { log, documents } = stores;
  await count(log, 2500);
  await project(stores, [listing(1)]);
  const readmodels = openReadModels(documents);
  const begin = async () => {
    const stream = readmodels
      .collection(rows)
      .stream({}, { sort: { n: 1 } })
      [Symbol.asyncIterator]();
    t.is((await stream.next()).value?.n, 0);
    return stream;
  };
  const [in_time, too_late] = [await begin(), await begin()];
  const clock = { ms: 0 };
  const stop = new AbortController();
  const running = startProjector(stores, [listing(2)], stop.signal, { monotonic: () => clock.ms });
  await until(async () => (await documents.reading(projectionStates).get('rows'))?.version === 2);
  let read = 1;
  while (!(await in_time.next()).done) read++;
  t.is(read, 2500);
  t.deepEqual(await collectionsOf(stores, 'rows'), ['rows_1', 'rows_2']);
  await until(async () => {
    clock.ms += GRACE_MS;
    return (await collectionsOf(stores, 'rows')).length === 1;
  });
  t.deepEqual(await collectionsOf(stores, 'rows'), ['rows_2']);
  await t.throwsAsync(
    async () => {
      while (!(await too_late.next()).done);
    },
    { code: 'unavailable' },
  );
  stop.abort();
  await running;
});

test('a running projector finds collections that are dropped, and opens all again, so that dropped indexes are made', async (t) => {
  const stores = await openTestStores(t);
  const { log, documents } = stores;
  await count(log, 3);
  await project(stores, [listing(1)]);
  const clock = { ms: 0 };
  let opened = 0;
  const { documents: watched } = stoppedAt(documents, Number.POSITIVE_INFINITY);
  watched.collection = (spec) => {
    if (spec.name === 'rows_1') opened++;
    return documents.collection(spec);
  };
  const stop = new AbortController();
  const running = startProjector({ ...stores, documents: watched }, [listing(1)], stop.signal, {
    monotonic: () => clock.ms,
  });
  await until(() => opened === 1);
  await until(() => {
    clock.ms += 60_000;
    return opened > 1;
  });
  await documents.drop('rows_1');
  const readmodels = openReadModels(documents);
  await until(async () => {
    clock.ms += 60_000;
    return (await readmodels.collection(rows).count({})) === 3;
  });
  stop.abort();
  await t.notThrowsAsync(running);
});

test('the next start drops the collections that a crash left of an unused generation', async (t) => {
  const stores = await openTestStores(t);
  await count(stores.log, 1);
  await project(stores, [listing(1)]);
  await project(stores, [listing(2)]);
  await stores.documents.transaction(async (inside) => {
    const states = await inside.collection(projectionStates);
    await states.write([{ update: 'rows', set: { $set: { retired: [] } } }]);
  });
  await project(stores, [listing(2)]);
  t.deepEqual(await collectionsOf(stores, 'rows'), ['rows_2']);
});

test('a read of a collection that no projection has filled finds nothing and creates nothing', async (t) => {
  const stores = await openTestStores(t);
  await count(stores.log, 3);
  await project(stores, [counting(1, 1)]);
  const found = openReadModels(stores.documents).collection(rows);
  const before = await stores.documents.names();
  t.deepEqual([await found.get('x'), await found.getMany(['x']), await found.find({ n: 1 })], [null, [], []]);
  t.deepEqual([await found.count({}), await Array.fromAsync(found.stream({}))], [0, []]);
  t.deepEqual(await stores.documents.names(), before);
  await project(stores, [counting(1, 1), listing(1)]);
  t.is(await found.count({}), 3, 'and is there when it has been built beside the others');
});

/** Throws for the events of these numbers. */
const picky = (version: number, refused: readonly number[]): Projection => ({
  ...counting(version, 1),
  async apply(events, open) {
    for (const event of events) {
      await counting(version, 1).apply([event], open);
      const { n } = event.data as { n: number };
      if (refused.includes(n)) throw new TypeError(`cannot take ${n}`);
    }
  },
});

test('the projector parks an event that a projection cannot apply, and continues with everything else', async (t) => {
  const stores = await openTestStores(t);
  const { log, documents } = stores;
  await count(log, 40);
  const told: unknown[] = [];
  const stop = new AbortController();
  const end = await log.head();
  await startProjector(stores, [picky(1, [7, 8, 30]), listing(1)], stop.signal, {
    logger: Object.assign(Object.create(silent), {
      error: (of: { event: { revision: number } }) => told.push(of.event.revision),
    }),
    advanced: (position) => position >= end && stop.abort(),
  });
  t.is(await tally(stores), 37);
  t.is(await openReadModels(documents).collection(rows).count({}), 40, 'the other projection has all');
  t.deepEqual(told, [7, 8, 30]);
  t.is((await stateOf(stores))?.parked, 3);
  const parked = await documents
    .reading(parkedEvents)
    .find({ projection: 'tallies' }, { sort: { projection: 1, generation: 1, position: 1 } });
  t.deepEqual(
    parked.map(({ revision, type, stream, version }) => ({ revision, type, stream, version })),
    [7, 8, 30].map((revision) => ({ revision, type: 'Counted', stream: 'count-1', version: 1 })),
  );
  t.true(parked[0]!.error.startsWith('TypeError: cannot take 7'));

  // A build also skips parked events, and with corrected code the documents are complete.
  await project(stores, [picky(2, [8]), listing(1)]);
  t.is(await tally(stores), 39);
  t.is((await stateOf(stores))?.parked, 1);
  t.is(await documents.reading(parkedEvents).count({}), 1);
  await project(stores, [picky(3, []), listing(1)]);
  t.is(await tally(stores), 40);
  t.is((await stateOf(stores))?.parked, 0);
  t.is(await documents.reading(parkedEvents).count({}), 0);
});

test('a fault of the store parks no event, and the projector retries', async (t) => {
  const stores = await openTestStores(t);
  await count(stores.log, 3);
  let failures = 0;
  const away: Projection = {
    ...counting(1, 1),
    async apply(events, open) {
      if (failures++ < 2) throw Object.assign(new Error('away'), { code: 'unavailable' });
      await counting(1, 1).apply(events, open);
    },
  };
  await project(stores, [away]);
  t.is(await tally(stores), 3);
  t.is((await stateOf(stores))?.parked, 0);
});

test("the projector deletes an event's documents in slices, before it applies the event", async (t) => {
  const stores = await openTestStores(t);
  await count(stores.log, 10);
  const slices: number[] = [];
  const clearing: Projection = {
    ...listing(1),
    isHeavy: () => true,
    /** Event 9 deletes all rows before it, four at a time. */
    async clear({ data }, open) {
      if ((data as { n: number }).n < 9) return false;
      const collection = await open(rows);
      const found = await collection.find({}, { limit: 4 });
      await collection.write(found.map(({ _id }) => ({ delete: _id })));
      slices.push(found.length);
      return found.length === 4;
    },
  };
  await project(stores, [clearing]);
  t.deepEqual(slices, [4, 4, 1]);
  t.deepEqual(
    (await openReadModels(stores.documents).collection(rows).find({})).map(({ n }) => n),
    [9],
  );
});
