// The SQLite event log keeps the port's contract, and what it promises beyond it.
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { openSqliteEventStore } from '../../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { BEGINNING, type EventStore } from '../../../events/event-store.ts';
import { appended, fill, newEvent, newEvents } from '../../contracts/event-store/fixture.ts';
import { eventStoreContract } from '../../contracts/event-store.ts';

eventStoreContract(test, 'the SQLite event log', {
  deletedEvents: 'gone',
  async open() {
    const folder = await mkdtemp(join(tmpdir(), 'event-log-'));
    const opened: EventStore[] = [];
    const reopen = async () => {
      const store = await openSqliteEventStore({ path: join(folder, 'events.db') });
      opened.push(store);
      return store;
    };
    return {
      store: await reopen(),
      reopen,
      async close() {
        for (const store of opened) await store.close();
        await rm(folder, { recursive: true });
      },
    };
  },
});

async function newPath(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'event-log-'));
  t.teardown(() => rm(folder, { recursive: true }));
  return join(folder, 'events.db');
}

async function openStore(t: ExecutionContext, path: string, checkpoint_pages?: number): Promise<EventStore> {
  const store = await openSqliteEventStore({ path, checkpoint_pages });
  t.teardown(() => store.close());
  return store;
}

test('a new log has its head at the beginning', async (t) => {
  const store = await openStore(t, await newPath(t));
  t.is(await store.head(), BEGINNING);
  t.deepEqual(await Array.fromAsync(store.readAll()), []);
});

test('the store refuses a file of a later schema and does not change it', async (t) => {
  const path = await newPath(t);
  const db = new DatabaseSync(path);
  db.exec('PRAGMA user_version = 99');
  const error = await t.throwsAsync(openSqliteEventStore({ path }));
  t.like(error, { code: 'newer_schema' });
  t.regex(error!.message, /schema version 99/);
  t.deepEqual({ ...db.prepare('PRAGMA journal_mode').get() }, { journal_mode: 'delete' });
  t.deepEqual(db.prepare('SELECT name FROM sqlite_schema').all(), []);
  db.close();
});

test('the store creates the folder of a new log', async (t) => {
  const path = join(await newPath(t), 'data', 'events.db');
  await t.notThrowsAsync(openStore(t, path));
});

test('an append waits while another connection holds the file', async (t) => {
  const path = await newPath(t);
  const store = await openStore(t, path);
  const holder = new DatabaseSync(path);
  t.teardown(() => holder.close());
  holder.exec('BEGIN IMMEDIATE');
  let settled = false;
  const appending = store.append('held-1', 'no_stream', newEvents(1)).finally(() => {
    settled = true;
  });
  const deleting = store.deleteStream('held-2');
  for (let turn = 0; turn < 5; turn += 1) {
    await nextTurn();
    t.is(await store.head(), BEGINNING, 'reads continue');
  }
  t.false(settled);
  holder.exec('COMMIT');
  t.true((await appending).ok);
  await deleting;
});

test('an append that SQLite refuses fails alone', async (t) => {
  const store = await openStore(t, await newPath(t));
  const refused = [newEvent(), { ...newEvent(), type: undefined as never }, newEvent()];
  const results = await Promise.allSettled([
    store.append('group-1', 'no_stream', newEvents(2)),
    store.append('group-2', 'no_stream', refused),
    store.append('group-1', 1, newEvents(2)),
  ]);
  t.deepEqual(
    results.map((result) => result.status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  t.is((await Array.fromAsync(store.readStream('group-1'))).length, 4);
  t.deepEqual(await Array.fromAsync(store.readStream('group-2')), []);
});

test('behind an append that SQLite refuses, those in its order are not made', async (t) => {
  const path = await newPath(t);
  const store = await openSqliteEventStore({ path });
  t.teardown(() => store.close());
  const db = new DatabaseSync(path);
  db.exec(`CREATE TRIGGER refuse BEFORE INSERT ON events WHEN NEW.revision = 1 BEGIN SELECT RAISE(ABORT, 'no'); END`);
  const ordered = [1, 2, 1].map((count, n) => ({
    ...{ stream: `a-${n}`, expected: 'no_stream' as const, events: newEvents(count) },
  }));
  const beside = store.append('b-1', 'no_stream', newEvents(1));
  await t.throwsAsync(store.appendInOrder(ordered), { message: 'no' });
  t.like(await beside, { ok: true });
  const streams = async () => (await Array.fromAsync(store.readAll())).map(({ stream }) => stream);
  t.deepEqual((await streams()).sort(), ['a-0', 'b-1']);
  db.exec('DROP TRIGGER refuse');
  db.close();
  await store.appendInOrder(ordered);
  t.deepEqual((await streams()).slice(2), ['a-1', 'a-1', 'a-2']);
});

test('an append stores the events as they were at the call', async (t) => {
  const store = await openStore(t, await newPath(t));
  const data = { n: 1 };
  const appending = store.append('snapshot-1', 'no_stream', [newEvent(data)]);
  data.n = 2;
  await appending;
  t.deepEqual((await Array.fromAsync(store.readStream('snapshot-1')))[0]!.data, { n: 1 });
});

test('a read event equals a plain one, keeps its parsed data, and can be changed', async (t) => {
  const store = await openStore(t, await newPath(t));
  const event = newEvent({ list: [1] });
  const { position } = await appended(store.append('lazy-1', 'no_stream', [event]));
  const [read] = await Array.fromAsync(store.readStream('lazy-1'));
  t.deepEqual(read, { ...event, stream: 'lazy-1', revision: 0, position });
  t.deepEqual(structuredClone(read), { ...read! });
  t.is(read!.data, read!.data);
  t.is(read!.metadata, read!.metadata);
  read!.data = { other: true };
  t.deepEqual({ ...read! }.data, { other: true });
});

test('the store refuses invalid positions, streams and revisions', async (t) => {
  const store = await openStore(t, await newPath(t));
  for (const from of ['1', '-000000000000001', 'x'.repeat(16)]) {
    await t.throwsAsync(Array.fromAsync(store.readAll({ from })), { instanceOf: RangeError });
  }
  for (const stream of ['', 'a-\0', 'a-\ud800', 'a-'.padEnd(513, 'x')]) {
    await t.throwsAsync(store.append(stream, 'no_stream', newEvents(1)), { instanceOf: RangeError });
    await t.throwsAsync(store.deleteStream(stream), { instanceOf: RangeError });
  }
  for (const expected of [-1, 0.5, Number.NaN]) {
    await t.throwsAsync(store.append('a-1', expected, newEvents(1)), { instanceOf: RangeError });
  }
});

test('the write-ahead log stays short beside an endless read', async (t) => {
  const path = await newPath(t);
  const checkpoint_pages = 100;
  const store = await openStore(t, path, checkpoint_pages);
  const writer = await openStore(t, path, checkpoint_pages);
  await fill(writer, 'long-1', newEvents(3_000));
  const reading = store.readAll()[Symbol.asyncIterator]();
  await reading.next();
  await fill(writer, 'long-2', newEvents(20_000));
  const { size: file_bytes } = await stat(path);
  const { size: log_bytes } = await stat(`${path}-wal`);
  t.true(file_bytes > 5_000_000, `${file_bytes} bytes`);
  // Twice the limit, because one append of 1,000 events exceeds it.
  t.true(log_bytes < 2_000_000, `${log_bytes} bytes`);
  await reading.return?.();
});

test('a log that is opened for reading gives the same events, which a thread reads ahead', async (t) => {
  const path = await newPath(t);
  const store = await openStore(t, path);
  for (let n = 0; n < 3; n += 1) await fill(store, `long-${n}`, newEvents(4_000));
  await fill(store, 'odd-1', [newEvent({ text: 'ä\0😀\ud83d"', long: 'x'.repeat(900_000) })]);
  const reader = await openSqliteEventStore({ path, read_only: true });
  t.teardown(() => reader.close());
  const [from] = (await Array.fromAsync(store.readStream('long-1', { from: 1_234, limit: 1 }))).map(
    ({ position }) => position,
  );
  for (const options of [{}, { from }, { filter: { categories: ['odd'] } }, { filter: { categories: ['none'] } }]) {
    t.deepEqual(await Array.fromAsync(reader.readAll(options)), await Array.fromAsync(store.readAll(options)));
  }
  for await (const event of reader.readAll()) {
    t.is(event.revision, 0);
    break;
  }
  const reading = reader.readAll()[Symbol.asyncIterator]();
  await reading.next();
  await rm(path);
  // The thread of the first read has the file open; that of the next one finds none.
  t.is((await reading.next()).value.revision, 1);
  await reading.return?.();
  await t.throwsAsync(Array.fromAsync(reader.readAll()), { code: 'no_log' });
});

test('a thread checkpoints the write-ahead log during appends, and the log restarts', async (t) => {
  const path = await newPath(t);
  const store = await openSqliteEventStore({ path, checkpoint_pages: 100, checkpoint_thread: true });
  t.teardown(() => store.close());
  const beside = new DatabaseSync(path);
  t.teardown(() => beside.close());
  const pages = () => (beside.prepare('PRAGMA wal_checkpoint(NOOP)').get() as { log: number }).log;
  const large = () => newEvents(1).map((event) => ({ ...event, data: { text: 'x'.repeat(500_000) } }));
  let { revision } = await appended(store.append('s', 'no_stream', large()));
  t.true(pages() > 100);
  for (let before = 0; pages() >= before; ) {
    before = pages();
    ({ revision } = await appended(store.append('s', revision, large())));
  }
  t.is((await Array.fromAsync(store.readStream('s'))).length, revision + 1);
});

test('the checkpoint thread empties the write-ahead log after a deletion, and appends continue', async (t) => {
  const path = await newPath(t);
  const store = await openSqliteEventStore({ path, checkpoint_thread: true });
  t.teardown(() => store.close());
  await appended(store.append('s', 'no_stream', [newEvent({ text: 'a secret' })]));
  const wal = () => readFileSync(`${path}-wal`);
  t.true(wal().includes('a secret'));
  await store.deleteStream('s');
  while (wal().length > 0) await delay(20);
  t.false(readFileSync(path).includes('a secret'));
  await appended(store.append('s2', 'no_stream', newEvents(1)));
});

test('a page ends at its size limit, also when events are large', async (t) => {
  const store = await openStore(t, await newPath(t));
  const events = Array.from({ length: 12 }, (_, n) => newEvent({ n, text: 'x'.repeat(1_000_000) }));
  await fill(store, 'large-1', events);
  const sizes: number[] = [];
  for await (const batch of store.subscribe({ signal: new AbortController().signal })) {
    sizes.push(batch.events.length);
    if (batch.position === (await store.head())) break;
  }
  t.deepEqual(sizes, [5, 5, 2]);
  t.is((await Array.fromAsync(store.readStream('large-1'))).length, 12);
});

test('a subscription at the end of the log collects quick successive appends', async (t) => {
  const store = await openStore(t, await newPath(t));
  const read_at: number[] = [];
  let events_read = 0;
  const reading = (async () => {
    for await (const { events } of store.subscribe({ signal: new AbortController().signal })) {
      read_at.push(performance.now());
      events_read += events.length;
      if (events_read === 50) return;
    }
  })();
  for (let n = 0; n < 50; n++) await store.append(`one-${n}`, 'no_stream', newEvents(1));
  await reading;
  // A look starts before its result is here, so that the next one may seem too early.
  const lasted_ms = read_at.at(-1)! - read_at[0]!;
  t.true(read_at.length <= 2 + lasted_ms / 10, `${read_at.length} looks in ${lasted_ms} ms`);
});

test('reading a short stream waits for no turn of the event loop', async (t) => {
  const store = await openSqliteEventStore({ path: await newPath(t) });
  t.teardown(() => store.close());
  await store.append('count-1', 'no_stream', newEvents(10));
  let turns = 0;
  const turn = nextTurn().then(() => turns++);
  t.is((await Array.fromAsync(store.readStream('count-1'))).length, 10);
  t.is((await Array.fromAsync(store.readStream('count-1', { direction: 'backwards', limit: 1 }))).length, 1);
  t.is(turns, 0);
  await turn;
});
