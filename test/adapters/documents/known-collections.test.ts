// A collection that was found is not looked for again, and is looked for again when a table may have changed.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
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
