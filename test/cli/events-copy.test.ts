// `npm run ops -- events copy`: to a file of DuckDB and to a folder of Parquet, once and for as long as it follows.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { COPIED_TABLES } from '../../analysis/copy.ts';
import { openDatabase } from '../../analysis/duckdb.ts';
import { fillAnalysed } from '../support/analysed-log.ts';
import { until } from '../support/behind.ts';
import { filledFolder, folder, ops } from '../support/filled-log.ts';

const OPS = join(import.meta.dirname, '../../cli/ops.ts');

async function ask(sql: string, file?: string): Promise<readonly unknown[]> {
  const database = await openDatabase(file);
  return database.all(sql).finally(() => database.close());
}

test('a folder has a file of Parquet for each table, and only those that change are written again', async (t) => {
  const [DATA_DIR, out] = [await filledFolder(t), join(await folder(t), 'tables')];
  const first = await ops({ DATA_DIR }, 'copy', '--to', out);
  t.is(first.code, 0, first.stderr);
  t.regex(first.stdout, /^\d+ events added, 0 events removed, up to position \d{16}\n$/);
  const files = (await readdir(out)).filter((name) => name.endsWith('.parquet'));
  t.true(files.includes('urls.parquet') && files.includes('JobCreated.parquet') && files.includes('jobs.parquet'));
  t.deepEqual(
    files.filter((name) => !COPIED_TABLES.includes(name.replace('.parquet', ''))),
    [],
  );
  t.deepEqual(await ask(`SELECT count(*), any_value(typeof(recorded_at)) FROM '${out}/JobCreated.parquet'`), [
    [8, 'TIMESTAMP WITH TIME ZONE'],
  ]);

  const written = async (name: string) => (await stat(join(out, name))).mtimeMs;
  const before = [await written('JobCreated.parquet'), await written('UserNamed.parquet')];
  t.regex((await ops({ DATA_DIR }, 'copy', '--to', out)).stdout, /^0 events added, 0 events removed/);
  t.deepEqual([await written('JobCreated.parquet'), await written('UserNamed.parquet')], before);
  const log = await openSqliteEventStore({ path: join(DATA_DIR, 'events.db') });
  await fillAnalysed(log);
  await log.close();
  t.is((await ops({ DATA_DIR }, 'copy', '--to', out, '--json')).code, 0);
  t.is(await written('UserNamed.parquet'), before[1]!);
  t.deepEqual(await ask(`SELECT count(*) FROM '${out}/JobCreated.parquet'`), [[12]]);
  t.deepEqual(
    (await readdir(out)).filter((name) => name.endsWith('.part')),
    [],
  );
});

test('events copy --follow takes what is appended and deleted while it runs, and Ctrl-C ends it', async (t) => {
  const [DATA_DIR, out] = [await filledFolder(t), await folder(t)];
  const file = join(out, 'copy.duckdb');
  const child = spawn(process.execPath, [OPS, 'events', 'copy', '--to', file, '--follow', '--json'], {
    env: { ...process.env, DATA_DIR },
  });
  t.teardown(() => child.kill('SIGKILL'));
  let said = '';
  child.stdout.on('data', (text) => (said += text));
  await until(() => said.includes('\n'));
  const log = await openSqliteEventStore({ path: join(DATA_DIR, 'events.db') });
  await fillAnalysed(log);
  const head = await log.head();
  await until(() => said.includes(head));
  await log.deleteStream('checks-jan-1-0');
  await until(() => /"removed":[1-9]/.test(said));
  await log.close();
  child.kill('SIGINT');
  t.deepEqual(await once(child, 'exit'), [0, null]);
  t.deepEqual(
    await ask(
      "SELECT count(*) FILTER (WHERE job_id = 'jan-1'), count(*) FILTER (WHERE job_id = 'jan-3') FROM urls",
      file,
    ),
    [[0, 12]],
  );
});

test('events copy --follow leaves the file to others while the log has nothing new', async (t) => {
  const [DATA_DIR, out] = [await filledFolder(t), await folder(t)];
  const file = join(out, 'copy.duckdb');
  const child = spawn(process.execPath, [OPS, 'events', 'copy', '--to', file, '--follow'], {
    env: { ...process.env, DATA_DIR },
  });
  t.teardown(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  let held: Awaited<ReturnType<typeof openDatabase>> | undefined;
  await until(async () => (held = await openDatabase(file).catch(() => undefined)) !== undefined);
  /** It reads when it looks at the log. */
  const reads = async () => Number(/^syscr: (\d+)/m.exec(await readFile(`/proc/${child.pid}/io`, 'utf8'))![1]);
  const before = await reads();
  await until(async () => child.exitCode !== null || (await reads()) > before + 50);
  t.is(child.exitCode, null);
  await held!.close();
  child.kill('SIGINT');
  t.deepEqual(await once(child, 'exit'), [0, null]);
});

test('events copy wants a place that it can write to', async (t) => {
  const DATA_DIR = await filledFolder(t);
  t.regex((await ops({ DATA_DIR }, 'copy')).stderr, /it needs --to PLACE/);
  t.regex(
    (await ops({ DATA_DIR }, 'copy', '--to', 'ftp://me:secret@host/x')).stderr,
    /^--to ftp:\/\/host\/x: it must be a file, a folder, /,
  );
  for (const place of ['s3://KEY:wJalr/secret@host/bucket', 'postgress://me:se/cret@host/x', 'ftp://me:s@cret@host/x'])
    t.notRegex((await ops({ DATA_DIR }, 'copy', '--to', place)).stderr, /cret/, place);
  t.regex(
    (await ops({ DATA_DIR }, 'copy', '--to', join(DATA_DIR, 'events.db', 'x'))).stderr,
    /ENOTDIR|not a directory/,
  );
});
