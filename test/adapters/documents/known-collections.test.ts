// A collection that was found is not looked for again, and is looked for again when a table may have changed.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Connection } from '../../../adapters/documents/sqlite/connection.ts';
import { openSqliteDocuments } from '../../../adapters/documents/sqlite/sqlite-documents.ts';
import type { CollectionSpec, Document, Documents } from '../../../readmodels/documents.ts';

interface Thing extends Document {
  size: number;
}
const things: CollectionSpec<Thing> = { name: 'things', fields: { size: 'number' }, indexes: [] };
const others: CollectionSpec<Thing> = { name: 'others', fields: {}, indexes: [] };

async function openTwo(t: ExecutionContext): Promise<[Documents, Documents]> {
  const folder = await mkdtemp(join(tmpdir(), 'known-'));
  const path = join(folder, 'documents.db');
  const two: [Documents, Documents] = [await openSqliteDocuments({ path }), await openSqliteDocuments({ path })];
  t.teardown(async () => {
    for (const documents of two) await documents.close();
    await rm(folder, { recursive: true, force: true });
  });
  return two;
}

const insert = async (documents: Documents, spec: CollectionSpec<Thing>, _id: string) =>
  (await documents.collection(spec)).write([{ insert: { _id, size: 1 } }]);
const count = async (documents: Documents, spec: CollectionSpec<Thing>) => (await documents.collection(spec)).count({});

test('a collection that another instance dropped is made again', async (t) => {
  const [a, b] = await openTwo(t);
  await insert(a, things, '1');
  await b.drop('things');
  t.is(await count(a, things), 0);
  await insert(a, things, '2');
  t.is(await count(b, things), 1);
});

test('a field that is declared later is there, also for who knew the collection without it', async (t) => {
  const [a, b] = await openTwo(t);
  await insert(a, { ...things, fields: {} }, '1');
  t.is(await (await b.collection(things)).count({ size: 1 }), 1);
  t.is(await (await a.collection(things)).count({ size: 1 }), 1);
});

test('a collection that was made in a transaction that failed is made again, whatever was made since', async (t) => {
  const [a, b] = await openTwo(t);
  await insert(a, others, '1');
  const failing = a.transaction(async (inside) => {
    await insert(inside, things, '1');
    t.is(await count(inside, things), 1);
    throw new Error('undone');
  });
  await t.throwsAsync(failing, { message: 'undone' });
  // The tables' version is now what the failed transaction had made of it.
  await insert(b, { ...others, name: 'third' }, '1');
  await a.transaction(async (inside) => insert(inside, things, '2'));
  t.is(await count(a, things), 1);
  t.is(await count(a, others), 1);
});

test.serial('a reader follows what another instance drops, makes again and lacks', async (t) => {
  const [a, b] = await openTwo(t);
  const reading = a.reading(things);
  await insert(b, things, '1');
  t.is((await reading.get('1'))?.size, 1);
  await b.drop('things');
  t.deepEqual([await reading.get('1'), await reading.find({}), await reading.count({})], [null, [], 0]);
  await insert(b, things, '2');
  t.deepEqual(await reading.find({}), [{ _id: '2', size: 1 }]);
  await b.drop('things');
  await insert(b, { ...things, fields: {} }, '3');
  await t.throwsAsync(reading.find({ size: 1 }), { code: 'unavailable' });
});

test.serial(
  'a collection that is known is read without a look at the schema, and once in each transaction',
  async (t) => {
    const [a] = await openTwo(t);
    await insert(a, things, '1');
    const { all } = Connection.prototype;
    const asked: string[] = [];
    Connection.prototype.all = function (sql, params) {
      asked.push(sql);
      return all.call(this, sql, params);
    };
    t.teardown(() => {
      Connection.prototype.all = all;
    });
    const reading = a.reading(things);
    await reading.get('1');
    asked.length = 0;
    for (let n = 0; n < 10; n++) await reading.get('1');
    t.is(asked.filter((sql) => sql.includes('schema_version')).length, 0);
    await a.transaction(async (inside) => {
      for (let n = 0; n < 5; n++) await inside.collection(things);
    });
    t.is(asked.filter((sql) => sql.includes('schema_version')).length, 1);
  },
);
