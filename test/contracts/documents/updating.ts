// Updates of documents in place.
import type { Update } from '../../../readmodels/documents.ts';
import { type Sentence, THINGS, type Thing } from './fixture.ts';

export function updating(sentence: Sentence): void {
  sentence('an update sets and increments, at any depth and where nothing was', async (t, { documents }) => {
    const things = await documents.collection<Thing>(THINGS);
    const cases: [Omit<Thing, '_id'>, Update, Omit<Thing, '_id'>][] = [
      [{ n: 1 }, { $set: { n: 2, text: 'x' } }, { n: 2, text: 'x' }],
      [{}, { $set: { 'deep.x': 1, 'a.b.c': null } }, { deep: { x: 1 }, a: { b: { c: null } } }],
      [{ a: { b: 1, c: 2 } }, { $set: { 'a.b': { d: [1] } } }, { a: { b: { d: [1] }, c: 2 } }],
      [{ n: 1, text: 'x' }, { $set: { n: null, text: false } }, { n: null, text: false }],
      [{ n: 1 }, { $inc: { n: 2, m: -1, 'counts.404': 3 } }, { n: 3, m: -1, counts: { 404: 3 } }],
      [{ n: 0.5 }, { $inc: { n: 0.25 } }, { n: 0.75 }],
      [{ n: 2 ** 31 - 1 }, { $inc: { n: 1 } }, { n: 2 ** 31 }],
      [
        { list: [1, { a: 1 }] },
        { $set: { 'list.0': 'x', 'list.1.a': 2, 'list.3': 'y' } },
        { list: ['x', { a: 2 }, null, 'y'] },
      ],
      [{ tags: ['a'] }, { $set: { tags: ['a', 'b'] } }, { tags: ['a', 'b'] }],
      [{ n: 1 }, { $set: { m: 1 }, $inc: { k: 1 }, $setOnInsert: { z: 1 } }, { n: 1, m: 1, k: 1 }],
      [{ n: 1 }, {}, { n: 1 }],
      [{ n: 1 }, { $set: {} }, { n: 1 }],
      [
        { constructor: 1 },
        { $set: { 'toString.prototype': 1 }, $inc: { constructor: 1 } },
        { constructor: 2, toString: { prototype: 1 } },
      ],
    ];
    for (const [place, [before, set, after]] of cases.entries()) {
      const _id = `case ${place}`;
      await things.write([{ insert: { _id, ...before } as Thing }, { update: _id, set }]);
      t.deepEqual(await things.get(_id), { _id, ...after }, JSON.stringify(set));
    }
    t.deepEqual((await things.find({ 'deep.x': 1 })).length, 1);
  });

  sentence('an update of an absent id does nothing, unless it upserts', async (t, { documents }) => {
    const things = await documents.collection<Thing>(THINGS);
    await things.write([{ update: 'a', set: { $set: { n: 1 } } }]);
    t.is(await things.get('a'), null);
    const set = {
      $set: { text: 'x' },
      $inc: { n: 2 },
      $setOnInsert: { 'made.at': 5 },
    };
    await things.write([{ update: 'a', set, upsert: true }]);
    t.deepEqual(await things.get('a'), { _id: 'a', text: 'x', n: 2, made: { at: 5 } });
    await things.write([{ update: 'a', set: { ...set, $setOnInsert: { 'made.at': 9 } }, upsert: true }]);
    t.deepEqual(await things.get('a'), { _id: 'a', text: 'x', n: 4, made: { at: 5 } });
    await things.write([
      { update: 'b', set: {}, upsert: true },
      { update: 'c', set: { $setOnInsert: { n: 1 } }, upsert: true },
    ]);
    t.deepEqual(await things.getMany(['b', 'c']), [{ _id: 'b' }, { _id: 'c', n: 1 }]);
  });

  sentence('an update that does not fit the document is refused', async (t, { documents }) => {
    const things = await documents.collection<Thing>(THINGS);
    const before = { _id: 'a', n: 'text', a: 1, nothing: null, list: [1] };
    await things.write([{ insert: before }]);
    const unfit: Update[] = [
      { $inc: { n: 1 } },
      { $inc: { nothing: 1 } },
      { $inc: { list: 1 } },
      { $set: { 'a.b': 1 } },
      { $set: { 'nothing.b': 1 } },
      { $set: { 'list.name': 1 } },
      { $set: { 'list.0.b': 1 } },
    ];
    for (const set of unfit) {
      await t.throwsAsync(things.write([{ update: 'a', set }]), { code: 'unsupported_query' }, JSON.stringify(set));
    }
    t.deepEqual(await things.get('a'), before);
  });
}
