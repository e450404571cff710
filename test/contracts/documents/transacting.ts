// Transactions, alone and against each other.

import type { Documents } from '../../../readmodels/documents.ts';
import { until } from '../../support/behind.ts';
import { type Sentence, THINGS, type Thing } from './fixture.ts';

const OTHERS = { ...THINGS, name: 'others' };

export function transacting(sentence: Sentence): void {
  sentence('a transaction commits the writes of all its collections at once', async (t, { documents, reopen }) => {
    const things = await documents.collection<Thing>(THINGS);
    const others = await documents.collection<Thing>(OTHERS);
    const elsewhere = await (await reopen()).collection<Thing>(THINGS);
    const result = await documents.transaction(async (inside) => {
      const thingsInside = await inside.collection<Thing>(THINGS);
      const othersInside = await inside.collection<Thing>(OTHERS);
      await thingsInside.write([{ insert: { _id: 'a', n: 1 } }]);
      await othersInside.write([{ insert: { _id: 'b' } }, { update: 'c', set: { $inc: { n: 1 } }, upsert: true }]);
      // Seen inside, and nowhere else.
      t.is(await thingsInside.count({ n: 1 }), 1);
      t.deepEqual(await thingsInside.find({ n: { $gt: 0 } }, { sort: { n: 1 } }), [{ _id: 'a', n: 1 }]);
      t.deepEqual(await othersInside.getMany(['c', 'b']), [{ _id: 'c', n: 1 }, { _id: 'b' }]);
      t.is(await things.get('a'), null);
      t.is(await others.count({}), 0);
      t.is(await elsewhere.get('a'), null);
      return 'done';
    });
    t.is(result, 'done');
    t.deepEqual(await things.get('a'), { _id: 'a', n: 1 });
    t.is(await others.count({}), 2);
    t.deepEqual(await elsewhere.get('a'), { _id: 'a', n: 1 });
  });

  sentence("a watcher learns of another instance's commits", async (t, { documents, reopen }) => {
    await documents.collection<Thing>(THINGS);
    const elsewhere = await reopen();
    const things = await elsewhere.collection<Thing>(THINGS);
    let calls = 0;
    let n = 0;
    documents.watch(THINGS.name, () => calls++);
    await until(() => calls > 0);
    const before = calls;
    // A watch may begin with the commits after its first call.
    await until(async () => {
      await things.write([{ replace: { _id: 'a', n: n++ } }]);
      return calls > before;
    });
    t.pass();
  });

  sentence('a transaction that throws stores nothing', async (t, { documents }) => {
    const things = await documents.collection<Thing>(THINGS);
    await things.write([{ insert: { _id: 'there', n: 1 } }]);
    const thrown = new Error('on purpose');
    const error = await t.throwsAsync(
      documents.transaction(async (inside) => {
        const thingsInside = await inside.collection<Thing>(THINGS);
        await thingsInside.write([{ insert: { _id: 'a' } }, { update: 'there', set: { $inc: { n: 1 } } }]);
        await thingsInside.write([{ deleteMany: {} }]);
        throw thrown;
      }),
    );
    t.is(error, thrown);
    t.deepEqual(await things.find({}), [{ _id: 'there', n: 1 }]);
    await things.write([{ insert: { _id: 'afterwards' } }]);
    t.is(await things.count({}), 2);
  });

  sentence(
    'a failing write undoes its transaction, even when the caller catches the error',
    async (t, { documents }) => {
      const things = await documents.collection<Thing>(THINGS);
      await things.write([{ insert: { _id: 'there' } }]);
      const undone = documents.transaction(async (inside) => {
        const thingsInside = await inside.collection<Thing>(THINGS);
        await thingsInside.write([{ insert: { _id: 'a' } }]);
        await t.throwsAsync(thingsInside.write([{ insert: { _id: 'there' } }]), { code: 'duplicate_key' });
        await t.throwsAsync(thingsInside.write([{ insert: { _id: 'b' } }]), { code: 'duplicate_key' });
      });
      await t.throwsAsync(undone, { code: 'duplicate_key' });
      t.is(await things.count({}), 1);
    },
  );

  sentence('concurrent transactions of two instances lose nothing', async (t, { documents, reopen }) => {
    const instances = [documents, await reopen()];
    const things = await documents.collection<Thing>(THINGS);
    await things.write([{ insert: { _id: 'counter', n: 0 } }]);
    const increment = (instance: Documents) =>
      instance.transaction(async (inside) => {
        const counters = await inside.collection<Thing>(THINGS);
        const { n } = (await counters.get('counter'))!;
        await counters.write([
          { replace: { _id: 'counter', n: (n as number) + 1 } },
          { insert: { _id: `step ${n}`, group: 'steps' } },
        ]);
      });
    await Promise.all(
      instances.map(async (instance) => {
        for (let n = 0; n < 50; n += 1) await increment(instance);
      }),
    );
    t.deepEqual(await things.get('counter'), { _id: 'counter', n: 100 });
    t.is(await things.count({ group: 'steps' }), 100);
  });

  sentence('concurrent increments by updates lose nothing', async (t, { documents, reopen }) => {
    const instances = [documents, await reopen()];
    await Promise.all(
      instances.flatMap(async (instance) => {
        const things = await instance.collection<Thing>(THINGS);
        const increment = () => things.write([{ update: 'counter', set: { $inc: { n: 1 } }, upsert: true }]);
        await Promise.all(Array.from({ length: 20 }, increment));
      }),
    );
    const things = await documents.collection<Thing>(THINGS);
    t.deepEqual(await things.get('counter'), { _id: 'counter', n: 40 });
  });

  sentence('one of two concurrent inserts of an id fails', async (t, { documents, reopen }) => {
    const instances = [documents, await reopen()];
    const results = await Promise.allSettled(
      instances.map(async (instance, n) => {
        const things = await instance.collection<Thing>(THINGS);
        await things.write([{ insert: { _id: 'one', n } }, { insert: { _id: `other ${n}` } }]);
      }),
    );
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.code] : []));
    t.deepEqual(failures, ['duplicate_key']);
    t.is(await (await documents.collection<Thing>(THINGS)).count({}), 2);
  });

  sentence('calls inside one transaction may be made at the same time', async (t, { documents }) => {
    const things = await documents.collection<Thing>(THINGS);
    await documents.transaction(async (inside) => {
      const [thingsInside, othersInside] = await Promise.all([
        inside.collection<Thing>(THINGS),
        inside.collection<Thing>(OTHERS),
      ]);
      await Promise.all([
        thingsInside.write([{ insert: { _id: 'a' } }]),
        othersInside.write([{ insert: { _id: 'a' } }]),
        thingsInside.find({}),
        thingsInside.write([{ insert: { _id: 'b' } }]),
      ]);
      t.is(await thingsInside.count({}), 2);
    });
    t.is(await things.count({}), 2);
  });

  sentence('a call that would wait for its own transaction is refused', async (t, { documents }) => {
    const things = await documents.collection<Thing>(THINGS);
    const own = { message: /inside a transaction/ };
    await documents.transaction(async () => {
      await t.throwsAsync(things.write([{ insert: { _id: 'a' } }]), own);
      await t.throwsAsync(
        documents.transaction(async () => {}),
        own,
      );
      await t.throwsAsync(documents.drop('things'), own);
      await t.throwsAsync(documents.close(), own);
    });
    await things.write([{ insert: { _id: 'a' } }]);
  });

  sentence('the collections of an ended transaction refuse every call', async (t, { documents }) => {
    await documents.collection<Thing>(THINGS);
    const kept = await documents.transaction((inside) => inside.collection<Thing>(THINGS));
    await t.throwsAsync(kept.write([{ insert: { _id: 'late' } }]), { message: /has ended/ });
    await t.throwsAsync(kept.get('late'), { message: /has ended/ });
    t.is(await (await documents.collection<Thing>(THINGS)).count({}), 0);
  });
}
