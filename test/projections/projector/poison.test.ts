// Events that a projection cannot apply, while transactions fail before or after their commit, and projectors of other
// versions start, overlap and end between any two transactions: each is parked once, and every other event counts once.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { metadataOf } from '../../../commands/aggregate.ts';
import type { ExpectedRevision } from '../../../events/event-store.ts';
import type { Projection } from '../../../projections/projection.ts';
import { type Documents, TransactionTooLarge, WriteConflict } from '../../../readmodels/documents.ts';
import { parkedEvents, projectionStates, requestRebuild } from '../../../readmodels/projection-state.ts';
import { commandContext, openTestStores, project, type TestStores } from '../../support/stores.ts';
import { counting, startProjector, tally } from '../../support/tallies.ts';
import { openRandom } from '../../torture/random.ts';

const EVENTS = 1_200;

/** Throws for every event with `poison`. */
function picky(version: number): Projection {
  const all = counting(version, version);
  return {
    ...all,
    async apply(events, open) {
      // It writes before it throws.
      await all.apply(events, open);
      if (events.some(({ data }) => (data as { poison: boolean }).poison)) throw new Error('poison');
    },
  };
}

async function fill({ log }: TestStores, is_poison: (n: number) => boolean): Promise<number> {
  const metadata = metadataOf(commandContext());
  let revision: ExpectedRevision = 'no_stream';
  const events = Array.from({ length: EVENTS }, (_, n) => ({
    id: randomUUID(),
    type: 'Counted',
    data: { n, poison: is_poison(n) },
    metadata,
  }));
  for (let from = 0; from < EVENTS; from += 400) {
    const result = await log.append('count-1', revision, events.slice(from, from + 400));
    if (!result.ok) throw new Error('somebody else writes');
    revision = result.revision;
  }
  return events.filter(({ data }) => data.poison).length;
}

const stateOf = ({ documents }: TestStores) => documents.reading(projectionStates).get('tallies');

const places: Record<string, (n: number) => boolean> = {
  'the first': (n) => n === 0,
  'the last': (n) => n === EVENTS - 1,
  'the first and the last of a page': (n) => n === 999 || n === 1000,
  'a hundred': (n) => n % 12 === 5,
  'all but one': (n) => n !== 700,
};

for (const [which, is_poison] of Object.entries(places)) {
  test(`when ${which} of the events cannot be applied, the projector parks and counts them, after a restart and a rebuild too`, async (t) => {
    const stores = await openTestStores(t);
    const poisoned = await fill(stores, is_poison);
    const assertParked = async (version: number) => {
      t.is(await tally(stores), version * (EVENTS - poisoned));
      t.is((await stateOf(stores))?.parked, poisoned);
      t.is(await stores.documents.reading(parkedEvents).count({}), Math.min(poisoned, 1000));
    };
    await project(stores, [picky(1)]);
    await assertParked(1);
    await project(stores, [picky(1)]);
    await assertParked(1);
    await requestRebuild(stores.documents, 'tallies');
    await project(stores, [picky(1)]);
    await assertParked(1);
    await project(stores, [picky(2)]);
    await assertParked(2);
  });
}

test('an event that is discarded is parked no more, and one that was not parked changes nothing', async (t) => {
  const stores = await openTestStores(t);
  await fill(stores, (n) => n === 7);
  await project(stores, [picky(1)]);
  const [parked] = await stores.documents.reading(parkedEvents).find({});
  const metadata = metadataOf(commandContext());
  const discarded = ['other', parked!.event_id, parked!.event_id].map((event_id) => ({
    ...{ id: randomUUID(), type: 'ParkedEventDiscarded', metadata },
    data: { projection: 'tallies', event_id, reason: 'a test' },
  }));
  await stores.log.append('service-parked', 'no_stream', discarded);
  await project(stores, [picky(1)]);
  t.is((await stateOf(stores))?.parked, 0);
  t.is(await stores.documents.reading(parkedEvents).count({}), 0);
});

test('a transaction that is too large for the store is halved, and a single event is tried again: none is parked', async (t) => {
  const stores = await openTestStores(t);
  await fill(stores, () => false);
  const all = counting(1, 1);
  let single = 0;
  const large: Projection = {
    ...all,
    async apply(events, open) {
      if (events.length > 1 || single++ === 0) throw new TransactionTooLarge('the cache is full');
      await all.apply(events, open);
    },
  };
  await project(stores, [large]);
  t.is(await tally(stores), EVENTS);
  t.is((await stateOf(stores))?.parked, 0);
  t.is(single, EVENTS + 1);
});

for (const code of ['EMFILE', 'EIO', 'EROFS', 'log_busy']) {
  test(`no event is parked for what the machine lacks: ${code}`, async (t) => {
    const stores = await openTestStores(t);
    await fill(stores, () => false);
    const all = counting(1, 1);
    let failures = 0;
    const failing: Projection = {
      ...all,
      async apply(events, open) {
        if (failures++ < 16) throw Object.assign(new Error('the machine lacks something'), { code });
        await all.apply(events, open);
      },
    };
    await project(stores, [failing]);
    t.is(await tally(stores), EVENTS);
    t.is((await stateOf(stores))?.parked, 0);
  });
}

/** The documents, with a `transaction` of the test's own. */
const withTransaction = (documents: Documents, transaction: Documents['transaction']): Documents => ({
  collection: (spec) => documents.collection(spec),
  reading: (spec) => documents.reading(spec),
  transaction,
  drop: (name) => documents.drop(name),
  names: () => documents.names(),
  identities: () => documents.identities(),
  close: async () => {},
  watch: (name, changed) => documents.watch(name, changed),
  is_concurrent: documents.is_concurrent,
  client: documents.client,
  endTransactionsOf: (client) => documents.endTransactionsOf(client),
});

for (const [mode, is_live] of [
  ['live', true],
  ['built', false],
] as const)
  test(`a ${mode} transaction that is rolled back at its end because it took too long is halved`, async (t) => {
    const stores = await openTestStores(t);
    if (is_live) await project(stores, [counting(1, 1)]);
    await fill(stores, (n) => n === 700);
    const all = picky(1);
    let [written, largest] = [0, 0];
    const noting: Projection = {
      ...all,
      async apply(events, open) {
        written = events.length;
        largest = Math.max(largest, written);
        await all.apply(events, open);
      },
    };
    const documents = withTransaction(stores.documents, (work) =>
      stores.documents.transaction(async (inside) => {
        const result = await work(inside);
        if (written > 100) throw new TransactionTooLarge('it took more than 60 s');
        return result;
      }),
    );
    await project({ ...stores, documents }, [noting]);
    t.true(largest > 100);
    t.is(await tally(stores), EVENTS - 1);
    t.is((await stateOf(stores))?.parked, 1);
  });

/** Documents of a process that ends after some transactions, some of which fail before or after their commit. */
function troubled(documents: Documents, random: ReturnType<typeof openRandom>, ended: () => void): Documents {
  let left = random.between(1, 12);
  const failing = withTransaction(documents, async (work) => {
    if (left-- <= 0) ended();
    if (left < 0 || random.chance(0.1)) throw new WriteConflict('not done');
    const result = await documents.transaction(work);
    if (random.chance(0.1)) throw new WriteConflict('done, and the answer is lost');
    return result;
  });
  return {
    ...failing,
    async drop(name) {
      if (left <= 0) throw new WriteConflict('not done');
      await documents.drop(name);
    },
  };
}

for (const seed of [1, 2]) {
  test(`projectors that end at any point count and park each event once (${seed})`, async (t) => {
    const stores = await openTestStores(t);
    const random = openRandom(seed);
    const poisoned = await fill(stores, (n) => n % 150 === 7);
    let version = 1;
    for (let round = 0; round < 8; round++) {
      if (random.chance(0.4)) version++;
      if (random.chance(0.2)) await requestRebuild(stores.documents, 'tallies');
      const at_once = Array.from({ length: random.between(1, 2) }, async () => {
        const end = new AbortController();
        const documents = troubled(stores.documents, random, () => end.abort());
        await startProjector({ ...stores, documents }, [picky(version)], end.signal);
      });
      await Promise.all(at_once);
    }
    await project(stores, [picky(version)]);
    const state = await stateOf(stores);
    t.is(await tally(stores), version * (EVENTS - poisoned));
    t.is(state?.parked, poisoned);
    t.is(await stores.documents.reading(parkedEvents).count({ generation: state!.generation }), poisoned);
    const known = new Set([state!.generation, ...state!.retired.map(({ generation }) => generation)]);
    const there = (await stores.documents.names()).filter((name) => name.startsWith('tallies_'));
    t.deepEqual(
      there.filter((name) => !known.has(Number(name.slice('tallies_'.length)))),
      [],
      'nothing is left of what was given up',
    );
  });
}
