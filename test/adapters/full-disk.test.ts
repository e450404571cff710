// The embedded stores on a disk that is full or fails: they refuse writes with a code, and everything else stays as it was.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test, { type ExecutionContext } from 'ava';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { openSqliteQueue } from '../../adapters/queue/sqlite/sqlite-queue.ts';
import { diskError, openFile, transaction, whenFree } from '../../adapters/sqlite.ts';
import { storeFaultOf } from '../../events/store-faults.ts';

const MAX_PAGES = 60;
const FILLING = 'x'.repeat(20_000);
const FULL = { code: 'storage_full' };

test('a log without room refuses a whole append, serves reads, and takes the append with room', async (t) => {
  const path = join(await folderOf(t), 'events.db');
  const log = await openSqliteEventStore({ path, max_pages: MAX_PAGES });
  const written = await untilFull(t, (n) => log.append(`job-${n}`, 'no_stream', [event(n)]));
  t.is((await Array.fromAsync(log.readAll())).length, written, 'what was acknowledged is there, and nothing else');
  const [one, other] = [log.append('job-a', 'no_stream', [event(1)]), log.append('job-b', 'no_stream', [event(2)])];
  await t.throwsAsync(one, FULL);
  await t.throwsAsync(other, FULL);
  await log.close();
  const roomy = await openSqliteEventStore({ path });
  t.true((await roomy.append(`job-${written}`, 'no_stream', [event(written)])).ok, 'the same append as before');
  t.is((await Array.fromAsync(roomy.readAll())).length, written + 1);
  await roomy.close();
  assertSound(t, path);
});

test('documents without room refuse a whole transaction, and serve reads', async (t) => {
  const path = join(await folderOf(t), 'documents.db');
  const documents = await openSqliteDocuments({ path, max_pages: MAX_PAGES });
  const spec = { name: 'things', fields: {}, indexes: [] };
  const things = await documents.collection(spec);
  const written = await untilFull(t, (n) =>
    documents.transaction(async (inside) => {
      const collection = await inside.collection(spec);
      await collection.write([{ insert: thing(`${n}-a`) }]);
      await collection.write([{ insert: thing(`${n}-b`) }]);
    }),
  );
  t.is(await things.count({}), 2 * written);
  await t.throwsAsync(things.write(Array.from({ length: 50 }, (_, n) => ({ insert: thing(`other-${n}`) }))), FULL);
  await things.write([{ deleteMany: {} }]);
  await things.write([{ insert: thing('again') }]);
  t.is(await things.count({}), 1, 'there is room again');
  await documents.close();
  assertSound(t, path);
});

test('a queue without room refuses new messages, and continues when others are acknowledged', async (t) => {
  const path = join(await folderOf(t), 'queue.db');
  const queue = await openSqliteQueue({ path, max_pages: MAX_PAGES });
  const publish = (n: number) => queue.publish('work', [{ id: String(n), body: FILLING }]);
  const written = await untilFull(t, publish);
  t.is(await queue.depth('work'), written);
  const signal = new AbortController().signal;
  const consumer = await queue.consume('work', { ack_wait_ms: 10_000, max_deliveries: 3, signal });
  const deliveries = await consumer.pull(written, 0);
  t.is(deliveries.length, written);
  await Promise.all(deliveries.map((delivery) => delivery.ack()));
  await publish(written);
  t.is(await queue.depth('work'), 1);
  await queue.close();
  assertSound(t, path);
});

test('a file that the system made read-only is a store that is away', async (t) => {
  const path = join(await folderOf(t), 'things.db');
  new DatabaseSync(path).exec('CREATE TABLE things (id)');
  const db = new DatabaseSync(path, { readOnly: true });
  const write = () => transaction(db, () => db.exec('INSERT INTO things VALUES (1)'));
  await t.throwsAsync(() => whenFree(write, { limit_ms: 0, stuck: () => new Error('locked') }), {
    code: 'unavailable',
  });
  db.close();
});

test('the errors of a disk are faults of the store, and those of a program are not', (t) => {
  const fault = (errcode: number) => storeFaultOf(diskError(Object.assign(new Error('disk I/O error'), { errcode })));
  const [SQLITE_ERROR, SQLITE_IOERR_WRITE, SQLITE_IOERR_FSYNC, SQLITE_IOERR_TRUNCATE] = [1, 778, 1034, 1546];
  t.is(fault(SQLITE_IOERR_WRITE), 'storage_full');
  t.is(fault(SQLITE_IOERR_FSYNC), 'unavailable');
  t.is(fault(SQLITE_IOERR_TRUNCATE), 'unavailable');
  t.is(fault(SQLITE_ERROR), null);
  for (const code of ['EIO', 'EROFS']) t.is(storeFaultOf(Object.assign(new Error(code), { code })), 'unavailable');
});

/** Returns how many were written before the disk was full. */
async function untilFull(t: ExecutionContext, write: (n: number) => Promise<unknown>): Promise<number> {
  for (let n = 0; n < 1_000; n++) {
    try {
      await write(n);
    } catch (error) {
      t.is((error as { code?: string }).code, FULL.code, String(error));
      t.true(n > 0);
      return n;
    }
  }
  throw new Error('it takes everything');
}

function assertSound(t: ExecutionContext, path: string): void {
  const db = new DatabaseSync(path);
  t.is(db.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok');
  db.close();
}

const thing = (_id: string) => ({ _id, filling: FILLING });

function event(n: number) {
  return {
    id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
    type: 'Filled',
    data: { filling: FILLING },
    metadata: { command_id: 'c', causation_id: 'c', actor: 'process:test', at: '2026-01-01T00:00:00.000Z' },
  };
}

async function folderOf(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'full-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

test('a file that cannot be opened now, as without a free inode, is a fault that passes', async (t) => {
  const path = join(await folderOf(t), 'missing', 'events.db');
  const error = t.throws(() => openFile(path, {}), { code: 'unavailable', message: /unable to open database file/ });
  t.is(storeFaultOf(error), 'unavailable');
});
