// `npm run backup` as a program: without a service, with the wrong key, with wrong arguments.
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { openBackups } from '../../commands/backups.ts';
import { openUserAggregate, see } from '../../commands/users/user.ts';
import { userStream } from '../../events/streams.ts';
import { eventsOf } from '../backups/used-store.ts';
import { commandContext, openFolderLog } from '../support/stores.ts';

const PROGRAM = join(import.meta.dirname, '../../cli/backup.ts');

interface Ran {
  code: number;
  out: string;
  err: string;
}

const run = (DATA_DIR: string, args: readonly string[], env: Record<string, string> = {}, under: string[] = []) =>
  new Promise<Ran>((resolve) => {
    const { INIT_CWD: _, ...inherited } = process.env;
    const [program, ...all] = [...under, process.execPath, PROGRAM, ...args];
    const child = execFile(
      program!,
      all,
      { env: { ...inherited, DATA_DIR, ...env }, cwd: DATA_DIR },
      (_error, out, err) => resolve({ code: child.exitCode!, out, err }),
    );
  });

async function newFolder(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-backup-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function stored(folder: string): Promise<string[]> {
  const log = await openSqliteEventStore({ path: join(folder, 'events.db') });
  const events = await eventsOf(log);
  await log.close();
  return events;
}

/** Fills the log in the folder as a service has that saw one user. */
async function seeAlice(folder: string): Promise<void> {
  const log = await openFolderLog(folder);
  const seen = { user_id: 'alice', email: 'alice@example.com' };
  await openUserAggregate(log).handle(userStream('alice'), commandContext(), (user) => see(user, seen));
  await log.close();
}

test('where no service runs, a backup is made, listed, verified and restored', async (t) => {
  const [folder, other] = [await newFolder(t), await newFolder(t)];
  await seeAlice(folder);

  const created = await run(folder, ['create']);
  t.is(created.code, 0, created.err);
  const key = created.out.trim();
  t.regex(key, /^backups\/[0-9a-f-]{36}\/[0-9TZ-]+-[0-9a-f]{8}\.ndjson\.zst$/);
  t.true((await run(folder, ['list'])).out.includes(key));
  const verified = await run(folder, ['verify', key]);
  t.regex(verified.out, /^events {3}3, and 0 deleted streams$/m);

  const path = join(folder, 'blobs', key);
  const without = await run(other, ['restore', path]);
  t.is(without.code, 1);
  t.regex(without.err, /^PERSONAL_DATA_KEY is unset and there is no .*personal-data-key/);
  const wrong = await run(other, ['restore', path], { PERSONAL_DATA_KEY: 'w'.repeat(32) });
  t.regex(wrong.err, /sealed under another PERSONAL_DATA_KEY/);
  await writeFile(join(folder, 'cut'), (await readFile(path)).subarray(0, -1));
  t.regex((await run(other, ['restore', join(folder, 'cut')])).err, /the file was cut/);
  t.regex((await run(other, ['restore', 'none'])).err, /there is no file/);
  t.deepEqual(await readdir(other), [], 'a restore that is refused leaves nothing');

  await cp(join(folder, 'identity'), join(other, 'identity'), { recursive: true });
  for (const name of ['queue.db', 'documents.db']) await writeFile(join(other, name), 'of the log that was here');
  const restored = await run(other, ['restore', path]);
  t.is(restored.code, 0, restored.err);
  t.deepEqual(
    (await readdir(other)).filter((name) => /queue|documents/.test(name)),
    [],
  );
  const own = ['service-backups', `backup-${key.split('/')[1]}`];
  t.deepEqual(
    (await stored(other)).filter((event) => JSON.parse(event)[3] !== 'LogForked'),
    (await stored(folder)).filter((event) => !own.includes(JSON.parse(event)[0])),
  );
});

test('a restore that the disk has no room for says so, and resumes when it is started again', async (t) => {
  const [folder, other] = [await newFolder(t), await newFolder(t)];
  const log = await openSqliteEventStore({ path: join(folder, 'events.db') });
  const events = Array.from({ length: 500 }, () => ({
    ...{ id: randomUUID(), type: 'Foreign', data: { text: 'x'.repeat(1800) } },
    metadata: { command_id: 'c', causation_id: 'c', actor: 'test', at: '2026-01-31T09:00:00.000Z' },
  }));
  for (let batch = 0; batch < 20; batch++)
    await log.append(
      `foreign-${batch}`,
      'no_stream',
      events.map((event) => ({ ...event, id: randomUUID() })),
    );
  await log.close();
  const made = await run(folder, ['create']);
  const path = join(folder, 'blobs', made.out.trim());
  await cp(join(folder, 'identity'), join(other, 'identity'), { recursive: true });
  const limited = await run(other, ['restore', path], {}, ['prlimit', '--fsize=12000000:']);
  t.is(limited.code, 1);
  t.regex(limited.err, /\nThe restore was cut off\. Start it again: it continues where it stopped\.\n$/);
  const before = (await stored(other)).length;
  t.true(before > 0 && before < 10_000, String(before));
  const again = await run(other, ['restore', path]);
  t.is(again.code, 0, again.err);
  t.deepEqual((await stored(other)).slice(0, 10_000), (await stored(folder)).slice(0, 10_000));
});

test('a backup that a killed process has left is written by the next command', async (t) => {
  const folder = await newFolder(t);
  const log = await openFolderLog(folder);
  const left = randomUUID();
  await openBackups(log).start(left, commandContext());
  await log.close();
  const { code, out, err } = await run(folder, ['create']);
  t.is(code, 0, err);
  t.is(err, `The backup ${left} is being written. This command waits for it.\n`);
  t.is(out.split('/')[1], left);
});

test('a backup whose folder cannot be read ends it with a sentence', async (t) => {
  const folder = await newFolder(t);
  await seeAlice(folder);
  await mkdir(join(folder, 'blobs'));
  await symlink('backups', join(folder, 'blobs/backups'));
  const { code, err } = await run(folder, ['create']);
  t.is(code, 1);
  t.regex(err, /^ELOOP: [^\n]*\n$/);
});

test('no backup is made where there is no log, or an empty one, and nothing is left there', async (t) => {
  const folder = await newFolder(t);
  const none = await run(folder, ['create']);
  t.is(none.code, 1);
  t.is(none.err, `there is no event log at ${join(folder, 'events.db')}\n`);
  t.deepEqual(await readdir(folder), []);
  await (await openSqliteEventStore({ path: join(folder, 'events.db') })).close();
  const empty = await run(folder, ['create']);
  t.is(empty.code, 1);
  t.regex(empty.err, /events\.db is empty: no service has written to it\n$/);
  t.deepEqual(await stored(folder), []);
});

test('wrong arguments, settings and files end it with a sentence', async (t) => {
  const folder = await newFolder(t);
  for (const args of [[], ['erase'], ['verify'], ['create', 'x'], ['restore', 'a', 'b']]) {
    const { code, err } = await run(folder, args);
    t.is(code, 1);
    t.regex(err, /^usage: npm run backup/);
  }
  t.regex((await run(folder, ['verify', 'none'])).err, /^there is no file .*none, and no stored file none$/m);
  t.like(await run(folder, ['list'], { BACKUP_KEEP: 'x' }), { code: 2 });
});

test('a rehearsal restores into an empty folder, verifies the ledger there, and leaves a mark in the log alone', async (t) => {
  const folder = await newFolder(t);
  await seeAlice(folder);
  t.regex((await run(folder, ['rehearse'])).err, /there is no backup among the stored files/);
  const older = (await run(folder, ['create'])).out.trim();
  const newest = (await run(folder, ['create'])).out.trim();
  const rehearsed = await run(folder, ['rehearse']);
  t.is(rehearsed.code, 0, rehearsed.err);
  t.true(rehearsed.out.includes(newest.split('/')[1]!), 'the newest one');
  t.regex(rehearsed.out, /its ledger holds/);
  t.is((await run(folder, ['rehearse', older])).code, 0);
  const marks = async () => (await stored(folder)).filter((event) => event.includes('BackupRehearsed'));
  t.is((await marks()).length, 2);
  t.false((await readdir(folder)).includes('rehearsal'));

  const without = await run(folder, ['rehearse'], { PERSONAL_DATA_KEY: 'w'.repeat(32) });
  t.is(without.code, 1);
  t.regex(without.err, /sealed under another PERSONAL_DATA_KEY/);
  const path = join(folder, 'blobs', newest);
  await writeFile(path, (await readFile(path)).subarray(0, -1));
  t.regex((await run(folder, ['rehearse'])).err, /the file was cut/);
  t.is((await marks()).length, 2, 'a rehearsal that fails leaves no mark');
  t.false((await readdir(folder)).includes('rehearsal'));
});

test('a backup whose ledger breaks a rule is no rehearsal', async (t) => {
  const folder = await newFolder(t);
  await seeAlice(folder);
  const log = await openSqliteEventStore({ path: join(folder, 'events.db') });
  const data = { transaction_id: randomUUID(), amount: 5, reason: 'none', balance_after: 7, hash: '0'.repeat(64) };
  const metadata = { command_id: 'c', causation_id: 'c', actor: 'x', at: '2026-01-31T09:00:00.000Z' };
  await log.append('credits-mallory', 'no_stream', [{ id: randomUUID(), type: 'CreditsGranted', data, metadata }]);
  await log.close();
  t.is((await run(folder, ['create'])).code, 0);
  const refused = await run(folder, ['rehearse']);
  t.is(refused.code, 1);
  t.regex(refused.err, /the ledger of the restored log breaks rules/);
  t.false((await stored(folder)).some((event) => event.includes('BackupRehearsed')));
});
