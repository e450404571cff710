// `npm run ops -- events query`: where the SQL comes from, its parameters and time zone, and the forms of its answer.
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { filledFolder, folder, lines, named, ops } from '../support/filled-log.ts';
import { opsHere } from '../support/run-ops.ts';
import { runProgram } from '../support/run-program.ts';

/** The answer of a process of its own, whose time zone is another. */
async function inBerlin(t: ExecutionContext, DATA_DIR: string, sql: string): Promise<string> {
  const { code, stdout, stderr } = await runProgram('ops', ['events', 'query', '--json', sql], {
    DATA_DIR,
    TZ: 'Europe/Berlin',
  });
  t.is(code, 0, stderr);
  return stdout;
}

test('the time zone of a query is UTC, whatever that of the machine is, until the query sets another', async (t) => {
  const at = new Date(Date.now() - 10 * 60_000).toISOString();
  const DATA_DIR = await filledFolder(t, (log) => log.append('user-late', 'no_stream', [named(at)]));
  const recent = 'SELECT count(*) AS n FROM UserNamed WHERE recorded_at > now() - INTERVAL 45 MINUTE';
  t.is(await inBerlin(t, DATA_DIR, recent), '{"n":1}\n');
  t.is(await inBerlin(t, DATA_DIR, `SET TimeZone = 'America/New_York'; ${recent}`), '{"n":1}\n');
  const day =
    "SELECT date_trunc('day', recorded_at) AS day, recorded_at AS at FROM UserNamed WHERE stream = 'user-dora'";
  t.is(await inBerlin(t, DATA_DIR, day), '{"day":"2026-02-03T00:00:00.000Z","at":"2026-02-03T10:00:00.000Z"}\n');
  t.is(
    await inBerlin(t, DATA_DIR, `SET TimeZone = 'Asia/Kolkata'; ${day}`),
    '{"day":"2026-02-03T00:00:00.000+05:30","at":"2026-02-03T15:30:00.000+05:30"}\n',
  );
});

test('a name is found in any case, and an unknown one names the nearest', async (t) => {
  const DATA_DIR = await filledFolder(t);
  t.deepEqual(await lines(t, { DATA_DIR }, 'query', '--json', 'SELECT count(*) AS n FROM "usernamed"'), [
    { n: 1 },
  ] as never);
  t.regex(
    (await ops({ DATA_DIR }, 'query', 'FROM JobCreate')).stderr,
    /JobCreate does not exist!\nDid you mean "JobCreated/,
  );
  t.regex((await ops({ DATA_DIR }, 'query', 'SELECT total FROM jobs')).stderr, /"total" not found[\s\S]*total_urls/);
});

test('SQL comes from a file or standard input, with comments first and several statements', async (t) => {
  const DATA_DIR = await filledFolder(t);
  const sql = `-- who; named what\n/* twice */\nCREATE MACRO names() AS (SELECT count(*) FROM UserNamed);\nSELECT names() AS n;\nSELECT count(*) AS m FROM jobs;\n`;
  const file = join(DATA_DIR, 'names.sql');
  await writeFile(file, sql);
  const expected = '{"n":1}\n{"m":8}\n';
  t.is((await ops({ DATA_DIR }, 'query', '--json', '--sql', file)).stdout, expected);
  for (const words of [['-'], ['--sql', '-'], []]) {
    const { stdout } = await opsHere(['events', 'query', '--json', ...words], { DATA_DIR }, sql);
    t.is(stdout, expected, words.join(' '));
  }
  t.is((await ops({ DATA_DIR }, 'query', '--sql', file)).stdout, 'n\n1\n\nm\n8\n');
  t.like(await ops({ DATA_DIR }, 'query', '--sql', file, 'SELECT 1'), { code: 2 });
  t.regex((await ops({ DATA_DIR }, 'query', '--sql', join(DATA_DIR, 'none.sql'))).stderr, /no such file/);
});

test('what is read within a transaction that the SQL rolls back is read again', async (t) => {
  const DATA_DIR = await filledFolder(t);
  const counts = (...tables: string[]) => tables.map((table) => `SELECT count(*) AS n FROM ${table}`).join('; ');
  const tables = ['UserNamed', 'jobs', 'urls', 'events', 'JobCreated'];
  const expected = await lines(t, { DATA_DIR }, 'query', '--json', counts(...tables));
  t.false(JSON.stringify(expected).includes('"n":0'));
  for (const begun of tables) {
    const sql = `BEGIN; ${counts(begun)}; ROLLBACK; ${counts(...tables)}`;
    t.deepEqual((await lines(t, { DATA_DIR }, 'query', '--json', sql)).slice(1), expected, sql);
  }
});

test('parameters have the types that the SQL expects, and each must be given and used', async (t) => {
  const DATA_DIR = await filledFolder(t);
  const ask = (sql: string, ...pairs: string[]) =>
    ops({ DATA_DIR }, 'query', '--json', sql, ...pairs.flatMap((pair) => ['--param', pair]));
  const many = 'SELECT count(*) AS n FROM JobCreated WHERE total_urls > $least AND owner_id = $who';
  t.is((await ask(many, 'least=29', 'who=alice')).stdout, '{"n":2}\n');
  t.is((await ask('SELECT count(*) AS n FROM JobCreated WHERE total_urls > ?', '1=1000')).stdout, '{"n":0}\n');
  t.is(
    (await ask('SELECT count(*) AS n FROM UserNamed WHERE recorded_at > $since', 'since=2026-02-03')).stdout,
    '{"n":1}\n',
  );
  t.is((await ask('SELECT $text AS text', "text='; DROP VIEW jobs; --")).stdout, `{"text":"'; DROP VIEW jobs; --"}\n`);
  t.regex((await ask(many, 'least=29')).stderr, /the parameter who has no value/);
  t.regex((await ask(many, 'least=29', 'who=a', 'other=1')).stderr, /no statement has the parameter other/);
  t.regex((await ask(many, 'least=many', 'who=a')).stderr, /Could not convert string 'many'/);
  t.regex((await ask(many, 'least')).stderr, /--param least: it must be NAME=VALUE/);
});

test('an answer goes to a file as CSV, JSON lines or Parquet, which is there whole or not at all', async (t) => {
  const [DATA_DIR, out] = [await filledFolder(t), await folder(t)];
  const sql = 'SELECT job_id, total_urls, created_at FROM jobs ORDER BY total_urls, job_id';
  const rows = await lines(t, { DATA_DIR }, 'query', '--json', sql);
  t.is(rows.length, 8);
  for (const [name, format] of [
    ['a.csv', []],
    ['a.jsonl', []],
    ['a.parquet', []],
    ['b', ['--format', 'parquet']],
  ] as const) {
    const path = join(out, name);
    t.is((await ops({ DATA_DIR }, 'query', '--output', path, ...format, sql)).code, 0, name);
    t.is((await stat(path)).mode & 0o077, 0);
  }
  t.is((await readFile(join(out, 'a.csv'), 'utf8')).split('\n').length, 10);
  t.false((await readFile(join(out, 'a.csv'), 'utf8')).includes('\r'));
  t.deepEqual(
    (await readFile(join(out, 'a.jsonl'), 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
    rows,
  );
  t.is((await readFile(join(out, 'a.parquet'))).subarray(0, 4).toString(), 'PAR1');
  const wrong = join(out, 'c.parquet');
  t.regex((await ops({ DATA_DIR }, 'query', '--output', wrong, 'FROM jobs; FROM jobs')).stderr, /several give rows/);
  t.regex(
    (await ops({ DATA_DIR }, 'query', '--output', wrong, 'CREATE TABLE one AS SELECT 1')).stderr,
    /no statement gives rows/,
  );
  t.regex((await ops({ DATA_DIR }, 'query', '--output', wrong, 'FROM nothing')).stderr, /does not exist/);
  t.regex((await ops({ DATA_DIR }, 'query', '--format', 'parquet', 'FROM jobs')).stderr, /it needs --output FILE/);
  await t.throwsAsync(stat(wrong));
});
