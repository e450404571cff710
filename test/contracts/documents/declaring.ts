// Collections: made, declared again, kept, dropped.
import type { CollectionSpec } from '../../../readmodels/documents.ts';
import { fill, idOf, ids, type Sentence, THINGS, type Thing } from './fixture.ts';

export function declaring(sentence: Sentence): void {
  sentence('documents survive closing and opening', async (t, { documents, reopen }) => {
    const things = await documents.collection<Thing>(THINGS);
    await things.write([
      { insert: { _id: 'a', n: 1, list: ['x'] } },
      { update: 'b', set: { $inc: { n: 2 } }, upsert: true },
    ]);
    await documents.close();
    const again = await (await reopen()).collection<Thing>(THINGS);
    t.deepEqual(await again.find({}, { sort: { n: -1 } }), [
      { _id: 'b', n: 2 },
      { _id: 'a', n: 1, list: ['x'] },
    ]);
    t.deepEqual(ids(await again.find({ n: 1 })), ['a']);
  });

  sentence('names lists the collections, and drop removes one with its documents', async (t, { documents, reopen }) => {
    t.deepEqual(await documents.names(), []);
    const other = await reopen();
    for (const name of ['b', 'a', 'a_2', 'c.d-e:f@1']) {
      const made = await documents.collection<Thing>({ ...THINGS, name });
      await made.write([{ insert: { _id: 'x', text: name } }]);
    }
    t.deepEqual(await other.names(), ['a', 'a_2', 'b', 'c.d-e:f@1']);
    await other.drop('a');
    await other.drop('a');
    await other.drop('never there');
    t.deepEqual(await documents.names(), ['a_2', 'b', 'c.d-e:f@1']);
    const again = await documents.collection<Thing>({ ...THINGS, name: 'a' });
    t.is(await again.count({}), 0);
    await again.write([{ insert: { _id: 'x', text: 'new' } }]);
    t.deepEqual(ids(await again.find({ text: 'new' })), ['x']);
    t.is(await (await documents.collection<Thing>({ ...THINGS, name: 'b' })).count({ text: 'b' }), 1);
  });

  sentence(
    'a redeclared collection keeps its documents and gets its new fields and indexes',
    async (t, { documents, reopen }) => {
      const before: CollectionSpec<Thing> = { name: 'grows', fields: { n: 'number' }, indexes: [{ fields: { n: 1 } }] };
      const old = await documents.collection<Thing>(before);
      const made = Array.from(
        { length: 100 },
        (_, n): Thing => ({ _id: idOf(n), n, group: `g${n % 7}`, deep: { flag: n % 2 === 0 } }),
      );
      await old.write(made.map((insert) => ({ insert })));
      const after: CollectionSpec<Thing> = {
        name: 'grows',
        fields: { group: 'string', 'deep.flag': 'boolean' },
        indexes: [{ fields: { group: 1, 'deep.flag': -1 } }],
      };
      const grown = await (await reopen()).collection<Thing>(after);
      t.is(await grown.count({ group: 'g3', 'deep.flag': true }), 7);
      t.deepEqual(ids(await grown.find({ group: 'g0' }, { sort: { 'deep.flag': -1 }, limit: 2 })), [
        idOf(98),
        idOf(84),
      ]);
      // The instance that declared the collection before still works with the old declaration.
      await old.write([{ insert: { _id: 'more', n: 100, group: 'g3', deep: { flag: true } } }]);
      t.deepEqual(ids(await old.find({ n: { $gte: 99 } }, { sort: { n: 1 } })), [idOf(99), 'more']);
      t.is(await grown.count({ group: 'g3', 'deep.flag': true }), 8);
      await t.throwsAsync(old.find({ group: 'g3' }), { code: 'unsupported_query' });
    },
  );

  sentence('several instances may declare a collection at the same time', async (t, { documents, reopen }) => {
    const instances = [documents, await reopen(), await reopen()];
    const made = await Promise.all(instances.map((instance) => instance.collection<Thing>(THINGS)));
    await Promise.all(made.map((things, n) => things.write([{ insert: { _id: idOf(n), n } }])));
    t.is(await made[0]!.count({}), 3);
  });

  sentence('a collection can be declared inside a transaction', async (t, { documents }) => {
    await documents.transaction(async (inside) => {
      const made = await inside.collection<Thing>({ ...THINGS, name: 'late' });
      await made.write([{ insert: { _id: 'a', n: 1 } }]);
    });
    await fill(documents, 3, (n) => ({ n }));
    const late = await documents.collection<Thing>({ ...THINGS, name: 'late' });
    t.deepEqual(await late.find({ n: 1 }), [{ _id: 'a', n: 1 }]);
  });

  sentence(
    'a collection keeps its identity while it is opened and widened, and has another when made again',
    async (t, { documents, reopen }) => {
      const identityOf = async (name: string) => (await documents.identities()).get(name);
      t.is(await identityOf('things'), undefined);
      await documents.collection<Thing>(THINGS);
      const first = await identityOf('things');
      const wider = { ...THINGS, fields: { ...THINGS.fields, wider: 'string' } } as CollectionSpec<Thing>;
      await (await reopen()).collection<Thing>(wider);
      t.is(await identityOf('things'), first);
      await documents.drop('things');
      await documents.transaction(async (inside) => {
        await (await inside.collection<Thing>(THINGS)).write([{ insert: { _id: 'a', n: 1 } }]);
      });
      const second = await identityOf('things');
      t.truthy(first);
      t.truthy(second);
      t.not(second, first);
    },
  );

  sentence(
    'reads of an absent collection find and create nothing, and later find its documents',
    async (t, { documents, reopen }) => {
      const reading = (await reopen()).reading<Thing>(THINGS);
      const isEmpty = async () => {
        t.is(await reading.get('a'), null);
        t.falsy(reading.textNow?.('a'));
        t.deepEqual(await reading.getMany(['a']), []);
        t.deepEqual(await reading.find({ n: 1 }, { sort: { n: 1 } }), []);
        t.deepEqual(await Array.fromAsync(reading.stream({})), []);
        t.is(await reading.count({ n: 1 }), 0);
        await t.throwsAsync(reading.find({ unknown: 1 }), { code: 'unsupported_query' });
      };
      await isEmpty();
      t.deepEqual(await documents.names(), []);
      const things = await documents.collection<Thing>(THINGS);
      await things.write([{ insert: { _id: 'a', n: 1 } }]);
      t.deepEqual(await reading.get('a'), { _id: 'a', n: 1 });
      if (reading.textNow) t.deepEqual(JSON.parse(reading.textNow('a')!), { _id: 'a', n: 1 });
      t.falsy(reading.textNow?.('b'));
      t.deepEqual(ids(await reading.getMany(['a', 'b'])), ['a']);
      t.deepEqual(ids(await reading.find({ n: 1 })), ['a']);
      t.deepEqual(ids(await Array.fromAsync(reading.stream({}))), ['a']);
      t.is(await reading.count({ n: 1 }), 1);
      await documents.drop('things');
      await isEmpty();
      t.deepEqual(await documents.names(), []);
    },
  );

  sentence('a closed instance refuses every call, and can be closed again', async (t, { documents }) => {
    const things = await documents.collection<Thing>(THINGS);
    await documents.close();
    await documents.close();
    await t.throwsAsync(things.get('a'));
    await t.throwsAsync(things.write([{ insert: { _id: 'a' } }]));
    await t.throwsAsync(documents.transaction(async () => {}));
  });
}
