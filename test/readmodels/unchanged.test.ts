// Whether what a reader has read is still so, told without a wait.
import test from 'ava';
import { openReadModels } from '../../readmodels/read-models.ts';
import { openTestStores, project } from '../support/stores.ts';
import { count, counting, tallies } from '../support/tallies.ts';

test('a document is unchanged until it is written, and until a flip', async (t) => {
  const stores = await openTestStores(t);
  await count(stores.log, 5);
  let now = 0;
  const readmodels = openReadModels(stores.documents, { monotonic: () => now });
  const found = readmodels.collection(tallies);
  t.is(readmodels.unchanged(tallies, 'all'), null, 'nobody has looked which generation is live');
  await project(stores, [counting(1, 1)]);
  await found.get('all');
  t.is(readmodels.unchanged(tallies, 'another'), null, 'there is none');
  const before = [readmodels.unchanged(tallies, 'all')!, readmodels.unmoved()!];
  const areUnchanged = () => before.map((isUnchanged) => isUnchanged());
  t.deepEqual(areUnchanged(), [true, true]);
  await count(stores.log, 1);
  await project(stores, [counting(1, 1)]);
  t.deepEqual(areUnchanged(), [false, false]);

  const after = readmodels.unchanged(tallies, 'all')!;
  t.true(after());
  now = 1001;
  t.false(after(), 'the reads look first whether there was a flip');
  await found.get('all');
  t.true(after(), 'there was none');
  await project(stores, [counting(2, 10)]);
  now = 2002;
  t.is((await found.get('all'))?.n, 60);
  t.false(after());
});
