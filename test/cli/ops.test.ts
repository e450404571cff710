// `npm run ops`: its commands, help and exit codes, over both event stores.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { openEventStoreDb } from '../../adapters/eventstore/eventstoredb/eventstoredb-event-store.ts';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { openNoteSigner } from '../../audit/signed-note.ts';
import { openLedgerHeads } from '../../commands/ledger/ledger-heads.ts';
import { openHeadSigning } from '../../processes/ledger-heads.ts';
import { fillLedger, openFiller } from '../support/audited-ledger.ts';
import { startEventStoreDbServer } from '../support/eventstoredb-server/eventstoredb-server.ts';
import { opsHere } from '../support/run-ops.ts';
import { runProgram } from '../support/run-program.ts';
import { silent } from '../support/stores.ts';

const ops = (env: Record<string, string>, ...args: string[]) => opsHere(args, env);

async function folder(t: ExecutionContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'ops-'));
  t.teardown(() => rm(made, { recursive: true, force: true }));
  return made;
}

/** A data folder with a filled ledger. */
async function filledFolder(t: ExecutionContext): Promise<string> {
  const DATA_DIR = await folder(t);
  const log = await openSqliteEventStore({ path: join(DATA_DIR, 'events.db') });
  await fillLedger(log);
  await log.close();
  return DATA_DIR;
}

test('the help lists the commands, and each command explains its options', async (t) => {
  const all = await ops({}, '--help');
  t.is(all.code, 0);
  t.regex(all.stdout, /ledger verify/);
  const one = await ops({}, 'ledger', 'verify', '--help');
  t.is(one.code, 0);
  t.regex(one.stdout, /--as-of WHEN/);
  t.regex((await ops({}, 'ledger')).stdout, /ledger verify/);
});

test('the program prints and ends as its command does', async (t) => {
  const DATA_DIR = await filledFolder(t);
  const verify = ['ledger', 'verify', '--json'];
  const assertSame = async (code: number, words: readonly string[]) => {
    const ended = await runProgram('ops', words, { DATA_DIR });
    t.is(ended.code, code, ended.stderr);
    t.deepEqual(ended, await opsHere(words, { DATA_DIR }));
  };
  await assertSame(0, verify);
  await assertSame(2, ['ledger', 'burn']);
  const db = new DatabaseSync(join(DATA_DIR, 'events.db'));
  db.exec("UPDATE events SET data = '{' WHERE type = 'CreditsReserved'");
  db.close();
  await assertSame(1, verify);
});

test('a command loads what it needs, and nothing of the others', async (t) => {
  const DATA_DIR = await filledFolder(t);
  const program = join(import.meta.dirname, '../../cli/ops.ts');
  const hooks = `import { registerHooks } from 'node:module'; const load = (url, context, next) => (console.error(url), next(url, context)); registerHooks({ load })`;
  const args = ['--import', `data:text/javascript,${encodeURIComponent(hooks)}`, program];
  const copying = ['events', 'copy', '--to', join(DATA_DIR, 'copy.duckdb')];
  const { stderr } = await promisify(execFile)(process.execPath, [...args, ...copying], { env: { DATA_DIR } });
  const loaded = stderr.split('\n');
  t.true(loaded.some((url) => url.endsWith('/cli/ops/events-copy.ts')));
  t.deepEqual(
    loaded.filter((url) => /\/(?:audit|commands|http|processes|@aws-sdk|pg)\//.test(url)),
    [],
  );
});

test('a wrong command, option, setting or a missing log ends with 2, and makes nothing', async (t) => {
  const DATA_DIR = await folder(t);
  const wrong: [args: string[], env: Record<string, string>, message: RegExp][] = [
    [['ledger', 'burn'], { DATA_DIR }, /no command `ledger burn`/],
    [['ledger', 'verify', '--no-such'], { DATA_DIR }, /--no-such/],
    [['ledger', 'verify', '--as-of', 'yesterday'], { DATA_DIR }, /--as-of yesterday/],
    [['ledger', 'verify', '--as-of', '2026-02-30'], { DATA_DIR }, /--as-of 2026-02-30/],
    [['ledger', 'verify', '--key', 'mine'], { DATA_DIR }, /--key mine/],
    [['ledger', 'verify'], { DATA_DIR, PORT: 'x' }, /PORT/],
    [['ledger', 'verify'], { DATA_DIR }, /there is no event log at/],
  ];
  for (const [args, env, message] of wrong) {
    const { code, stdout, stderr } = await ops(env, ...args);
    t.is(code, 2, args.join(' '));
    t.is(stdout, '');
    t.regex(stderr, message);
    t.notRegex(stderr, /\n\s+at /, 'no stack');
  }
  t.false(existsSync(join(DATA_DIR, 'events.db')));
});

test('what judges a log does not call an empty one clean', async (t) => {
  const DATA_DIR = await folder(t);
  await (await openSqliteEventStore({ path: join(DATA_DIR, 'events.db') })).close();
  for (const args of [['ledger', 'verify'], ['ledger', 'export'], ['ledger', 'heads'], ['fsck']]) {
    const { code, stdout, stderr } = await ops({ DATA_DIR }, ...args);
    t.deepEqual([code, stdout], [2, ''], args.join(' '));
    t.regex(stderr, /events\.db is empty: no service has written to it\n$/);
  }
});

test('a store that the system does not let a command see is not called missing', async (t) => {
  const DATA_DIR = join(await folder(t), 'loop');
  await symlink('loop', DATA_DIR);
  for (const args of [
    ['ledger', 'verify'],
    ['projections', 'list'],
    ['store', 'compact'],
  ]) {
    const { code, stderr } = await ops({ DATA_DIR }, ...args);
    t.is(code, 2, args.join(' '));
    t.regex(stderr, /^ELOOP: [^\n]*(events|documents)\.db'\n$/);
  }
});

test('ledger verify replays the embedded log, and names the position of a changed byte', async (t) => {
  const DATA_DIR = await filledFolder(t);
  const path = join(DATA_DIR, 'events.db');
  const { mtimeMs } = await stat(path);
  const clean = await ops({ DATA_DIR }, 'ledger', 'verify', '--json');
  t.is(clean.code, 0, clean.stderr);
  const report = JSON.parse(clean.stdout);
  t.deepEqual([report.accounts, report.violations], [2, 0]);
  t.is((await stat(path)).mtimeMs, mtimeMs, 'it changes nothing');

  const db = new DatabaseSync(path);
  const entries = db
    .prepare(
      "SELECT e.position, e.data FROM events e JOIN streams s ON s.id = e.stream_id WHERE s.category = 'credits'",
    )
    .all() as { position: number; data: string }[];
  const { position, data } = entries[5]!;
  db.prepare('UPDATE events SET data = ? WHERE position = ?').run(data.replace('"amount":', '"amounT":'), position);
  db.close();
  const broken = await ops({ DATA_DIR }, 'ledger', 'verify');
  t.is(broken.code, 1);
  t.regex(broken.stdout, new RegExp(`violation at position ${String(position).padStart(16, '0')}, credits-alice 5`));
});

test('ledger verify names what somebody has deleted from the embedded log, whatever it was', async (t) => {
  const DATA_DIR = await folder(t);
  const path = join(DATA_DIR, 'events.db');
  const log = await openSqliteEventStore({ path });
  const filler = openFiller(log, Date.parse('2026-01-31T09:00:00Z'));
  await filler.buy('early', 'pi-early', 10);
  const done = await filler.job('early', 3, 3, 'completed');
  const purged = await filler.job('early', 5, 5, 'running');
  await filler.jobs.run(purged, { type: 'cancel' }, filler.context());
  await filler.jobs.run(purged, { type: 'delete' }, filler.context());
  await fillLedger(log, Date.parse('2026-01-31T18:00:00Z'));
  const heads = openLedgerHeads(log, 'ledger/one', openNoteSigner('ledger/one', Buffer.alloc(32)));
  const { context } = filler;
  await openHeadSigning({ stored_log: log, heads, interval_ms: 0, context, now: () => 0, every_entries: 8 }).pass();
  // An erased user's keys are gone; the ledger needs none.
  await log.deleteStream('personal_keys-alice');
  await log.close();
  t.is((await ops({ DATA_DIR }, 'ledger', 'verify')).code, 0);
  const db = new DatabaseSync(path);
  t.teardown(() => db.close());
  // A purge that was killed before it had removed the events.
  db.exec(`UPDATE streams SET deleted = 1 WHERE name = 'checks-${purged}-0'`);
  t.is((await ops({ DATA_DIR }, 'ledger', 'verify')).code, 0);
  db.exec('CREATE TABLE was AS SELECT * FROM events; CREATE TABLE were AS SELECT * FROM streams');
  const attacks: [sql: string, message: RegExp][] = [
    ["DELETE FROM streams WHERE name = 'credits-bob'", /position \d+: the event has no stream/],
    ["UPDATE streams SET deleted = 1 WHERE name = 'credits-bob'", /position \d+, credits-bob 0: its stream is deleted/],
    [
      `DELETE FROM events WHERE type = 'JobCreated' AND data LIKE '%${done}%'`,
      new RegExp(`position \\d+, job-${done} 1: events before it are missing`),
    ],
    [
      `DELETE FROM events WHERE type = 'JobCompleted' AND stream_id = (SELECT id FROM streams WHERE name = 'job-${done}')`,
      new RegExp(`position \\d+, job-${done} 0: all 3 URLs of job ${done} have results, but it has not ended`),
    ],
    ["DELETE FROM events WHERE type = 'LedgerHeadSigned'", /position \d+, credits-early 0: .* no signed head/],
    [
      "DELETE FROM events WHERE stream_id = (SELECT id FROM streams WHERE name = 'credits-alice')",
      /reservation .* is unknown/,
    ],
  ];
  for (const [sql, message] of attacks) {
    db.exec(sql);
    const { code, stdout } = await ops({ DATA_DIR }, 'ledger', 'verify');
    t.is(code, 1, sql);
    t.regex(stdout, message);
    db.exec(
      'DELETE FROM events; INSERT INTO events SELECT * FROM was; DELETE FROM streams; INSERT INTO streams SELECT * FROM were',
    );
  }
  t.is((await ops({ DATA_DIR }, 'ledger', 'verify')).code, 0);
});

test('--as-of is a position or a time of the log', async (t) => {
  const DATA_DIR = await filledFolder(t);
  const read = async (when: string) =>
    JSON.parse((await ops({ DATA_DIR }, 'ledger', 'verify', '--json', '--as-of', when)).stdout);
  const whole = await read('2026-02-01');
  t.is((await read('12')).position, '0000000000000012');
  t.deepEqual([(await read('2026-01-30')).entries, (await read('2026-01-31')).entries], [0, whole.entries]);
  t.is((await read('2026-01-31T09:00:00Z')).entries, whole.entries);
  t.is((await read('2026-01-31T09:00:00+01:00')).entries, 0);
});

test('a position of another store ends with 2', async (t) => {
  const DATA_DIR = await filledFolder(t);
  const { code, stderr } = await ops({ DATA_DIR }, 'ledger', 'verify', '--as-of', '0'.repeat(32));
  t.is(code, 2);
  t.regex(stderr, /no position of this log/);
});

test('ledger verify names a head that cannot be read, one that is missing, and one of more entries, also as of a later day', async (t) => {
  const DATA_DIR = await filledFolder(t);
  const path = join(DATA_DIR, 'events.db');
  const log = await openSqliteEventStore({ path });
  const heads = openLedgerHeads(log, 'ledger/one', openNoteSigner('ledger/one', Buffer.alloc(32)));
  const context = openFiller(log).context;
  const signing = openHeadSigning({ stored_log: log, heads, interval_ms: 0, context, now: () => 0, every_entries: 8 });
  await signing.pass();
  await log.close();
  t.is((await ops({ DATA_DIR }, 'ledger', 'verify')).code, 0);
  const db = new DatabaseSync(path);
  t.teardown(() => db.close());
  db.exec('CREATE TABLE was AS SELECT * FROM events');
  const attacks: [sql: string, message: RegExp][] = [
    [
      "DELETE FROM events WHERE type = 'LedgerHeadSigned' AND revision = 0",
      /ledger_heads-log 1: .*comes after 0 heads/,
    ],
    [
      "UPDATE events SET data = '{' WHERE type = 'LedgerHeadSigned' AND revision = 1",
      /-log 1: the head cannot be read/,
    ],
    [
      "UPDATE events SET data = '{}' WHERE type = 'LedgerHeadSigned' AND revision = 2",
      /-log 2: the head cannot be read/,
    ],
    [
      `DELETE FROM events WHERE position =
        (SELECT max(e.position) FROM events e JOIN streams s ON s.id = e.stream_id WHERE s.category = 'credits')`,
      /the head is of 22 entries, but there are 21/,
    ],
  ];
  for (const [sql, message] of attacks) {
    db.exec(sql);
    const { code, stdout } = await ops({ DATA_DIR }, 'ledger', 'verify', '--as-of', '2099-01-01');
    t.is(code, 1, sql);
    t.regex(stdout, message);
    db.exec('DELETE FROM events; INSERT INTO events SELECT * FROM was');
  }
});

test('an entry that cannot be read ends with 2 where nothing can be said without it, and shows no stack', async (t) => {
  const DATA_DIR = await filledFolder(t);
  const db = new DatabaseSync(join(DATA_DIR, 'events.db'));
  t.teardown(() => db.close());
  const damages: [change: string, ...commands: string[][]][] = [
    ["metadata = '{'", ['statement', '--user', 'alice'], ['export']],
    [
      "data = '{}'",
      ['statement', '--user', 'alice'],
      ['trial-balance'],
      ['export'],
      ['prove-consistency', '--first', '2'],
    ],
  ];
  for (const [change, ...commands] of damages) {
    db.exec(`UPDATE events SET ${change} WHERE type = 'CreditsReserved'`);
    for (const command of commands) {
      const { code, stderr } = await ops({ DATA_DIR }, 'ledger', ...command);
      t.is(code, 2, `${change}: ${command}`);
      t.regex(stderr, /^the event at position \d{16}, credits-alice 1, cannot be read/);
      t.notRegex(stderr, /\n\s+at /);
    }
    t.is((await ops({ DATA_DIR }, 'ledger', 'verify')).code, 1, change);
  }
});

test('ledger statement lists the entries of one user between two points, with the balances around them', async (t) => {
  const DATA_DIR = await filledFolder(t);
  const whole = JSON.parse((await ops({ DATA_DIR }, 'ledger', 'statement', '--user', 'alice', '--json')).stdout);
  t.deepEqual([whole.opening_balance, whole.closing_balance, whole.entries.length], [0, 826, 11]);
  const [third, sixth] = [whole.entries[2], whole.entries[5]];
  const args = ['--user', 'alice', '--from', third.position, '--as-of', sixth.position];
  const part = JSON.parse((await ops({ DATA_DIR }, 'ledger', 'statement', ...args, '--json')).stdout);
  t.deepEqual(part.entries, whole.entries.slice(3, 6));
  t.deepEqual([part.opening_balance, part.closing_balance], [third.balance_after, sixth.balance_after]);
  const text = await ops({ DATA_DIR }, 'ledger', 'statement', ...args);
  t.is(text.code, 0);
  t.regex(text.stdout, /3 entries/);
  const nobody = await ops({ DATA_DIR }, 'ledger', 'statement', '--user', 'nobody');
  t.deepEqual([nobody.code, nobody.stdout, nobody.stderr], [2, '', 'there is no account of nobody\n']);
  const before = await ops({ DATA_DIR }, 'ledger', 'statement', '--user', 'alice', '--as-of', '2000-01-01');
  t.deepEqual([before.code, /0 entries/.test(before.stdout)], [0, true]);
  t.is((await ops({ DATA_DIR }, 'ledger', 'statement')).code, 2);
});

test('a statement that begins at a time adds up although a clock was set back', async (t) => {
  const DATA_DIR = await folder(t);
  const log = await openSqliteEventStore({ path: join(DATA_DIR, 'events.db') });
  for (const [n, at] of ['09:00', '11:00', '10:00'].entries()) {
    await openFiller(log, Date.parse(`2026-01-31T${at}Z`)).buy('alice', `pi-${n}`, 100);
  }
  await log.close();
  const args = ['--user', 'alice', '--from', '2026-01-31T10:30Z', '--json'];
  const { opening_balance, entries, closing_balance } = JSON.parse(
    (await ops({ DATA_DIR }, 'ledger', 'statement', ...args)).stdout,
  );
  t.deepEqual([opening_balance, entries.length, closing_balance], [100, 2, 300]);
});

test('the totals of ledger trial-balance are equal, and a changed balance makes them differ', async (t) => {
  const DATA_DIR = await filledFolder(t);
  const { code, stdout } = await ops({ DATA_DIR }, 'ledger', 'trial-balance', '--json', '--accounts');
  t.is(code, 0);
  const { transactions, accounts, balance, debit, credit, balances } = JSON.parse(stdout);
  t.deepEqual({ accounts, balance, balances }, { accounts: 2, balance: 1652, balances: { alice: 826, bob: 826 } });
  t.deepEqual(transactions.purchase, { entries: 2, credit: 2_000, debit: 0 });
  t.is(debit, credit);
  t.regex((await ops({ DATA_DIR }, 'ledger', 'trial-balance')).stdout, /ok: the totals are equal/);
  const csv = await ops({ DATA_DIR }, 'ledger', 'trial-balance', '--as-of', '2026-01-31', '--format', 'csv');
  t.regex(
    csv.stdout,
    /^account,entries,debit,credit\n[\s\S]*\npurchase,2,0,2000\n[\s\S]*\nbalances,,1652,\ntotal,,(\d+),\1\n$/,
  );
  const db = new DatabaseSync(join(DATA_DIR, 'events.db'));
  db.exec(`UPDATE events SET data = json_replace(data, '$.balance_after', 900) WHERE position =
    (SELECT max(e.position) FROM events e JOIN streams s ON s.id = e.stream_id WHERE s.name = 'credits-alice')`);
  db.close();
  t.is((await ops({ DATA_DIR }, 'ledger', 'trial-balance')).code, 1);
});

test('an exported ledger is audited without the service, and answers like the log', async (t) => {
  const DATA_DIR = await filledFolder(t);
  const file = join(DATA_DIR, 'ledger.jsonl');
  t.is((await ops({ DATA_DIR }, 'ledger', 'export', '--out', file)).code, 0);
  const [piped, of_log, of_file] = [
    await ops({ DATA_DIR }, 'ledger', 'export'),
    await ops({ DATA_DIR }, 'ledger', 'verify', '--json'),
    await ops({}, 'ledger', 'verify-export', file, '--json'),
  ];
  t.is(of_file.code, 0, of_file.stdout + of_file.stderr);
  t.deepEqual(JSON.parse(of_file.stdout), JSON.parse(of_log.stdout));
  t.is(piped.stdout.split('\n').length, (await readFile(file, 'utf8')).split('\n').length);
  for (const args of [['trial-balance'], ['statement', '--user', 'bob']]) {
    const [one, other] = [await ops({ DATA_DIR }, 'ledger', ...args), await ops({}, 'ledger', ...args, '--file', file)];
    t.deepEqual([other.code, other.stdout], [0, one.stdout]);
  }
  const bytes = await readFile(file);
  bytes[bytes.indexOf('CreditsReserved')]! ^= 1;
  await writeFile(file, bytes);
  const broken = await ops({}, 'ledger', 'verify-export', file);
  t.is(broken.code, 1);
  t.regex(broken.stdout, /violation at position \d{16}, credits-alice 1: line \d+ is not what its sum says/);
  t.is((await ops({}, 'ledger', 'verify-export', join(DATA_DIR, 'events.db'))).code, 2);
  t.is((await ops({}, 'ledger', 'verify-export', join(DATA_DIR, 'none'))).code, 2);
});

test('ledger verify replays the log of an EventStoreDB', async (t) => {
  const server = await startEventStoreDbServer();
  const log = await openEventStoreDb({ url: server.url, log: silent });
  try {
    await fillLedger(log);
    const { code, stdout, stderr } = await ops({ EVENTSTORE_URL: server.url }, 'ledger', 'verify', '--json');
    t.is(code, 0, stderr);
    const { entries, accounts, violations } = JSON.parse(stdout);
    t.deepEqual({ entries, accounts, violations }, { entries: 22, accounts: 2, violations: 0 });
  } finally {
    await log.close();
    await server.close();
  }
});

test('a log that is away ends with 2', async (t) => {
  const { code, stderr } = await ops({ EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false' }, 'ledger', 'verify');
  t.is(code, 2);
  t.not(stderr, '');
});
