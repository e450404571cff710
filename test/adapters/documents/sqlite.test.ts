// Documents in SQLite: the port's promises, and those of one file that several threads and processes share.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import test from 'ava';
import { openSqliteDocuments } from '../../../adapters/documents/sqlite/sqlite-documents.ts';
import type { Documents } from '../../../readmodels/documents.ts';
import { fill, THINGS, type Thing } from '../../contracts/documents/fixture.ts';
import { documentsContract, type Opened } from '../../contracts/documents.ts';
import { BATCH, COUNTERS } from './counters.ts';

const PROGRAM = new URL('./sharing-program.ts', import.meta.url);

/** Readers start two threads for each of these tests, all at once. */
const READ_MS = 120_000;

async function open(options: { readers?: number } = {}): Promise<Opened & { path: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'documents-'));
  const path = join(folder, 'new folder', 'documents.db');
  const opened: Documents[] = [];
  const reopen = async () => {
    const documents = await openSqliteDocuments({ path, read_ms: READ_MS, ...options });
    opened.push(documents);
    return documents;
  };
  const close = async () => {
    await Promise.all(opened.map((documents) => documents.close()));
    await rm(folder, { recursive: true });
  };
  return { documents: await reopen(), reopen, close, path };
}

documentsContract(test, 'documents in SQLite', { open });
documentsContract(test, 'documents in SQLite, read by threads', { open: () => open({ readers: 2 }) });

for (const readers of [0, 2]) {
  test(`documents in SQLite: a page of long documents is whole, with ${readers} readers`, async (t) => {
    const { documents, close } = await open({ readers });
    try {
      const counters = await documents.collection(COUNTERS);
      const count = 80;
      const padding = 'x'.repeat(200_000);
      for (let n = 0; n < count; n += 20) {
        const insert = (_: unknown, i: number) => ({
          insert: { _id: String(n + i).padStart(4, '0'), n: n + i, padding },
        });
        await counters.write(Array.from({ length: 20 }, insert));
      }
      const ids = (await counters.find({}, { sort: { _id: -1 }, skip: 3, limit: 70 })).map(({ _id }) => _id);
      t.deepEqual(
        ids,
        Array.from({ length: 70 }, (_, n) => String(count - 4 - n).padStart(4, '0')),
      );
    } finally {
      await close();
    }
  });
}

test('documents in SQLite: two threads and two processes share a file and lose nothing', async (t) => {
  const { documents, path, close } = await open();
  try {
    const counters = await documents.collection(COUNTERS);
    const threads = [1, 2].map(() => new Worker(PROGRAM, { workerData: [path, 'increment', '100'] }));
    const process = fork(PROGRAM, [path, 'increment', '100'], { execArgv: [] });
    const ends = [...threads, process].map((end) => once(end, 'exit'));
    for (let n = 0; n < 100; n += 1) {
      await counters.write([{ update: 'counter', set: { $inc: { n: 1 } }, upsert: true }]);
    }
    for (const [code] of await Promise.all(ends)) t.is(code, 0);
    t.deepEqual(await counters.get('counter'), { _id: 'counter', n: 400 });
  } finally {
    await close();
  }
});

test('documents in SQLite: a process that is killed during a write leaves a whole file with every committed batch', async (t) => {
  const { documents, path, close } = await open();
  try {
    const counters = await documents.collection(COUNTERS);
    let committed = 0;
    for (const batches of [3, 11]) {
      await counters.write([{ deleteMany: {} }]);
      const writer = fork(PROGRAM, [path, 'write'], { execArgv: [] });
      writer.on('message', (batch) => {
        committed = Number(batch) + 1;
        if (committed === batches) writer.kill('SIGKILL');
      });
      const [, signal] = await once(writer, 'close');
      t.is(signal, 'SIGKILL');
      const { n } = (await counters.get('batches'))!;
      t.true(n >= committed, `${n} batches, of which ${committed} were told`);
      t.is(await counters.count({ batch: { $gte: 0 } }), n * BATCH);
      const file = new DatabaseSync(path, { readOnly: true });
      t.deepEqual({ ...file.prepare('PRAGMA integrity_check').get() }, { integrity_check: 'ok' });
      file.close();
      await counters.write([{ insert: { _id: 'goes on', n: 0 } }]);
    }
  } finally {
    await close();
  }
});

test('documents in SQLite: reads succeed while a transaction of another instance is open', async (t) => {
  const { documents, reopen, close } = await open();
  try {
    const other = await reopen();
    await fill(documents, 10, (n) => ({ n }));
    const things = await documents.collection<Thing>(THINGS);
    const order: string[] = [];
    const held = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const holder = other.transaction(async (inside) => {
      await (await inside.collection<Thing>(THINGS)).write([{ deleteMany: {} }]);
      begun.resolve();
      await held.promise;
      order.push('first');
    });
    await begun.promise;
    const waiting = things.write([{ insert: { _id: 'late' } }]).then(() => order.push('second'));
    t.is(await things.count({}), 10);
    held.resolve();
    await Promise.all([holder, waiting]);
    t.deepEqual(order, ['first', 'second']);
    t.is(await things.count({}), 1);
  } finally {
    await close();
  }
});

test('documents in SQLite: pages and counts from an index alone are right', async (t) => {
  const { documents, close } = await open();
  try {
    await fill(documents, 100, (n) => ({ n, group: `g${n % 2}`, text: `t${n}`, flag: n % 3 === 0 }));
    const things = await documents.collection<Thing>(THINGS);
    const filter = { group: 'g0', flag: true, text: { $contains: 'T' } };
    const expected = Array.from({ length: 17 }, (_, n) => n * 6);
    t.deepEqual(
      (await things.find(filter, { sort: { n: 1 } })).map(({ n }) => n),
      expected,
    );
    t.deepEqual(
      (await things.find(filter, { sort: { n: -1 } })).map(({ n }) => n),
      expected.toReversed(),
    );
    t.deepEqual(
      (await things.find(filter, { sort: { n: 1 }, after: [84, ''] })).map(({ n }) => n),
      [84, 90, 96],
    );
    t.is(await things.count(filter), 17);
  } finally {
    await close();
  }
});
