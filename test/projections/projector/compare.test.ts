// The comparison of documents with those rebuilt: it names what differs, and nothing that only moved meanwhile.
import test from 'ava';
import type { Projection } from '../../../projections/projection.ts';
import { compareDocuments, MOST_TOLD } from '../../../projections/projector/compare.ts';
import { type Collection, type Document, kept, readById } from '../../../readmodels/documents.ts';
import { inGeneration, projectionStates, requestRebuild } from '../../../readmodels/projection-state.ts';
import { until } from '../../support/behind.ts';
import { openTestStores, project } from '../../support/stores.ts';
import { count, counting, startProjector } from '../../support/tallies.ts';

interface Row extends Document {
  n: number;
  turn: number;
}
const rows = readById<Row>('rows', kept('1 kB', 'never', 'none'));
const listing: Projection = {
  ...{ name: 'rows', version: 1, types: [], collections: [rows], incidental: ['turn'] },
  apply: async () => {},
};
const rowsOf = (from: number, to: number, turn = 0) =>
  Array.from({ length: to - from }, (_, at) => ({
    replace: { _id: String(from + at).padStart(5, '0'), n: from + at, turn },
  }));

async function openSides(t: Parameters<typeof openTestStores>[0]) {
  const { documents } = await openTestStores(t);
  const [live, rebuilt] = [
    await documents.collection(inGeneration(rows, 1)),
    await documents.collection(inGeneration(rows, 2)),
  ];
  const sides = { live: () => live as never, rebuilt: () => rebuilt as never };
  const compare = (before: () => Promise<void> = async () => {}) =>
    compareDocuments({
      ...{ projection: listing, ...sides, signal: new AbortController().signal },
      async readBoth(read) {
        await before();
        return [await read(sides.live), await read(sides.rebuilt)];
      },
    });
  return { live, rebuilt, compare };
}

test('documents that are changed, missing or surplus are named, and incidental fields are not compared', async (t) => {
  const { live, rebuilt, compare } = await openSides(t);
  await live.write([...rowsOf(0, 2_500), { replace: { _id: '0', n: 0, turn: 0 } }, { delete: '01234' }]);
  await rebuilt.write([...rowsOf(0, 2_500, 7), { replace: { _id: '9', n: 0, turn: 0 } }]);
  await rebuilt.write([{ update: '00002', set: { $set: { n: 9 } } }]);
  t.deepEqual(await compare(), {
    documents: 2_501,
    differing: 4,
    differences: [
      { collection: 'rows', id: '0', kind: 'surplus', fields: [] },
      { collection: 'rows', id: '00002', kind: 'changed', fields: ['n'] },
      { collection: 'rows', id: '01234', kind: 'missing', fields: [] },
      { collection: 'rows', id: '9', kind: 'missing', fields: [] },
    ],
  });
});

test('all differences are counted, and the first ones are reported', async (t) => {
  const { live, compare } = await openSides(t);
  await live.write(rowsOf(0, 1_001));
  const { differing, differences } = await compare();
  t.deepEqual([differing, differences.length], [1_001, MOST_TOLD]);
});

test('what has moved between the reads is read again at one position', async (t) => {
  const { live, rebuilt, compare } = await openSides(t);
  await live.write(rowsOf(0, 500));
  await rebuilt.write(rowsOf(0, 300));
  t.like(await compare(() => rebuilt.write(rowsOf(300, 500))), { differing: 0 });
});

test('a rebuild under load compares each document as of one position', async (t) => {
  const stores = await openTestStores(t);
  const { log, documents } = stores;
  await count(log, 100);
  await project(stores, [counting(1, 1)]);
  await requestRebuild(documents, 'tallies', { verify: true });
  const stop = new AbortController();
  const running = startProjector(stores, [counting(1, 1)], stop.signal);
  const verified = async () => (await documents.reading(projectionStates).get('tallies'))?.verified ?? null;
  await until(async () => {
    await count(log, 3);
    return (await verified()) !== null;
  });
  t.like(await verified(), { documents: 1, differing: 0 });

  const live = (await documents.collection(inGeneration(counting(1, 1).collections[0]!, 2))) as Collection<Row>;
  await live.write([{ update: 'all', set: { $inc: { n: -5 } } }]);
  await requestRebuild(documents, 'tallies', { verify: true });
  await until(async () => ((await verified())?.differing ?? 0) > 0);
  t.deepEqual((await verified())!.differences, [{ collection: 'tallies', id: 'all', kind: 'changed', fields: ['n'] }]);
  stop.abort();
  await running;
});
