// Builds that fail, or whose builders end one after the other: the live documents stay, other builds go on, and an operator's
// rebuild continues with the build.
import test from 'ava';
import type { Projection } from '../../../projections/projection.ts';
import { MAX_BUILDERS } from '../../../projections/projector/build.ts';
import type { Documents } from '../../../readmodels/documents.ts';
import {
  type ProjectionState,
  projectionState,
  projectionStates,
  requestRebuild,
} from '../../../readmodels/projection-state.ts';
import { openTestStores, project, type TestStores } from '../../support/stores.ts';
import { count, counting, startProjector, tallies, tally } from '../../support/tallies.ts';
import { until } from '../../support/until.ts';

const stateOf = async ({ documents }: Pick<TestStores, 'documents'>, name = 'tallies'): Promise<ProjectionState> =>
  projectionState(name, await documents.reading(projectionStates).get(name));

/** Nothing of it is of interest but that it is built. */
const others: Projection = {
  ...counting(1, 1),
  name: 'others',
  collections: [{ ...tallies, name: 'others' }],
  apply: async () => {},
};

test('a build that throws waits for an operator with its reason, while the live run and other builds continue', async (t) => {
  const stores = await openTestStores(t);
  await count(stores.log, 20);
  await project(stores, [counting(1, 1), others]);
  let is_mended = false;
  const compared: Projection = {
    ...counting(1, 1),
    compare: async () => {
      if (is_mended) return 1;
      throw new Error('it cannot be compared');
    },
  };
  await requestRebuild(stores.documents, 'tallies', { verify: true });
  await requestRebuild(stores.documents, 'others');
  const ended = new AbortController();
  const running = startProjector(stores, [compared, others], ended.signal);
  await until(async () => (await stateOf(stores)).failed !== null);
  t.deepEqual((await stateOf(stores)).failed, { version: 1, reason: 'it cannot be compared' });
  await until(async () => (await stateOf(stores, 'others')).generation > 1);
  await count(stores.log, 5);
  await until(async () => (await tally(stores)) === 25);
  t.is((await stateOf(stores)).generation, 1);

  const { next } = await stateOf(stores);
  is_mended = true;
  await requestRebuild(stores.documents, 'tallies', { continues: 1, verify: true });
  await until(async () => (await stateOf(stores)).generation > 1);
  t.is((await stateOf(stores)).generation, next!.generation, 'it continues with the same build');
  t.is((await stateOf(stores)).failed, null);
  t.is(await tally(stores), 25);
  ended.abort();
  await running;
});

/** A projector that ends as a killed process does: nothing that it does after `ended` reaches the store. */
async function killedBuild(stores: TestStores, id: string, steps: number): Promise<void> {
  const ended = new AbortController();
  let left = steps;
  const dying: Projection = {
    ...counting(2, 1),
    isHeavy: () => true,
    async apply(events, open) {
      if (left-- > 0) return counting(2, 1).apply(events, open);
      ended.abort();
      throw new Error('killed');
    },
  };
  await startProjector(stores, [dying], ended.signal, { builder: { id } });
}

test('a build whose builders end one after the other without a step is given up, and the projector works without it', async (t) => {
  const stores = await openTestStores(t);
  await count(stores.log, 20);
  await project(stores, [counting(1, 1)]);
  for (let n = 0; n < MAX_BUILDERS; n++) await killedBuild(stores, `${n}`, 0);
  t.is((await stateOf(stores)).failed, null);
  await project(stores, [counting(2, 1)]);
  t.regex((await stateOf(stores)).failed!.reason, /its last 8 tries ended/);
  t.is((await stateOf(stores)).version, 1);
  await count(stores.log, 5);
  await project(stores, [counting(2, 1)]);
  t.is(await tally(stores), 25, 'the new code keeps the live documents');

  await requestRebuild(stores.documents, 'tallies', { continues: 'any' });
  await project(stores, [counting(2, 1)]);
  t.like(await stateOf(stores), { version: 2, failed: null, next: null });
  t.is(await tally(stores), 25);
});

test('a build whose builders end one after the other, each after a step, is done in the end', async (t) => {
  const stores = await openTestStores(t);
  await count(stores.log, 12);
  await project(stores, [counting(1, 1)]);
  for (let n = 0; n < 10; n++) await killedBuild(stores, `${n}`, 1);
  t.like(await stateOf(stores), { version: 1, failed: null });
  await project(stores, [counting(2, 1)]);
  t.is((await stateOf(stores)).version, 2);
  t.is(await tally(stores), 12);
});

test('a builder whose predecessor ended before its first part takes small parts, and then large ones again', async (t) => {
  const stores = await openTestStores(t);
  await count(stores.log, 2_500);
  await project(stores, [counting(1, 1)]);
  const parts: number[] = [];
  await killedBuild(stores, 'first', 0);
  await project(stores, [counting(2, 1, (events) => parts.push(events))]);
  t.is(parts[0], 100);
  t.deepEqual(new Set(parts.slice(0, 20)), new Set([100]));
  t.is(parts[20], 500);
  t.is(await tally(stores), 2_500);
});

test('one builder that begins again and again, as two do that overtake each other, is not counted as many', async (t) => {
  const stores = await openTestStores(t);
  await count(stores.log, 3);
  await project(stores, [counting(1, 1)]);
  for (let n = 0; n < 20; n++) await killedBuild(stores, `${n % 2}`, 0);
  t.is((await stateOf(stores)).failed, null);
});

test('an error of the store that does not pass gives the build up after some tries, and one that passes never', async (t) => {
  t.timeout(120_000);
  const stores = await openTestStores(t);
  await count(stores.log, 3);
  await project(stores, [counting(1, 1)]);
  for (const code of ['unavailable', 'ERR_SQLITE_ERROR']) {
    let [failures, is_full] = [0, true];
    const failing: Projection = {
      ...counting(2, 1),
      async apply(events, open) {
        if (is_full && (await isBuilding(stores))) {
          failures++;
          throw Object.assign(new Error('the store fails'), { code });
        }
        await counting(2, 1).apply(events, open);
      },
    };
    const ended = new AbortController();
    const running = startProjector(stores, [failing], ended.signal);
    await until(async () => (code === 'unavailable' ? failures > 6 : (await stateOf(stores)).failed !== null));
    if (code === 'unavailable') t.is((await stateOf(stores)).failed, null);
    else t.is(failures, MAX_BUILDERS);
    is_full = false;
    ended.abort();
    await running;
  }
});

const isBuilding = async ({ documents }: { documents: Documents }) => (await stateOf({ documents })).next !== null;
