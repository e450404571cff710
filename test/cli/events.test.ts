// `npm run ops -- events …`: over both event stores and over files of events.
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdir, readFile, readlink, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'ava';
import { openEventStoreDb } from '../../adapters/eventstore/eventstoredb/eventstoredb-event-store.ts';
import { writeBackup } from '../../backups/write-backup.ts';
import type { RecordedEvent } from '../../events/event-store.ts';
import { startEventStoreDbServer } from '../support/eventstoredb-server/eventstoredb-server.ts';
import { fileBlobs } from '../support/file-blobs.ts';
import { type Env, fill, filledFolder, folder, lines, NAMED_AT, named, ops } from '../support/filled-log.ts';
import { opsHere } from '../support/run-ops.ts';
import { silent } from '../support/stores.ts';

const unplaced = (events: readonly RecordedEvent[]) => events.map(({ position, ...event }) => event);

test('a log, a backup of it and its exports give the same events', async (t) => {
  const out = await folder(t);
  const blobs = await fileBlobs(out);
  const { signal } = new AbortController();
  const DATA_DIR = await filledFolder(t, (log) =>
    writeBackup({ backup_id: 'b', log, blobs, key: 'backups/b.ndjson.zst', now: 0, signal }),
  );
  const read = await lines(t, { DATA_DIR }, 'read', '--json');
  t.true(read.length > 30);
  for (const name of ['log.jsonl', 'log.parquet']) {
    t.is((await ops({ DATA_DIR }, 'export', '--out', join(out, name))).code, 0);
    t.deepEqual(await lines(t, {}, 'read', '--json', '--file', join(out, name)), read, name);
    t.is((await stat(join(out, name))).mode & 0o077, 0, 'nobody else may read it');
  }
  const of_backup = await lines(t, {}, 'read', '--json', '--file', join(out, 'backups/b.ndjson.zst'));
  t.deepEqual(unplaced(of_backup), unplaced(read));
  t.deepEqual(
    of_backup.map(({ position }) => position).sort(),
    of_backup.map(({ position }) => position),
  );

  t.is((await opsHere(['ledger', 'export', '--out', join(out, 'ledger.jsonl')], { DATA_DIR })).code, 0);
  const of_ledger = await lines(t, {}, 'read', '--json', '--file', join(out, 'ledger.jsonl'));
  const audited = ['credits-', 'job-', 'checks-', 'payment-'];
  t.deepEqual(
    of_ledger,
    read.filter(({ stream }) => audited.some((category) => stream.startsWith(category))),
  );
  t.deepEqual(
    (await readdir(out)).filter((name) => name.endsWith('.part')),
    [],
  );
});

test('an export goes where a link leads, and takes the place of nothing but a file', async (t) => {
  const [DATA_DIR, out] = [await filledFolder(t), await folder(t)];
  const [link, pipe] = [join(out, 'link.jsonl'), join(out, 'pipe.jsonl')];
  await writeFile(join(out, 'real'), 'old');
  await symlink(join(out, 'real'), link);
  execFileSync('mkfifo', [pipe]);
  t.is((await ops({ DATA_DIR }, 'export', '--out', link)).code, 0);
  t.is(await readlink(link), join(out, 'real'));
  t.regex(await readFile(join(out, 'real'), 'utf8'), /^\{"position"/);
  for (const place of [pipe, out]) {
    for (const format of ['jsonl', 'parquet'])
      t.like(await ops({ DATA_DIR }, 'export', '--format', format, '--out', place), {
        ...{ code: 2, stderr: `${place} is no file\n` },
      });
  }
  t.true((await stat(pipe)).isFIFO());
  t.deepEqual((await readdir(out)).sort(), ['link.jsonl', 'pipe.jsonl', 'real']);
});

test('events of EventStoreDB are read, counted, exported and asked', async (t) => {
  const [server, DATA_DIR] = [await startEventStoreDbServer(), await folder(t)];
  const log = await openEventStoreDb({ url: server.url, log: silent });
  try {
    await fill(log, DATA_DIR);
    const env = { EVENTSTORE_URL: server.url, DATA_DIR };
    const read = await lines(t, env, 'read', '--json');
    t.deepEqual((await lines(t, env, 'count', '--json'))[0], { events: read.length } as never);
    const [asked] = await lines(t, env, 'query', '--json', 'SELECT count(*) AS events FROM events');
    t.deepEqual(asked, { events: read.length } as never);
    t.is((await lines(t, env, 'read', '--json', '--from', read[3]!.position, '--to', read[9]!.position)).length, 6);
    t.is((await lines(t, env, 'read', '--json', '--stream', 'credits-alice'))[0]!.type, 'CreditsGranted');
    t.is((await ops(env, 'read', '--from', '12')).code, 2, 'a position of the other store');
    const [opened] = await lines(t, env, 'read', '--json', '--unseal', '--type', 'UserNamed');
    t.deepEqual(opened!.data, { name: '=Dora' });
  } finally {
    await log.close();
    await server.close();
  }
});

test('events are chosen by stream, category, type, position and time', async (t) => {
  const DATA_DIR = await filledFolder(t);
  const all = await lines(t, { DATA_DIR }, 'read', '--json');
  const chosen = async (...args: string[]) => lines(t, { DATA_DIR }, 'read', '--json', ...args);
  const only = (passes: (event: RecordedEvent) => boolean) => all.filter(passes);
  t.deepEqual(
    await chosen('--stream', 'credits-bob'),
    only(({ stream }) => stream === 'credits-bob'),
  );
  t.deepEqual(
    await chosen('--stream', 'credits-bob', '--stream', 'user-dora'),
    only(({ stream }) => stream === 'credits-bob' || stream === 'user-dora'),
  );
  t.deepEqual(
    await chosen('--category', 'job'),
    only(({ stream }) => stream.startsWith('job-')),
  );
  t.deepEqual(
    await chosen('--type', 'JobCreated', '--type', 'UserNamed'),
    only(({ type }) => type === 'JobCreated' || type === 'UserNamed'),
  );
  const [third, tenth] = [all[2]!.position, all[9]!.position];
  t.deepEqual(await chosen('--from', third, '--to', tenth), all.slice(3, 10));
  t.deepEqual(await chosen('--from', third, '--to', tenth, '--stream', 'user-dora'), []);
  t.deepEqual(await chosen('--from', String(Number(third)), '--limit', '2'), all.slice(3, 5));
  const dora = only(({ type }) => type === 'UserNamed');
  t.deepEqual(await chosen('--from', '2026-02-03'), dora);
  t.deepEqual(await chosen('--from', NAMED_AT, '--to', NAMED_AT), dora);
  t.deepEqual(
    await chosen('--to', '2026-01-31'),
    only(({ type }) => type !== 'UserNamed'),
  );
  t.deepEqual(await chosen('--limit', '0'), []);
});

test('events count counts by category, type and day', async (t) => {
  const DATA_DIR = await filledFolder(t);
  const all = await lines(t, { DATA_DIR }, 'read', '--json');
  t.is((await ops({ DATA_DIR }, 'count')).stdout, `${all.length}\n`);
  const [by_day] = await lines(t, { DATA_DIR }, 'count', '--by', 'day', '--json');
  t.deepEqual(by_day, { events: all.length, day: { '2026-01-31': all.length - 1, '2026-02-03': 1 } } as never);
  const { stdout } = await ops({ DATA_DIR }, 'count', '--by', 'type', '--category', 'user');
  t.is(stdout, `UserNamed              1\ntotal                  1\n`);
});

test('a wrong option names the values that are valid, and ends with 2', async (t) => {
  const DATA_DIR = await filledFolder(t);
  const wrong: [args: string[], message: RegExp][] = [
    [['read', '--type', 'jobcreated'], /--type jobcreated: there is no such type: do you mean JobCreated\?/],
    [['read', '--category', 'jobs'], /--category jobs: there is no such category: docs\/events.md lists them/],
    [['read', '--stream', 'job'], /--stream job: it must be the name of a stream/],
    [['read', '--from', 'yesterday'], /--from yesterday: it must be a position, a time or a day/],
    [['read', '--to', '2026-02-30'], /--to 2026-02-30/],
    [['read', '--from', '0'.repeat(32)], /no position of this log/],
    [['read', '--limit', '-1'], /--limit/],
    [['read', '--limit', 'many'], /--limit many: it must be a number/],
    [['read', '--format', 'xml'], /--format xml: it must be text, jsonl, csv/],
    [['count', '--by', 'user'], /--by user: it must be all, category, type, day/],
    [['export', '--format', 'parquet'], /--format parquet: it needs --out FILE/],
    [['export', '--out', '/no/such/folder/x.csv'], /no such file or directory/],
    [['export', '--out', '/no/such/folder/x.parquet'], /no such file or directory/],
    [['read', '--file', join(DATA_DIR, 'none')], /no such file/],
    [['read', '--file', DATA_DIR], /illegal operation on a directory|EISDIR/],
    [['read', '--file', join(DATA_DIR, 'events.db')], /has no events/],
    [['read', '--file', 'x', '--unseal'], /--unseal: only the log has the keys/],
    [['query', 'SELECT'], /Parser Error/],
    [['query', ''], /there is no statement/],
    [['query'], /SQL is missing/],
    [
      ['query', 'SELECT list(range) FROM range(60000000)'],
      /^(?:\d.* events\/s\n+)?this takes more memory than it gets: .*\n$/,
    ],
    [['tail', '--file', 'x'], /--file/],
  ];
  for (const [args, message] of wrong) {
    const { code, stdout, stderr } = await ops({ DATA_DIR }, ...args);
    t.is(code, 2, args.join(' '));
    t.is(stdout, '', args.join(' '));
    t.regex(stderr, message);
    t.notRegex(stderr, /\n\s+at /, 'no stack');
  }
});

test('a spreadsheet runs nothing of a CSV, and a terminal nothing of a text', async (t) => {
  const DATA_DIR = await filledFolder(t, (log) =>
    log.append('user-=1+1', 'no_stream', [named(NAMED_AT, '\u001b[2J\u009b2J\u202e')]),
  );
  const csv = await ops({ DATA_DIR }, 'export', '--format', 'csv', '--type', 'UserNamed', '--unseal');
  t.is(csv.code, 0, csv.stderr);
  const [header, dora] = csv.stdout.split('\n');
  t.is(header, 'position,recorded_at,stream,revision,type,id,actor,command_id,causation_id,version,data');
  t.regex(dora!, /,user-dora,0,UserNamed,[0-9a-f-]{36},user:dora,c,r,1,"{""name"":""=Dora""}"$/);
  const asked = await ops(
    { DATA_DIR },
    'query',
    '--format',
    'csv',
    '--unseal',
    "SELECT name, 1 AS one FROM UserNamed WHERE stream = 'user-dora'",
  );
  t.is(asked.stdout, "name,one\n'=Dora,1\n");
  for (const args of [
    ['read', '--type', 'UserNamed'],
    ['query', 'SELECT name FROM UserNamed'],
  ]) {
    const { stdout } = await ops({ DATA_DIR }, ...args);
    t.regex(stdout, /\\u009b2J\\u202e/);
    t.notRegex(stdout, /[^\P{Cc}\n]|\u202e/u);
  }
});

test('personal data is sealed unless the key is there, and its keys are left out unless they are named', async (t) => {
  const DATA_DIR = await filledFolder(t);
  const nameIn = async (env: Env, ...args: string[]) =>
    ((await lines(t, env, 'read', '--json', '--type', 'UserNamed', ...args))[0]!.data as { name: string }).name;
  t.regex(await nameIn({ DATA_DIR }), /^sealed:2:/);
  t.is(await nameIn({ DATA_DIR }, '--unseal'), '=Dora');
  const keys = await lines(t, { DATA_DIR }, 'read', '--json', '--category', 'personal_keys');
  t.deepEqual(
    keys.map(({ stream }) => stream),
    ['personal_keys-user/dora'],
  );
  t.false((await ops({ DATA_DIR }, 'read')).stdout.includes('personal_keys'));
  const ask = async (...args: string[]) => (await lines(t, { DATA_DIR }, 'query', '--json', ...args))[0];
  const COUNT = "SELECT count(*) AS keys FROM events WHERE category = 'personal_keys'";
  t.deepEqual(await ask(COUNT), { keys: 0 } as never);
  t.deepEqual(await ask(COUNT, '--category', 'personal_keys'), { keys: 1 } as never);
  for (const sql of [
    'SELECT count(*) AS keys FROM PersonalKeyMade',
    'SELECT count(*) AS keys FROM events JOIN PersonalKeyMade USING (position)',
    'SELECT count(*) AS keys FROM events RIGHT JOIN personalkeymade AS made ON made.position = events.position',
  ]) {
    const { code, stdout, stderr } = await ops({ DATA_DIR }, 'query', '--json', sql);
    t.deepEqual([code, stdout], [0, '{"keys":0}\n'], sql);
    t.regex(stderr, /left out, as the options say: PersonalKeyMade/, sql);
    t.deepEqual(await ask(sql, '--type', 'PersonalKeyMade'), { keys: 1 } as never, sql);
  }

  const wrong = await ops({ DATA_DIR, PERSONAL_DATA_KEY: 'x'.repeat(32) }, 'read', '--unseal');
  t.is(wrong.code, 2);
  t.regex(wrong.stderr, /another PERSONAL_DATA_KEY/);
  await rm(join(DATA_DIR, 'identity'), { recursive: true });
  const none = await ops({ DATA_DIR }, 'read', '--unseal');
  t.is(none.code, 2);
  t.regex(none.stderr, /--unseal: it needs PERSONAL_DATA_KEY/);
  await t.throwsAsync(stat(join(DATA_DIR, 'identity')), undefined, 'it makes no key');
});

test('a query has a view of each type, with typed columns', async (t) => {
  const DATA_DIR = await filledFolder(t);
  const ask = (sql: string, ...args: string[]) => lines(t, { DATA_DIR }, 'query', '--json', sql, ...args);
  t.deepEqual(
    await ask('SELECT stream, recorded_at, total_urls + 1 AS more FROM JobCreated ORDER BY position LIMIT 1'),
    [
      {
        stream: (await lines(t, { DATA_DIR }, 'read', '--json', '--type', 'JobCreated'))[0]!.stream,
        recorded_at: '2026-01-31T09:00:00.000Z',
        more: 26,
      },
    ] as never,
  );
  const [sums] = await ask(
    'SELECT sum(amount) AS credits, list(DISTINCT parts[1].amount > 0) AS parts FROM CreditsReserved',
  );
  t.is(typeof (sums as never as { credits: unknown }).credits, 'number');
  const [whole] = await ask("SELECT count(*) AS n FROM events WHERE type = 'JobCreated'");
  t.deepEqual(await ask('SELECT count(*) AS n FROM JobCreated'), [whole!]);
  t.deepEqual(await ask("SELECT count(*) AS n FROM query_table('JobCreated')"), [whole!]);
  t.deepEqual(await ask('WITH jobs AS (FROM JobCreated) SELECT count(*) AS n FROM jobs'), [whole!]);
  t.deepEqual(await ask('SELECT count(*) AS n FROM JobCreated', '--type', 'JobCancelled'), [{ n: 0 }] as never);
  t.is((await ask('SUMMARIZE JobCreated')).length > 10, true);
  const { stdout } = await ops(
    { DATA_DIR },
    'query',
    "SELECT type, count(*) AS n FROM events WHERE type = 'UserNamed' GROUP BY ALL",
  );
  t.is(stdout, 'type       n\nUserNamed  1\n');
});

test('a query reads and writes nothing but a copy of the events', async (t) => {
  const DATA_DIR = await filledFolder(t);
  const [file, made] = [join(DATA_DIR, 'secret.csv'), join(DATA_DIR, 'made')];
  await writeFile(file, 'a\n1\n');
  const before = await readFile(join(DATA_DIR, 'events.db'));
  const attacks = [
    `SELECT * FROM read_csv('${file}')`,
    `SELECT * FROM read_text('${file}')`,
    `SELECT * FROM '${file}'`,
    `SELECT * FROM glob('${DATA_DIR}/*')`,
    `SELECT * FROM sniff_csv('${file}')`,
    `COPY events TO '${made}'`,
    `EXPLAIN ANALYZE COPY events TO '${made}'`,
    `EXPORT DATABASE '${made}'`,
    `ATTACH '${made}'`,
    `ATTACH '${join(DATA_DIR, 'events.db')}' (TYPE sqlite)`,
    'SET enable_external_access = true',
    'RESET lock_configuration',
    'INSTALL httpfs',
    "SELECT * FROM read_json('http://127.0.0.1:1/')",
    'DELETE FROM events',
    'DROP TABLE events',
    'SELECT 1; DELETE FROM events',
    'SELECT ?',
    `CREATE PERSISTENT SECRET s (TYPE s3, KEY_ID 'k')`,
    `CALL enable_logging(storage = 'file', storage_config = {'path': '${made}'})`,
    `PRAGMA profiling_output = '${made}'`,
    `SET log_query_path = '${made}'`,
    `SET temp_directory = '${made}'`,
    `SET allowed_paths = ['${made}']`,
    "SET allowed_configs = ['memory_limit']",
    "SET memory_limit = '90GB'",
    `COPY FROM DATABASE events TO memory`,
    `CREATE TABLE mine AS SELECT 1; COPY mine TO '${made}'`,
    `PREPARE p AS COPY events TO '${made}'; EXECUTE p`,
    `LOAD '${made}'`,
    'UPDATE JobCreated SET total_urls = 0',
    'SELECT $name',
  ];
  for (const sql of attacks) {
    const { code, stdout, stderr } = await ops({ DATA_DIR }, 'query', sql);
    t.is(code, 2, `${sql}: ${stdout}`);
    t.regex(stderr, /Error:|parameter/, sql);
    t.notRegex(stderr, /\n\s+at /);
  }
  t.deepEqual(
    await readdir(DATA_DIR),
    (await readdir(DATA_DIR)).filter((name) => name !== 'made'),
  );
  t.true((await readFile(join(DATA_DIR, 'events.db'))).equals(before));
});

test('an event without metadata, of another program, is read, counted, exported, asked and read back', async (t) => {
  const foreign = { id: randomUUID(), type: 'Foreign', data: null, metadata: null as never };
  const DATA_DIR = await filledFolder(t, (log) => log.append('foreign-1', 'no_stream', [foreign]));
  const read = await lines(t, { DATA_DIR }, 'read', '--json');
  t.is(read.at(-1)?.type, 'Foreign');
  t.regex((await ops({ DATA_DIR }, 'read', '--stream', 'foreign-1')).stdout, /^\d+ {2}- {2}foreign-1 0 /);
  for (const args of [
    ['read'],
    ['read', '--from', NAMED_AT],
    ['count', '--by', 'day'],
    ['query', 'SELECT count(*) FROM events'],
    ...['jsonl', 'csv', 'parquet'].map((format) => ['export', '--out', join(DATA_DIR, `log.${format}`)]),
  ])
    t.like(await ops({ DATA_DIR }, ...args), { code: 0 }, args.join(' '));
  t.deepEqual(await lines(t, {}, 'read', '--json', '--file', join(DATA_DIR, 'log.jsonl')), read);
});

test('an event or a file that is damaged ends with 2, and leaves no export', async (t) => {
  const DATA_DIR = await filledFolder(t);
  const file = join(DATA_DIR, 'log.jsonl');
  t.is((await ops({ DATA_DIR }, 'export', '--out', file)).code, 0);
  await truncate(file, (await stat(file)).size - 10);
  t.regex((await ops({}, 'read', '--file', file)).stderr, /line \d+ is no event/);
  await rm(file);
  const db = new DatabaseSync(join(DATA_DIR, 'events.db'));
  db.exec("UPDATE events SET data = '{' WHERE type = 'UserNamed'");
  db.close();
  for (const name of ['log.jsonl', 'log.csv', 'log.parquet']) {
    const { code, stderr } = await ops({ DATA_DIR }, 'export', '--out', join(DATA_DIR, name));
    t.is(code, 2);
    t.regex(stderr, /the event at position \d{16}, user-dora 0, cannot be read/);
  }
  t.deepEqual(
    (await readdir(DATA_DIR)).filter((name) => name.startsWith('log.')),
    [],
  );
});
