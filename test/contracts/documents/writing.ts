// Writes of whole documents, and which of them fail.
import { idOf, ids, type Sentence, THINGS, type Thing } from './fixture.ts';

export function writing(sentence: Sentence): void {
  sentence('a document reads back as it was written', async (t, { documents }) => {
    const things = await documents.collection<Thing>(THINGS);
    const odd: Thing = {
      _id: 'id \'with\' "all" kinds/of\\things.😀',
      'dotted.name': { $dollar: 1, '': 'empty', '7': 'seven' },
      text: 'nul \0 and \u2028 and 😀',
      numbers: [0, -1, 0.1, 1e21, 1e-7, 2 ** 53 - 1, -(2 ** 31), 2 ** 32],
      nothing: null,
      list: [[], {}, [null, [true]]],
      n: 1,
    };
    await things.write([{ insert: odd }, { insert: { _id: 'undefined', gone: undefined, kept: { gone: undefined } } }]);
    t.deepEqual(await things.get(odd._id), odd);
    t.deepEqual(await things.get('undefined'), { _id: 'undefined', kept: {} });
  });

  sentence("a later change of the caller's object does not change the document", async (t, { documents }) => {
    const things = await documents.collection<Thing>(THINGS);
    const document: Thing = { _id: 'a', tags: ['x'] };
    await things.write([{ insert: document }]);
    document.tags = ['y'];
    const read = await things.get('a');
    t.deepEqual(read, { _id: 'a', tags: ['x'] });
    (read!.tags as string[]).push('z');
    t.deepEqual(await things.get('a'), { _id: 'a', tags: ['x'] });
  });

  sentence('an insert of an existing id fails with DuplicateKey', async (t, { documents }) => {
    const things = await documents.collection<Thing>(THINGS);
    await things.write([{ insert: { _id: 'a', n: 1 } }]);
    await t.throwsAsync(things.write([{ insert: { _id: 'a', n: 2 } }]), { code: 'duplicate_key' });
    await t.throwsAsync(things.write([{ insert: { _id: 'b' } }, { insert: { _id: 'b' } }]), { code: 'duplicate_key' });
    t.deepEqual(await things.find({}), [{ _id: 'a', n: 1 }]);
  });

  sentence(
    'the writes of one call take effect in their order, however many of a kind follow each other',
    async (t, { documents }) => {
      const things = await documents.collection<Thing>(THINGS);
      const replaced = (count: number, round: number) =>
        Array.from({ length: count }, (_, n) => ({ replace: { _id: idOf(n), n, round } }));
      for (const count of [1, 49, 50, 51, 100, 149]) {
        await things.write([
          ...replaced(count, 1),
          { update: idOf(0), set: { $inc: { round: 1 } } },
          ...replaced(count - 1, 3).map(({ replace }) => ({ replace: { ...replace, _id: idOf(replace.n + 1) } })),
          { replace: { _id: 'twice', n: 1 } },
          { replace: { _id: 'twice', n: 2 } },
          { delete: idOf(count - 1) },
          ...Array.from({ length: count }, (_, n) => ({ insert: { _id: `more-${idOf(n)}`, n } })),
        ]);
        const kept = Array.from({ length: count - 1 }, (_, n) => ({
          _id: idOf(n),
          n: Math.max(0, n - 1),
          round: n === 0 ? 2 : 3,
        }));
        t.deepEqual(await things.find({ _id: { $lt: idOf(count) } }), kept);
        t.deepEqual(await things.get('twice'), { _id: 'twice', n: 2 });
        t.is(await things.count({ _id: { $gte: 'more-', $lt: 'more-~' } }), count);
        await things.write([{ deleteMany: {} }]);
      }
    },
  );

  sentence('a replace stores the document whether or not one exists', async (t, { documents }) => {
    const things = await documents.collection<Thing>(THINGS);
    await things.write([{ replace: { _id: 'a', n: 1, text: 'x' } }]);
    await things.write([{ replace: { _id: 'a', n: 2 } }, { replace: { _id: 'b' } }]);
    t.deepEqual(await things.find({}), [{ _id: 'a', n: 2 }, { _id: 'b' }]);
    t.deepEqual(ids(await things.find({ text: null, n: 2 })), ['a']);
  });

  sentence('a batch is written in order', async (t, { documents }) => {
    const things = await documents.collection<Thing>(THINGS);
    await things.write([
      { insert: { _id: 'a', n: 1 } },
      { update: 'a', set: { $inc: { n: 1 } } },
      { delete: 'a' },
      { insert: { _id: 'a', n: 10 } },
      { update: 'a', set: { $inc: { n: 1 } } },
      { insert: { _id: 'b', n: 11 } },
      { deleteMany: { _id: 'b', n: 11 } },
      { update: 'b', set: { $set: { n: 5 } }, upsert: true },
    ]);
    t.deepEqual(await things.find({}), [
      { _id: 'a', n: 11 },
      { _id: 'b', n: 5 },
    ]);
    await things.write([]);
  });

  sentence('a batch with a failing write stores nothing', async (t, { documents }) => {
    const things = await documents.collection<Thing>(THINGS);
    await things.write([{ insert: { _id: 'there', n: 1, word: 'x' } }]);
    const before = [
      { insert: { _id: 'a' } },
      { update: 'there', set: { $set: { n: 2 } } },
      { update: 'c', set: { $inc: { n: 1 } }, upsert: true },
      { deleteMany: { n: 2 } },
      { insert: { _id: 'there', word: 'y' } },
    ];
    await t.throwsAsync(things.write([...before, { insert: { _id: 'a' } }]), { code: 'duplicate_key' });
    const broken = { update: 'there', set: { $inc: { word: 1 } } };
    await t.throwsAsync(things.write([...before, broken]), { code: 'unsupported_query' });
    t.deepEqual(await things.find({}), [{ _id: 'there', n: 1, word: 'x' }]);
  });

  sentence('delete and deleteMany remove the named documents and no others', async (t, { documents }) => {
    const things = await documents.collection<Thing>(THINGS);
    const made = Array.from({ length: 20 }, (_, n) => ({
      _id: idOf(n),
      n,
      group: `g${n % 2}`,
      text: n < 4 ? 'x' : 'y',
    }));
    await things.write(made.map((insert) => ({ insert })));
    await things.write([{ delete: idOf(0) }, { delete: 'not there' }]);
    await things.write([{ deleteMany: { group: 'g1', n: { $gte: 10 } } }, { deleteMany: { text: 'x' } }]);
    t.deepEqual(
      (await things.find({})).map(({ n }) => n),
      [4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18],
    );
    await things.write([{ deleteMany: {} }]);
    t.is(await things.count({}), 0);
  });
}
