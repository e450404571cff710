// A copy has what SQL over the log has, after new events, deleted jobs and kill -9 at each step.
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { openCopy } from '../../analysis/copy.ts';
import { type Database, openDatabase } from '../../analysis/duckdb.ts';
import type { StoredLog } from '../../events/event-store.ts';
import { fillAnalysed } from '../support/analysed-log.ts';
import { fillLedger } from '../support/audited-ledger.ts';
import { rowsIn, rowsOfLog, type TableRows } from '../support/copied-rows.ts';
import { folder } from '../support/filled-log.ts';

async function assertSame(t: ExecutionContext, wanted: TableRows, copy: Database): Promise<void> {
  for (const [name, rows] of wanted) t.deepEqual(await rowsIn(copy, `FROM "${name}"`), rows, name);
}

/** The tables that what is deleted and what is left out would show in. */
const SOME = ['events', 'urls', 'jobs', 'UrlsListed', 'URLChecked'];

async function filled(t: ExecutionContext) {
  const at = await folder(t);
  const path = join(at, 'events.db');
  const log = await openSqliteEventStore({ path });
  t.teardown(() => log.close());
  await fillAnalysed(log);
  return { at, path, log, file: join(at, 'copy.duckdb') };
}

/** Deletes the streams of a job, as its purge does. */
async function purge(log: StoredLog, job_id: string): Promise<void> {
  for (const stream of [`urls-${job_id}`, `checks-${job_id}-0`]) await log.deleteStream(stream);
}

test('a copy has all tables of the log, adds only what is new, and loses what the log has lost', async (t) => {
  const { log, file } = await filled(t);
  const first = await openCopy(file, log);
  t.is(await first.advance(log), (await Array.fromAsync(log.readAll())).length);
  t.is(await first.forget(log), 0);
  await assertSame(t, await rowsOfLog(log), first.database);
  await first.close();

  await fillLedger(log);
  await purge(log, 'jan-1');
  const again = await openCopy(file, log);
  const news = await Array.fromAsync(log.readAll({ from: again.position }));
  t.true(news.length > 30);
  t.is(await again.advance(log), news.length);
  t.is(await again.forget(log), 2);
  t.is(await again.advance(log), 0);
  await assertSame(t, await rowsOfLog(log), again.database);
  const [left] = await again.database.all("SELECT count(*) FROM urls WHERE job_id = 'jan-1'");
  t.deepEqual(left, [0]);
  await again.close();
});

test('a deleted stream is looked for once, whoever opens the copy', async (t) => {
  const { log, file } = await filled(t);
  const gone = new Set<string>();
  const asked: string[] = [];
  const counted = {
    head: () => log.head(),
    deletedStreams(after: string) {
      asked.push(after);
      return log.deletedStreams(after);
    },
  };
  const forget = async (known?: Set<string>) => {
    const copy = await openCopy(file, log, known && { gone: known });
    await copy.advance(log);
    const removed = await copy.forget(counted);
    const [going] = await copy.database.all('SELECT count(*) FROM going_');
    await copy.close();
    return [removed, ...going!];
  };
  t.deepEqual(await forget(gone), [0, 0]);
  await purge(log, 'jan-1');
  const before = await log.head();
  t.deepEqual(await forget(gone), [2, 2]);
  t.is(gone.size, 2);
  await purge(log, 'jan-2');
  await log.deleteStream('checks-none-0');
  // A process that does not know them reads them from the copy.
  t.deepEqual(await forget(), [2, 3]);
  t.deepEqual(await forget(), [0, 3]);
  // Also where nothing was deleted, nobody looks again at what was looked at.
  t.deepEqual(asked, ['', before, before, before]);
});

test('a copy that is stopped ends with what it has, and goes on from there', async (t) => {
  const { log, file } = await filled(t);
  const stop = new AbortController();
  stop.abort();
  const copy = await openCopy(file, log);
  t.is(await copy.advance(log, stop.signal), 0);
  t.true((await copy.advance(log)) > 0);
  await assertSame(t, await rowsOfLog(log, SOME), copy.database);
  await copy.close();
});

test('a step of a copy has so many bytes, however large the events are', async (t) => {
  const { log, file } = await filled(t);
  const urls = Array.from({ length: 900 }, (_, n) => `https://example.com/${n}`.padEnd(1000, 'x'));
  const metadata = { command_id: randomUUID(), causation_id: 'c', actor: 'test', at: '2026-01-31T09:00:00.000Z' };
  for (let n = 0; n < 40; n++) {
    const data = { job_id: `large-${n}`, from_index: 0, urls };
    await log.append(`urls-large-${n}`, 'no_stream', [{ id: randomUUID(), type: 'UrlsListed', data, metadata }]);
  }
  let reads = 0;
  const counted: StoredLog = Object.create(log, {
    readAll: {
      value: (options: object) => {
        reads++;
        return log.readAll(options);
      },
    },
  });
  const copy = await openCopy(file, log);
  t.true((await copy.advance(counted)) > 40);
  // With the last one, which finds nothing.
  t.is(reads, 3);
  await copy.close();
});

test('a copy of another log, and a file that is no copy, are refused', async (t) => {
  const [one, other] = [await filled(t), await folder(t)];
  const log = await openSqliteEventStore({ path: join(other, 'events.db') });
  t.teardown(() => log.close());
  await t.throwsAsync(openCopy(one.file, log), { code: 'no_copy' });
  await fillLedger(log);
  await (await openCopy(one.file, one.log)).close();
  await t.throwsAsync(openCopy(one.file, log), { code: 'no_copy', message: /another log/ });
  const mine = join(other, 'mine.duckdb');
  const database = await openDatabase(mine);
  await database.run('CREATE TABLE mine AS SELECT 1');
  await database.close();
  await t.throwsAsync(openCopy(mine, log), { code: 'no_copy', message: /no copy of events/ });
});

test('a store that still gives the events of a deleted stream brings none of them back', async (t) => {
  const { log, file } = await filled(t);
  const events = await Array.fromAsync(log.readAll());
  await purge(log, 'jan-1');
  const keeping = {
    head: () => log.head(),
    deletedStreams: (after?: string) => log.deletedStreams(after),
    async *readAll({ from = '', limit = events.length }: { from?: string; limit?: number } = {}) {
      yield* events.filter(({ position }) => position > from).slice(0, limit);
    },
  } as unknown as StoredLog;
  const copy = await openCopy(file, keeping);
  await copy.forget(keeping);
  await copy.close();
  const again = await openCopy(file, keeping);
  t.teardown(() => again.close());
  await again.advance(keeping);
  t.is(await again.forget(keeping), 0);
  await assertSame(t, await rowsOfLog(log, SOME), again.database);
});

test('a copy that is killed at any step goes on as if it had not been', async (t) => {
  t.timeout(300_000);
  const { at, path, log, file } = await filled(t);
  const before = await openCopy(file, log);
  await before.advance(log);
  await before.close();
  await fillLedger(log);
  await purge(log, 'jan-2');
  const wanted = await rowsOfLog(log);
  const program = join(import.meta.dirname, 'copying-until.ts');
  // What a killed one leaves goes with the test.
  const env = { ...process.env, TMPDIR: at };
  const goOn = async (own: string, step?: () => void) => {
    const copy = await openCopy(own, log, { step });
    await copy.advance(log);
    await copy.forget(log);
    return copy;
  };
  const whole = join(at, 'whole.duckdb');
  await copyFile(file, whole);
  let steps = 0;
  await (await goOn(whole, () => void (steps += 1))).close();
  t.true(steps > 6, String(steps));
  for (let last = 0; last < steps; last += 1) {
    const own = join(at, `${last}.duckdb`);
    await copyFile(file, own);
    const killed = promisify(execFile)(process.execPath, [program, path, own, String(last)], { env });
    await t.throwsAsync(killed, { message: /Command failed/ }, `it is killed at step ${last}`);
    const copy = await goOn(own);
    await assertSame(t, wanted, copy.database);
    await copy.close();
  }
});
