// A restored log goes on under a name of its own: heads that the lost one signed after the backup are no violations, and say what they are.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { openNoteSigner, parseCheckpoint } from '../../audit/signed-note.ts';
import { restoreBackup } from '../../backups/restore-backup.ts';
import { writeBackup } from '../../backups/write-backup.ts';
import { openLedgerHeads } from '../../commands/ledger/ledger-heads.ts';
import { identifyLog } from '../../commands/log-identity.ts';
import type { EventStore, StoredLog } from '../../events/event-store.ts';
import { originOf } from '../../events/ledger-head.ts';
import { openHeadSigning } from '../../processes/ledger-heads.ts';
import { openFiller } from '../support/audited-ledger.ts';
import { fileBlobs } from '../support/file-blobs.ts';
import { opsHere } from '../support/run-ops.ts';

const key = 'backups/b-1/file.ndjson.zst';
const { signal } = new AbortController();

/** Signs a head of the log under its name, and keeps it in a file. */
async function keep(log: EventStore, DATA_DIR: string, file: string): Promise<string> {
  const origin = originOf(await identifyLog(log, 'process:test', 0));
  const heads = openLedgerHeads(log, origin, openNoteSigner(origin, Buffer.alloc(32)));
  const { context } = openFiller(log);
  await openHeadSigning({ stored_log: log, heads, interval_ms: 0, context, now: () => 0 }).pass();
  const { stdout } = await opsHere(['ledger', 'heads', '--last'], { DATA_DIR });
  await writeFile(file, stdout);
  return parseCheckpoint(stdout)!.origin;
}

async function openFolder(t: ExecutionContext, folder: string): Promise<StoredLog> {
  await mkdir(folder, { recursive: true });
  const log = await openSqliteEventStore({ path: join(folder, 'events.db') });
  t.teardown(() => log.close());
  return log;
}

test('heads that were signed after the backup are told from changed entries', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'restored-log-'));
  t.teardown(() => rm(root, { recursive: true, force: true }));
  const [lost_dir, DATA_DIR, other_dir] = ['lost', 'restored', 'other'].map((name) => join(root, name)) as [
    ...[string, string, string],
  ];
  const [before, after, since] = ['before', 'after', 'since'].map((name) => join(root, name)) as [
    ...[string, string, string],
  ];
  const lost = await openFolder(t, lost_dir);
  await identifyLog(lost, 'process:test', 0);
  for (const payment of ['pi-1', 'pi-2']) await openFiller(lost).buy('alice', payment, 10);
  const first_name = await keep(lost, lost_dir, before);
  const blobs = await fileBlobs(join(root, 'blobs'));
  await writeBackup({ backup_id: 'b-1', log: lost, blobs, key, now: Date.parse('2026-01-31T10:00:00Z'), signal });
  for (const payment of ['pi-3', 'pi-4']) await openFiller(lost).buy('bob', payment, 10);
  t.is(await keep(lost, lost_dir, after), first_name);

  const restored = await openFolder(t, DATA_DIR);
  const restoring = { open: async () => (await blobs.get(key))!, into: async () => ({ log: restored, blobs }) };
  await restoreBackup(restoring);
  const restored_id = await identifyLog(restored, 'process:test', 0);
  await restoreBackup(restoring);
  t.is(await identifyLog(restored, 'process:test', 0), restored_id, 'the same restore again forks nothing');
  const other = await openFolder(t, other_dir);
  await restoreBackup({ ...restoring, into: async () => ({ log: other, blobs }) });
  t.not(await identifyLog(other, 'process:test', 0), restored_id, 'another restore is another log');

  for (let n = 5; n < 9; n += 1) await openFiller(restored).buy('carol', `pi-${n}`, 10);
  t.is(await keep(restored, DATA_DIR, since), originOf(restored_id));
  const verify = (...options: string[]) => opsHere(['ledger', 'verify', ...options], { DATA_DIR });
  t.is((await verify('--head', before, '--head', since)).code, 0);
  const told = await verify('--head', after, '--head', before);
  t.is(told.code, 2, told.stdout);
  t.regex(
    told.stdout,
    /not proved: the head of 4 entries was signed after the backup of 2026-01-31T10:00:00.000Z, of 2 entries, that this log was restored from: keep a new head\nok: every rule holds\n$/,
  );
  const shown = JSON.parse((await verify('--since-head', after, '--json')).stdout);
  t.like(shown, { violations: 0, since_head: { entries: 4, added: 40 } });
  t.is(shown.not_proved.length, 1);

  const exported = join(root, 'ledger.jsonl');
  t.is((await opsHere(['ledger', 'export', '--out', exported], { DATA_DIR })).code, 0);
  t.is((await opsHere(['ledger', 'verify-export', exported, '--head', after], {})).code, 2);
  // What the lost log signed is not what this one would have.
  const renamed = join(root, 'renamed');
  const { stdout } = await opsHere(['ledger', 'heads', '--last'], { DATA_DIR: lost_dir });
  await writeFile(renamed, stdout.replaceAll(first_name, originOf(restored_id)));
  t.is((await verify('--head', renamed)).code, 1);
});
