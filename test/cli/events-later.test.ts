// `npm run ops -- events …` over a log with events of a later version of the service: analysts get all others, and are told of these.
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test, { type ExecutionContext } from 'ava';
import { openDatabase } from '../../analysis/duckdb.ts';
import { filledFolder, NAMED_AT, ops } from '../support/filled-log.ts';

const TOLD = /3 events are of a later version of the service, and left as recorded \(2 JobCreated, 1 JobSplit\)/;
const CHANGED = { job_id: 7, urls: { how: 'otherwise' } };

/** The streams of two jobs of version 99, and an event of a type that this version does not have. */
function withLater(t: ExecutionContext): Promise<string> {
  const event = (type: string, version = 99) => ({
    ...{ id: randomUUID(), type, data: CHANGED },
    metadata: { command_id: 'c', causation_id: 'r', actor: 'user:dora', at: NAMED_AT, version },
  });
  return filledFolder(t, async (log) => {
    await log.append('job-later-1', 'no_stream', [event('JobCreated'), event('JobSplit', 1)]);
    await log.append('job-later-2', 'no_stream', [event('JobCreated', 1.5)]);
  });
}

const JOBS = 8;

test('events query answers without the events of later versions, and says which they are', async (t) => {
  const DATA_DIR = await withLater(t);
  const ask = async (...args: string[]) => {
    const { code, stdout, stderr } = await ops({ DATA_DIR }, 'query', ...args);
    t.is(code, 0, stderr);
    return { stderr, rows: stdout.trimEnd().split('\n').slice(1) };
  };
  const typed = await ask('SELECT count(*) FROM JobCreated; SELECT count(*) FROM jobs; FROM JobCreated');
  t.regex(typed.rows.join('\n'), new RegExp(`^ +${JOBS}\n\ncount.*\n +${JOBS}\n`));
  t.regex(typed.stderr, /^2 events are of a later version of the service, and left as recorded \(2 JobCreated\)/m);
  const all = await ask("SELECT type, version, data FROM events WHERE stream LIKE 'job-later%' ORDER BY position");
  const data = JSON.stringify(CHANGED);
  t.deepEqual(
    all.rows.map((row) => row.split(/ {2,}/)),
    [
      ['JobCreated', '99', data],
      ['JobSplit', '1', data],
      ['JobCreated', '0', data],
    ].map(([type, version, text]) => [type!, version!, text!]),
  );
  t.regex(all.stderr, TOLD);
  t.regex((await ask('--unseal', '--stream', 'job-later-1', 'FROM events')).stderr, /1 JobCreated, 1 JobSplit/);
  t.notRegex((await ask('SELECT count(*) FROM CreditsGranted')).stderr, /later version/);
});

test('events read, count and export pass them on as they are recorded, and files of them are read alike', async (t) => {
  const DATA_DIR = await withLater(t);
  for (const [...words] of [['read'], ['count'], ['read', '--json'], ['read', '--unseal', '--json']]) {
    const { code, stdout, stderr } = await ops({ DATA_DIR }, ...words);
    t.is(code, 0, stderr);
    t.regex(stderr, TOLD);
    if (words.includes('--json')) t.is(stdout.split(`"data":${JSON.stringify(CHANGED)}`).length, 4);
  }
  for (const name of ['log.jsonl', 'log.parquet']) {
    const file = join(DATA_DIR, name);
    const { code, stderr } = await ops({ DATA_DIR }, 'export', '--out', file);
    t.is(code, 0, stderr);
    t.regex(stderr, /events, the last at position \d+\. 3 events are of a later version/);
    const again = await ops(
      { DATA_DIR },
      'query',
      '--file',
      file,
      'SELECT count(*) FROM JobCreated JOIN events USING (position)',
    );
    t.is(again.code, 0, again.stderr);
    t.regex(again.stdout, new RegExp(` ${JOBS}\n`));
    t.regex(again.stderr, TOLD);
  }
  const lines = (await readFile(join(DATA_DIR, 'log.jsonl'), 'utf8')).trimEnd().split('\n');
  t.true(lines.some((line) => line.includes('"version":99')));
  const summary = await ops({ DATA_DIR }, 'export', '--json', '--out', join(DATA_DIR, 'log.csv'));
  t.deepEqual(JSON.parse(summary.stderr.trimEnd().split('\n').at(-1)!).later, { JobCreated: 2, JobSplit: 1 });
});

test('a copy has them among its events, and in the tables of their types when the service reads them', async (t) => {
  const DATA_DIR = await withLater(t);
  const file = join(DATA_DIR, 'copy.duckdb');
  const copy = () => ops({ DATA_DIR }, 'copy', '--to', file);
  const ask = async (sql: string) => {
    const database = await openDatabase(file);
    return database.all(sql).finally(() => database.close());
  };
  const first = await copy();
  t.is(first.code, 0, first.stderr);
  t.regex(first.stderr, TOLD);
  t.deepEqual(await ask("SELECT count(*) FROM events WHERE stream LIKE 'job-later%'"), [[3]]);
  t.deepEqual(await ask('SELECT count(*) FROM JobCreated'), [[JOBS]]);
  t.is((await copy()).stderr, '', 'what is there is not told again');

  // The later service reads its own version, and so its tables have another version than the copy.
  const db = new DatabaseSync(join(DATA_DIR, 'events.db'));
  db.exec("UPDATE events SET metadata = replace(metadata, ',\"version\":99', '') WHERE type = 'JobCreated'");
  db.close();
  await ask("UPDATE copied SET version = 'older'");
  t.regex((await copy()).stderr, /2 events .* \(1 JobSplit, 1 JobCreated\)/);
  t.deepEqual(await ask('SELECT count(*) FROM JobCreated'), [[JOBS + 1]]);
});
