// Stores that are opened while another connection has their file, as where processes start at once or go on after a crash: each waits.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { checkSpec } from '../../adapters/documents/spec.ts';
import { makeCollection } from '../../adapters/documents/sqlite/catalogue.ts';
import { Connection } from '../../adapters/documents/sqlite/connection.ts';
import { KnownCollections } from '../../adapters/documents/sqlite/known-collections.ts';
import { readSqliteDocuments } from '../../adapters/documents/sqlite/read-sqlite-documents.ts';
import { ReaderPool } from '../../adapters/documents/sqlite/reader-pool.ts';
import type { Access } from '../../adapters/documents/sqlite/sqlite-collection.ts';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { readingAccess } from '../../adapters/documents/sqlite/sqlite-reading.ts';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { openSqliteQueue } from '../../adapters/queue/sqlite/sqlite-queue.ts';
import { storeFaultOf } from '../../events/store-faults.ts';
import type { CollectionSpec } from '../../readmodels/documents.ts';

const THINGS: CollectionSpec<{ _id: string; n: number }> = {
  name: 'things',
  fields: { n: 'number' },
  indexes: [{ fields: { n: 1 } }],
};

async function folderFor(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'opening-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Locks the file as a recovery of its write-ahead log does: nobody may even read. */
function locked(path: string): DatabaseSync {
  const holder = new DatabaseSync(path);
  holder.exec(
    'PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS held (n); COMMIT',
  );
  return holder;
}

interface Opening {
  name: string;
  /** Makes the file that the opening finds. */
  make(path: string): Promise<{ close(): unknown }>;
  open(path: string): Promise<{ close(): unknown }>;
}

const log = (path: string) => openSqliteEventStore({ path });
const queue = (path: string) => openSqliteQueue({ path });
const documents = (path: string) => openSqliteDocuments({ path });

const OPENINGS: readonly Opening[] = [
  { name: 'the log', make: log, open: log },
  { name: 'the log, for reading', make: log, open: (path) => openSqliteEventStore({ path, read_only: true }) },
  { name: 'the documents', make: documents, open: documents },
  { name: 'the documents, for reading', make: documents, open: readSqliteDocuments },
  { name: 'a reader of the documents', make: documents, open: (path) => Connection.reader(path) },
  { name: 'the queue', make: queue, open: queue },
];

for (const { name, make, open } of OPENINGS) {
  test(`${name} opens once the connection that has the file lets it go`, async (t) => {
    const path = join(await folderFor(t), 'store.db');
    await (await make(path)).close();
    const holder = locked(path);
    let is_open = false;
    const opening = open(path).then((opened) => {
      is_open = true;
      return opened;
    });
    opening.catch(() => {});
    for (let turns = 0; turns < 50; turns++) await nextTurn();
    t.false(is_open);
    holder.close();
    await (await opening).close();
  });
}

test('a thread that reads documents waits for the file too', async (t) => {
  const path = join(await folderFor(t), 'documents.db');
  await (await documents(path)).close();
  const holder = locked(path);
  const pool = new ReaderPool({ path, threads: 1, read_ms: 60_000 });
  t.teardown(() => pool.close());
  const plan = {
    statements: [{ text: 'SELECT count(*) FROM sqlite_schema', params: [] }],
    page: null,
    is_heavy: false,
  };
  const read = pool.run(plan);
  for (let turns = 0; turns < 50; turns++) await nextTurn();
  holder.close();
  t.deepEqual((await read).values, [1]);
});

test('a collection that another connection makes during a look is missing, and never half made', async (t) => {
  const path = join(await folderFor(t), 'documents.db');
  const maker = await Connection.writer(path);
  const reader = await Connection.reader(path);
  t.teardown(() => {
    reader.close();
    maker.close();
  });
  const all = reader.all.bind(reader);
  let looks = 0;
  reader.all = (sql, params) => {
    const rows = all(sql, params);
    looks += 1;
    // The look has found no table; it asks more.
    if (looks === 1) makeCollection(maker, checkSpec(THINGS));
    return rows;
  };
  const access: Access = {
    rows: async () => ({ values: ['{}'], is_cut: false }),
    all: async () => [],
    write: async () => {},
  };
  const reading = readingAccess(THINGS, new KnownCollections(reader), access);
  const plan = { statements: [], page: null, is_heavy: false };
  t.deepEqual((await reading.rows(plan)).values, []);
  t.deepEqual((await reading.rows(plan)).values, ['{}']);
});

test('a locked file that no wait has met is a fault of the store, after which work continues', (t) => {
  for (const errcode of [5, 261, 517, 15]) {
    t.is(
      storeFaultOf(Object.assign(new Error('database is locked'), { code: 'ERR_SQLITE_ERROR', errcode })),
      'unavailable',
    );
  }
  t.is(storeFaultOf(Object.assign(new Error('no such table'), { code: 'ERR_SQLITE_ERROR', errcode: 1 })), null);
});
