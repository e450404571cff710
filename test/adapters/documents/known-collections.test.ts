// The store remembers the collections that it has found, until a table may have changed.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { checkSpec } from '../../../adapters/documents/spec.ts';
import { Connection } from '../../../adapters/documents/sqlite/connection.ts';
import { openSqliteDocuments } from '../../../adapters/documents/sqlite/sqlite-documents.ts';
import type { CollectionSpec, Document, Documents, Inside } from '../../../readmodels/documents.ts';

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

const insert = async (documents: Inside, spec: CollectionSpec<Thing>, _id: string) =>
  (await documents.collection(spec)).write([{ insert: { _id, size: 1 } }]);
const count = async (documents: Inside, spec: CollectionSpec<Thing>) => (await documents.collection(spec)).count({});

test('the store creates a collection again that another instance dropped', async (t) => {
  const [a, b] = await openTwo(t);
  await insert(a, things, '1');
  await b.drop('things');
  t.is(await count(a, things), 0);
  await insert(a, things, '2');
  t.is(await count(b, things), 1);
});

test('a later field is there, also for an instance that knew the collection without it', async (t) => {
  const [a, b] = await openTwo(t);
  await insert(a, { ...things, fields: {} }, '1');
  t.is(await (await b.collection(things)).count({ size: 1 }), 1);
  t.is(await (await a.collection(things)).count({ size: 1 }), 1);
});

test('the store creates a collection again that a failed transaction had created', async (t) => {
  const [a, b] = await openTwo(t);
  await insert(a, others, '1');
  const failing = a.transaction(async (inside) => {
    await insert(inside, things, '1');
    t.is(await count(inside, things), 1);
    throw new Error('undone');
  });
  await t.throwsAsync(failing, { message: 'undone' });
  // The version of the tables is now the one that the failed transaction had made.
  await insert(b, { ...others, name: 'third' }, '1');
  await a.transaction(async (inside) => insert(inside, things, '2'));
  t.is(await count(a, things), 1);
  t.is(await count(a, others), 1);
});

test.serial('a reader notices when another instance drops or creates a collection', async (t) => {
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

test.serial('a known collection is read without a read of the schema, and with one in each transaction', async (t) => {
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
});

test('a declaration is checked once, and each of several with the same fields is its own', (t) => {
  const checked = checkSpec(things);
  t.is(checkSpec({ ...things }), checked);
  const next = checkSpec({ ...things, name: 'things_2' });
  t.is(next.name, 'things_2');
  t.is(checkSpec({ ...things, name: 'things_2' }), next);
  checkSpec(things);
  t.is(checkSpec({ ...things, indexes: [{ fields: { size: 1 } }] }).indexes.length, 1);
  checkSpec(things);
  t.deepEqual(checkSpec({ ...things, identity: ['size'] }).identity, ['size']);
  t.is(checkSpec(things).identity, null);
});
