// What readers see after a flip, whatever the time that has passed since their last look at the generations.
import test from 'ava';
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
