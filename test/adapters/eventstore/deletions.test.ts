// Deletions in the embedded log: large streams go in slices, many streams together, and a killed deletion goes on.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test, { type ExecutionContext } from 'ava';
import { openSqliteEventStore } from '../../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { fill, newEvents } from '../../contracts/event-store/fixture.ts';

async function openLog(t: ExecutionContext) {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-deletions-'));
  const path = join(folder, 'events.db');
  const log = await openSqliteEventStore({ path });
  const behind = new DatabaseSync(path);
  t.teardown(async () => {
    behind.close();
    await log.close();
    await rm(folder, { recursive: true, force: true });
  });
  const rows = () => (behind.prepare('SELECT count(*) AS n FROM events').get() as { n: number }).n;
  return { log, behind, rows };
}

test('the events of a large stream are hidden at once, and removed in slices', async (t) => {
  const { log, rows } = await openLog(t);
  await fill(log, 'urls-1', newEvents(9_000));
  await fill(log, 'urls-2', newEvents(3));
  const deleting = log.deleteStream('urls-1');
  const seen: number[] = [];
  let is_done = false;
  void deleting.then(() => (is_done = true));
  const look = async () => {
    t.deepEqual(await Array.fromAsync(log.readStream('urls-1')), []);
    t.is((await Array.fromAsync(log.readAll())).length, 3);
    t.deepEqual(await log.append('urls-1', 'no_stream', newEvents(1)), {
      ok: false,
      conflict: true,
      actual: 'no_stream',
    });
  };
  // The slices go on while the log is read.
  let looked: Promise<void> | null = null;
  while (!is_done) {
    await new Promise(setImmediate);
    const left = rows();
    if (left === 9_003) continue;
    seen.push(left);
    looked ??= look();
  }
  await looked;
  t.true(new Set(seen).size > 2, `rows on the way: ${[...new Set(seen)]}`);
  t.is(rows(), 3);
});

test('many streams are deleted in a few transactions', async (t) => {
  const { log, behind, rows } = await openLog(t);
  const names = Array.from({ length: 1_000 }, (_, n) => `checks-1-${n}`);
  await Promise.all(names.map((name) => fill(log, name, newEvents(2))));
  const version = () => (behind.prepare('PRAGMA data_version').get() as { data_version: number }).data_version;
  const before = version();
  let changes = 0;
  let last = before;
  const deleting = Promise.all(names.map((name) => log.deleteStream(name)));
  let is_done = false;
  void deleting.then(() => (is_done = true));
  while (!is_done) {
    await new Promise(setImmediate);
    if (version() !== last) changes += 1;
    last = version();
  }
  t.is(rows(), 0);
  t.true(changes >= 1 && changes <= 10, `${changes} transactions`);
});

test('events that a killed deletion has left are hidden, and removed by the next one', async (t) => {
  const { log, behind, rows } = await openLog(t);
  await fill(log, 'urls-1', newEvents(5));
  behind.exec("UPDATE streams SET deleted = 1 WHERE name = 'urls-1'");
  t.deepEqual(await Array.fromAsync(log.readStream('urls-1')), []);
  t.deepEqual(await Array.fromAsync(log.readAll()), []);
  t.like(await log.append('urls-1', 4, newEvents(1)), { ok: false, actual: 'no_stream' });
  t.is(rows(), 5);
  await log.deleteStream('urls-1');
  t.is(rows(), 0);
});
