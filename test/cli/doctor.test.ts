// `ops doctor`: what is wrong in any process, as sentences that say what to do.
import { DatabaseSync } from 'node:sqlite';
import test, { type ExecutionContext } from 'ava';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { openBackups } from '../../commands/backups.ts';
import { openMaintenanceMode } from '../../commands/maintenance.ts';
import type { EventStore } from '../../events/event-store.ts';
import { giveRoleSigns } from '../../roles/role-signs.ts';
import { projectedFolder } from '../support/projected-folder.ts';
import { opsHere } from '../support/run-ops.ts';
import { coded, commandContext } from '../support/stores.ts';

const SIGN = { failures: 3, failing_ms: null, put_off: 0, oldest_pending_ms: 0, reason: null };

async function world(t: ExecutionContext, fill?: (log: EventStore) => Promise<unknown>) {
  const folder = await projectedFolder(t, fill);
  const documents = await openSqliteDocuments({ path: `${folder}/documents.db` });
  const give = (role: string, more = {}) => {
    const signs = giveRoleSigns({ documents, role, every_ms: 20, ...more });
    signs.say('working');
    return signs;
  };
  const roles = ['http', 'projector', 'checker'].map((role) => give(role));
  t.teardown(async () => {
    await Promise.all(roles.map((one) => one.stop()));
    await documents.close();
  });
  const wrong = async () => {
    const { code, stdout } = await opsHere(['doctor', '--json'], { DATA_DIR: folder });
    const { findings } = JSON.parse(stdout) as { findings: { wrong: string; do: string; runbook: string }[] };
    t.is(code, findings.length === 0 ? 0 : 1);
    // The test's machine may be full.
    return findings.filter(({ runbook }) => runbook !== 'diskfills');
  };
  return { folder, give, roles, wrong };
}

test('the doctor names a role that nobody has, and the backup that was never made', async (t) => {
  const { folder, wrong } = await world(t);
  t.deepEqual(
    (await wrong()).map((one) => one.wrong),
    ['no process has the role processes', 'there is no backup', 'a mail is owed since 2026-01-31T09:00:00.000Z'],
  );
  const { stdout } = await opsHere(['doctor'], { DATA_DIR: folder });
  t.regex(
    stdout,
    /no process has the role processes\.\n {2}Start one with ROLES=processes\. \(docs\/guides\/runbook\.md#servicenotready\)\n/,
  );
});

test('the doctor tells what each process says: managers, servers that are away, and why a role waits', async (t) => {
  const { give, roles, wrong } = await world(t);
  const mail = { name: 'mail', kind: 'smtp', status: 'away' as const, latency_ms: null, for_ms: 9, reason: '550 no' };
  const processes = give('processes', { dependencies: () => [mail] });
  t.teardown(() => processes.stop());
  processes.managing(() => [
    { ...SIGN, name: 'mails', failing_ms: 60_000 },
    { ...SIGN, name: 'settlement', put_off: 2 },
    { ...SIGN, name: 'purges', oldest_pending_ms: 48 * 3_600_000 },
    { ...SIGN, name: 'erasures', oldest_pending_ms: 60_000 },
  ]);
  roles[1]!.say('waiting', 'the event log does not answer');
  const found = await wrong();
  t.deepEqual(
    found.map((one) => [one.wrong, one.runbook]),
    [
      ['the role projector does not work: the event log does not answer', 'servicenotready'],
      ['mail is away: 550 no', 'dependencyaway'],
      ['mails: fails since 60 s, so mails are not sent', 'managerfails'],
      ['settlement: 2 failed and will be tried again', 'managerputsoff'],
      ['purges: its oldest work waits since 172800 s', 'managerlate'],
      ['there is no backup', 'backupold'],
      ['a mail is owed since 2026-01-31T09:00:00.000Z', 'managerlate'],
    ],
  );
  t.regex(found[1]!.do, /mails send/);
});

test('the doctor says when no backup was restored to try it, or none for 90 days', async (t) => {
  const backup_id = '7b0d9c0e-5c39-4c1c-9d0b-0a4f6f1a2b3c';
  const counts = { events: 1, files: 0, duration_ms: 1 };
  const completed = { ...counts, key: 'k', position: '1', deleted_streams: 0, size_bytes: 1, sha256: 'a'.repeat(64) };
  const found = async (days_ago: number | null) => {
    const folder = await projectedFolder(t, async (stored) => {
      const backups = openBackups(coded(stored as never));
      await backups.start(backup_id, { ...commandContext(), now: Date.now() });
      await backups.run(backup_id, { type: 'complete', ...completed }, { ...commandContext(), now: Date.now() });
      const now = Date.now() - (days_ago ?? 0) * 86_400_000;
      if (days_ago !== null)
        await backups.run(backup_id, { type: 'rehearse', ...counts }, { ...commandContext(), now });
    });
    const { stdout } = await opsHere(['doctor', '--json'], { DATA_DIR: folder });
    const { findings } = JSON.parse(stdout) as { findings: { wrong: string; runbook: string }[] };
    return findings.filter(({ runbook }) => runbook.startsWith('backup')).map(({ wrong }) => wrong);
  };
  const [never, old, lately] = await Promise.all([found(null), found(91), found(89)]);
  t.deepEqual(never, ['no backup was ever restored to try it']);
  t.regex(old.join(), /^a backup was last restored to try it at \d{4}-/);
  t.deepEqual(lately, []);
});

test('the doctor names certificates that end within two weeks, or have ended', async (t) => {
  const { give, wrong } = await world(t);
  const day = (n: number) => new Date(Date.now() + n * 86_400_000).toISOString();
  const [soon, ended] = [day(13), day(-1)];
  const processes = give('processes', {
    certificates: () => [
      { of: 'event_log', ends_at: soon },
      { of: 'NATS_CERT_FILE', ends_at: ended },
      { of: 'documents', ends_at: day(15) },
    ],
  });
  t.teardown(() => processes.stop());
  const found = (await wrong()).filter(({ runbook }) => runbook === 'certificateends');
  t.deepEqual(
    found.map((one) => one.wrong),
    [`the certificate of NATS_CERT_FILE has ended at ${ended}`, `the certificate of event log ends at ${soon}`],
  );
});

test('the doctor says when a disk or the event log will have no room', async (t) => {
  const { folder, give } = await world(t);
  const bytes = { free_bytes: 5e9, size_bytes: 10e9 };
  const [soon, later] = ['soon', 'later'].map((role) =>
    give(role, { disk: async () => ({ ...bytes, hours_left: role === 'soon' ? 7.9 : 30 }) }),
  );
  t.teardown(() => Promise.all([soon!.stop(), later!.stop()]));
  const db = new DatabaseSync(`${folder}/events.db`);
  db.exec('CREATE TABLE filler AS SELECT zeroblob(9000000) AS bytes');
  db.close();
  const { stdout } = await opsHere(['doctor', '--json'], { DATA_DIR: folder, EVENT_LOG_MAX_MB: '11' });
  const { findings } = JSON.parse(stdout) as { findings: { wrong: string; runbook: string }[] };
  const of = (runbook: string) => findings.filter((one) => one.runbook === runbook).map(({ wrong }) => wrong);
  t.regex(of('eventloglarge').join(), /^the event log has (9|10) MB of the 11 MB that it may have$/);
  const disks = of('diskfills').filter((wrong) => wrong.includes('5.0 GB left'));
  t.is(disks.length, 1);
  t.regex(disks[0]!, /of the role soon has 5\.0 GB left of 10\.0 GB, and is full in 7 hours at the present rate$/);
});

test('the doctor tells of what stands still, and of maintenance and a backup that nobody looked after', async (t) => {
  const backup_id = '7b0d9c0e-5c39-4c1c-9d0b-0a4f6f1a2b3c';
  const now = Date.now();
  const { folder, give, wrong } = await world(t, async (stored) => {
    const backups = openBackups(coded(stored));
    await backups.start(backup_id, { ...commandContext(), now });
    await backups.run(backup_id, { type: 'fail', reason: 'fault', message: 'm' }, { ...commandContext(), now });
  });
  const hours_ago = (hours: number) => new Date(now - hours * 3_600_000).toISOString();
  const audit = { position: '1', entries: 1, violations: 0, found: [], began_at: hours_ago(30) };
  const oldest = { job_id: 'slow', for_ms: 700_000 };
  const processes = give('processes');
  processes.measure(() => ({ jobs: 1, batches: 1, urls: 1, waiting: 0, oldest }));
  processes.audited(() => ({ ...audit, completed_at: hours_ago(2) }));
  t.teardown(() => processes.stop());
  const log = await openSqliteEventStore({ path: `${folder}/events.db` });
  // No projector runs that would take it.
  await openMaintenanceMode(coded(log)).start('Back soon.', { ...commandContext(), now: now - 3 * 3_600_000 });
  await log.close();
  const found = (await wrong()).map((one) => [one.runbook, one.wrong.replace(/\b10[89]\d\d s/, 'N s')]);
  t.deepEqual(found, [
    ['maintenanceforgotten', `maintenance mode is on since ${hours_ago(3)}: users change nothing`],
    ['workstandsstill', 'a batch of the job slow has no results after 700 s'],
    ['ledgerauditstalled', `the audit of the ledger has not reached the end of the log since ${hours_ago(2)}`],
    ['backupold', 'there is no backup'],
    ['backupfailed', `the last backup, which was started at ${new Date(now).toISOString()}, failed`],
    ['readmodelslag', 'the read models of the projector are N s behind the event log'],
  ]);
});

test('the doctor says which store cannot be read', async (t) => {
  const { code, stdout } = await opsHere(['doctor'], { DATA_DIR: '/nowhere' });
  t.is(code, 1);
  t.regex(stdout, /the event log cannot be read: .*\n.*\nthe store of documents cannot be read: /);
});
