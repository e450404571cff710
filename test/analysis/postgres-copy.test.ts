// A copy in PostgreSQL has what SQL over the log has, after new events, deleted jobs, other tables and kill -9 at each step.
import { execFile } from 'node:child_process';
import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { openCopy } from '../../analysis/copy.ts';
import { publishToPostgres } from '../../analysis/postgres-copy.ts';
import type { StoredLog } from '../../events/event-store.ts';
import { fillAnalysed } from '../support/analysed-log.ts';
import { fillLedger } from '../support/audited-ledger.ts';
import { rowsOfLog, rowTexts, type TableRows } from '../support/copied-rows.ts';
import { folder, named, ops } from '../support/filled-log.ts';
import { asked, askedEach, findPostgres, type Postgres, startPostgres } from '../support/postgres.ts';

const bin = findPostgres();
const test = (bin === null ? anyTest.serial.skip : anyTest.serial) as TestFn;
const PROGRAM = join(import.meta.dirname, 'publishing-until.ts');
let server: Postgres;
anyTest.before(async () => {
  if (bin !== null) server = await startPostgres(bin);
});
anyTest.after.always(() => server?.remove());

const inSchema = (schema: string) => `${server.url}?schema=${schema}`;

async function filled(t: ExecutionContext, fill: (log: StoredLog) => Promise<unknown> = fillAnalysed) {
  const at = await folder(t);
  const path = join(at, 'events.db');
  const log = await openSqliteEventStore({ path });
  t.teardown(() => log.close());
  await fill(log);
  return { at, path, log, file: join(at, 'copy.duckdb') };
}

async function purge(log: StoredLog, job_id: string): Promise<void> {
  for (const stream of [`urls-${job_id}`, `checks-${job_id}-0`]) await log.deleteStream(stream);
}

/** Returns the number of steps. */
async function publish(log: StoredLog, file: string, place: string): Promise<number> {
  const copy = await openCopy(file, log);
  let steps = 0;
  try {
    await copy.advance(log);
    await copy.forget(log);
    await publishToPostgres(copy, place, join(file, '..'), () => void (steps += 1));
  } finally {
    await copy.close();
  }
  return steps;
}

async function assertSame(t: ExecutionContext, wanted: TableRows, schema: string): Promise<void> {
  const names = [...wanted.keys()];
  const found = await askedEach(
    server.url,
    names.map((name) => `SELECT * FROM ${schema}.${name}`),
  );
  for (const [n, name] of names.entries()) t.deepEqual(rowTexts(found[n]!), wanted.get(name)!, name);
}

test('events copy keeps a schema of PostgreSQL: only what is new is sent, and what the log has lost goes', async (t) => {
  const { at, log } = await filled(t);
  await log.append('user-nul', 'no_stream', [named(undefined, 'a\\N"\u0000\nb')]);
  const copy = () => ops({ DATA_DIR: at }, 'copy', '--to', inSchema('one'));
  const first = await copy();
  t.is(first.code, 0, first.stderr);
  const [[text]] = (await asked(server.url, "SELECT name FROM one.usernamed WHERE stream = 'user-nul'")) as [[string]];
  t.is(text, 'a\\N"\nb');
  await log.deleteStream('user-nul');
  await fillLedger(log);
  await purge(log, 'jan-1');
  t.regex((await copy()).stdout, /^\d+ events added, 3 events removed/);
  const wanted = await rowsOfLog(log);
  await assertSame(t, wanted, 'one');
  const rows = () => asked(server.url, 'SELECT xmin::text, position FROM one.jobcreated ORDER BY position');
  const before = await rows();
  t.is((await copy()).code, 0);
  t.deepEqual(await rows(), before, 'rows that are there are not sent again');
  // The working copy may be lost: nothing is twice then.
  await rm(join(at, 'copies'), { recursive: true });
  t.is((await copy()).code, 0);
  await assertSame(t, wanted, 'one');
  t.deepEqual(await rows(), before);
});

test('tables of another version are made anew, and a schema of somebody else is refused', async (t) => {
  const { at, log, file } = await filled(t);
  await publish(log, file, inSchema('two'));
  await asked(server.url, "UPDATE two.copied SET version = 'older'");
  await asked(server.url, "UPDATE two.copied_tables SET definition = 'older' WHERE name = 'JobCreated'");
  await asked(server.url, 'ALTER TABLE two.jobcreated DROP COLUMN source');
  await asked(server.url, 'CREATE VIEW two.hosts AS SELECT DISTINCT host FROM two.urls');
  await publish(log, file, inSchema('two'));
  await assertSame(t, await rowsOfLog(log), 'two');
  t.true((await asked(server.url, 'SELECT * FROM two.hosts')).length > 0);

  await asked(server.url, 'CREATE SCHEMA mine');
  await asked(server.url, 'CREATE TABLE mine.notes (text text)');
  const copy = (place: string) => ops({ DATA_DIR: at }, 'copy', '--to', place);
  t.regex((await copy(inSchema('mine'))).stderr, /tables that are no copy of events/);
  const other = await filled(t, fillLedger);
  await t.throwsAsync(publish(other.log, other.file, inSchema('two')), { message: /a copy of another log/ });
});

test('a machine with a copy of an earlier position takes over without a row twice, and the other one is refused', async (t) => {
  const { at, log, file } = await filled(t);
  const behind = await openCopy(join(at, 'behind.duckdb'), log);
  t.teardown(() => behind.close());
  await behind.advance(log);
  await fillLedger(log);
  await publish(log, file, inSchema('taken'));
  await publishToPostgres(behind, inSchema('taken'), at);
  await behind.advance(log);
  await publishToPostgres(behind, inSchema('taken'), at);
  const wanted = await rowsOfLog(log);
  await assertSame(t, wanted, 'taken');
  await t.throwsAsync(publish(log, file, inSchema('taken')), {
    message: /another machine has brought its copy there/,
  });
  await assertSame(t, wanted, 'taken');
});

test('a call that is killed at any step leaves what was there, or all that is new', async (t) => {
  t.timeout(300_000);
  const { at, path, log, file } = await filled(t);
  const killed = [0, 1, 2, 10, 20].map((step) => ({ step, schema: `killed_${step}` }));
  await publish(log, file, inSchema('whole'));
  const kept = join(at, 'kept.duckdb');
  await copyFile(file, kept);
  for (const { schema } of killed) {
    await copyFile(kept, file);
    await publish(log, file, inSchema(schema));
  }
  await copyFile(kept, file);
  await fillLedger(log);
  await purge(log, 'jan-2');
  const steps = await publish(log, file, inSchema('whole'));
  const wanted = await rowsOfLog(log);
  t.true(steps > 20, String(steps));
  const reached = (schema: string) => asked(server.url, `SELECT position FROM ${schema}.copied`);
  const [before, after] = [await reached('killed_0'), await reached('whole')];
  // Before the commit and after it, too.
  killed[3]!.step = steps - 2;
  killed[4]!.step = steps - 1;
  for (const { step, schema } of killed) {
    const own = join(at, `${schema}.duckdb`);
    await copyFile(kept, own);
    const args = [PROGRAM, path, own, inSchema(schema), at, String(step)];
    const killed = promisify(execFile)(process.execPath, args, { env: { ...process.env, TMPDIR: at } });
    await t.throwsAsync(killed, { message: /Command failed/ });
    t.deepEqual(await reached(schema), step === steps - 1 ? after : before);
    await publish(log, own, inSchema(schema));
    await assertSame(t, wanted, schema);
  }
});
