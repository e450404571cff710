// What readers see after a flip, whatever the time that has passed since their last look at the generations.
import test from 'ava';
import { projectionStates } from '../../readmodels/projection-state.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { openTestStores, project } from '../support/stores.ts';
import { count, counting, tallies } from '../support/tallies.ts';

test('a reader who waited for a position behind a flip reads the new generation', async (t) => {
  const stores = await openTestStores(t);
  await count(stores.log, 5);
  await project(stores, [counting(1, 1)]);
  // The clock stands still, so no look at the generations is due.
  const readmodels = openReadModels(stores.documents, { monotonic: () => 0 });
  const { signal } = new AbortController();
  const seen = await readmodels.moved(null, 0, signal);
  const tally = async () => (await readmodels.collection(tallies).get('all'))?.n;
  t.is(await tally(), 5);
  t.is(readmodels.flips, 0);
  await project(stores, [counting(2, 10)]);
  await count(stores.log, 1);
  await project(stores, [counting(2, 10)]);
  t.not(await readmodels.moved(seen, 60_000, signal), seen);
  t.is(await tally(), 60);
  t.is(readmodels.flips, 1);
});

test('a flip at the same position wakes who waits for the position to move', async (t) => {
  const stores = await openTestStores(t);
  await count(stores.log, 5);
  await project(stores, [counting(1, 1)]);
  const readmodels = openReadModels(stores.documents);
  const { signal } = new AbortController();
  const seen = await readmodels.moved(null, 0, signal);
  const waiting = readmodels.moved(seen, 3_600_000, signal);
  await project(stores, [counting(2, 10)]);
  t.is(await waiting, seen);
  t.is((await readmodels.collection(tallies).get('all'))?.n, 50);
});

test('a reader who waited for a position does not take the word of a look that began before the first generation', async (t) => {
  const stores = await openTestStores(t);
  await count(stores.log, 5);
  const [looked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let looks = 0;
  const { documents } = stores;
  const slow = Object.create(documents, {
    reading: {
      value: (spec: typeof projectionStates) => {
        const reading = documents.reading(spec);
        if (spec.name !== projectionStates.name) return reading;
        const find: typeof reading.find = async (...query) => {
          const found = await reading.find(...query);
          if (looks++ > 0) return found;
          looked.resolve();
          await held.promise;
          return found;
        };
        return { find };
      },
    },
    watch: { value: () => {} },
  });
  const readmodels = openReadModels(slow);
  const collection = readmodels.collection(tallies);
  const early = collection.get('all');
  await looked.promise;
  await project(stores, [counting(1, 1)]);
  t.true(await readmodels.passed(await stores.log.head(), 60_000));
  const late = collection.get('all');
  held.resolve();
  t.is((await late)?.n, 5);
  await early;
});
