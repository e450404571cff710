// The projector: a new version is built beside the one that is read, an interrupted build goes on, two projectors at
// once count nothing twice.
import test from 'ava';
import { openAggregate } from '../../commands/aggregate.ts';
import type { Projection } from '../../projections/projection.ts';
import { runProjector } from '../../projections/projector.ts';
import type { CollectionSpec, Document } from '../../readmodels/documents.ts';
import { openLeases } from '../../readmodels/leases.ts';
import { openReadModels } from '../../readmodels/projection-state.ts';
import { commandContext, openTestStores, project, silent, type TestStores } from '../support/stores.ts';

interface Tally extends Document {
  n: number;
}
const tallies: CollectionSpec<Tally> = { name: 'tallies', fields: {}, indexes: [] };

/** Adds up what was counted, `weight` for each. */
function counting(version: number, weight: number, applied: (n: number) => void = () => {}): Projection {
  return {
    name: 'tallies',
    version,
    types: ['Counted'],
    collections: [tallies],
    async apply(events, open) {
      applied(events.length);
      await (await open(tallies)).write([
        { update: 'all', set: { $inc: { n: weight * events.length } }, upsert: true },
      ]);
    },
  };
}

async function count({ log }: TestStores, times: number): Promise<void> {
  const aggregate = openAggregate(log, { initial: () => 0, evolve: (n: number) => n + 1 });
  for (let i = 0; i < times; i++) {
    await aggregate.handle('count-1', commandContext(), () => ({ events: [{ type: 'Counted', data: {} }] }));
  }
}

const tally = async ({ documents }: TestStores) =>
  (await (await openReadModels(documents)).collection(tallies).get('all'))?.n;

test('a projection of a new version is read when it has seen all that the old one had', async (t) => {
  const stores = await openTestStores(t);
  await count(stores, 5);
  await project(stores, [counting(1, 1)]);
  t.is(await tally(stores), 5);
  const seen: unknown[] = [];
  const watching: Projection = {
    ...counting(2, 10),
    async apply(events, open) {
      // While the new one is built, readers see the old one.
      seen.push(await tally(stores));
      await counting(2, 10).apply(events, open);
    },
  };
  await project(stores, [watching]);
  t.deepEqual(seen, [5]);
  t.is(await tally(stores), 50);
  await count(stores, 1);
  await project(stores, [counting(2, 10)]);
  t.is(await tally(stores), 60);
  t.deepEqual(
    (await stores.documents.names()).filter((name) => name.startsWith('tallies')),
    ['tallies_2'],
    'the old generation is gone',
  );
});

test('a build that was interrupted goes on where it was', async (t) => {
  const stores = await openTestStores(t);
  await count(stores, 1500);
  await project(stores, [counting(1, 1)]);
  let pages = 0;
  const failing: Projection = {
    ...counting(2, 1),
    async apply(events, open) {
      if (++pages === 2) throw new Error('killed');
      await counting(2, 1).apply(events, open);
    },
  };
  const stop = new AbortController();
  const { log, documents } = stores;
  const leases = await openLeases(documents);
  await runProjector({
    log,
    documents,
    leases,
    projections: [failing],
    signal: stop.signal,
    logger: Object.assign(Object.create(silent), { error: () => stop.abort() }),
  });
  const applied: number[] = [];
  await project(stores, [counting(2, 1, (n) => applied.push(n))]);
  t.deepEqual(applied, [500], 'the first thousand is not read again');
  t.is(await tally(stores), 1500);
});

test('two projectors at once count nothing twice', async (t) => {
  const stores = await openTestStores(t);
  const { log, documents } = stores;
  const stop = new AbortController();
  const [one, other] = await Promise.all(
    ['one', 'other'].map(async (holder) => {
      // Each believes that it holds the lease.
      const real = await openLeases(documents, { holder });
      return { ...real, hold: async () => true };
    }),
  );
  const running = [one!, other!].map((leases) =>
    runProjector({ log, documents, projections: [counting(1, 1)], leases, logger: silent, signal: stop.signal }),
  );
  await count(stores, 200);
  const readmodels = await openReadModels(documents);
  t.true(await readmodels.passed(await log.head(), 10_000));
  stop.abort();
  await Promise.all(running);
  t.is(await tally(stores), 200);
});
