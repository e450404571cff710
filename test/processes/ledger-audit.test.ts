// The continuous audit: it finds what the audit of the whole ledger finds, whenever it is stopped, killed or begun again.
import { copyFile, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test, { type ExecutionContext } from 'ava';
import type { Violation } from '../../audit/findings.ts';
import { AUDITED, openLedgerAudit } from '../../audit/ledger-audit.ts';
import type { EventStore, RecordedEvent, StoredLog } from '../../events/event-store.ts';
import { ContinuousAudit, type LedgerAuditOptions } from '../../processes/ledger-audit.ts';
import { newEvent } from '../contracts/event-store/fixture.ts';
import { fillLedger, openFiller } from '../support/audited-ledger.ts';
import { openTestStores, silent } from '../support/stores.ts';

const HOUR_MS = 3_600_000;
const never = new AbortController().signal;

async function openWorld(t: ExecutionContext, log?: EventStore) {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-audit-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const at = { now: Date.parse('2026-02-01T00:00:00Z'), ms: 0, log_id: 'one' };
  const stored = (log ?? (await openTestStores(t)).log) as StoredLog;
  let rests = 0;
  const options: LedgerAuditOptions = {
    ...{ stored_log: stored, log_id: async () => at.log_id, folder, replay_ms: 24 * HOUR_MS, logger: silent },
    // Each look at the clock takes a while, so that the audit rests.
    ...{ now: () => at.now, monotonic: () => (at.ms += 30) },
    rest: async () => void rests++,
    save_events: 7,
  };
  const open = (more: Partial<LedgerAuditOptions> = {}) => new ContinuousAudit({ ...options, ...more });
  return { folder, at, log: stored, open, rests: () => rests };
}

/** The log with one event changed, as somebody with the database could do. */
const forged = (log: StoredLog, change: (event: RecordedEvent) => RecordedEvent): StoredLog => ({
  ...(log as object as StoredLog),
  head: () => log.head(),
  readStream: (...asked) => log.readStream(...asked),
  async *readAll(options) {
    for await (const event of log.readAll(options)) yield change(event);
  },
});
const withoutOne = (event: RecordedEvent): RecordedEvent =>
  event.type === 'CreditsAdjusted' ? { ...event, data: { ...(event.data as object), amount: -6 } } : event;

async function wholeAudit(log: EventStore) {
  const found: Violation[] = [];
  const audit = openLedgerAudit({ found: (violation) => found.push(violation) });
  for await (const event of log.readAll({ filter: { categories: AUDITED } })) audit.take(event);
  const report = audit.finish();
  audit.close();
  return { report, found };
}

test('the audit follows the log, finds nothing wrong, and rests', async (t) => {
  const { open, log, rests } = await openWorld(t);
  const audit = open();
  t.is(audit.sign(), null);
  await audit.pass(never);
  t.like(audit.sign(), { violations: 0, entries: 0, position: '' });
  for (let round = 0; round < 3; round += 1) {
    const filler = openFiller(log, Date.parse('2026-01-31T09:00:00Z') + round * HOUR_MS);
    await filler.buy('alice', `pi-${round}`, 1_000);
    await filler.job('alice', 700, 700, 'completed');
    await audit.pass(never);
    t.is(audit.sign()!.position, await log.head());
  }
  t.is(audit.sign()!.entries, (await wholeAudit(log)).report.entries);
  t.is(audit.sign()!.violations, 0);
  t.true(rests() > 0);
  audit.close();
});

test('a change of an entry is found and named, and a later process still knows it', async (t) => {
  const { open, log, at } = await openWorld(t);
  await fillLedger(log);
  const bad = forged(log, withoutOne);
  const expected = (await wholeAudit(bad)).found;
  const audit = open({ stored_log: bad });
  await audit.pass(never);
  t.is(audit.sign()!.violations, expected.length);
  t.deepEqual(audit.sign()!.found, expected.slice(0, 10));
  audit.close();
  const later = open();
  await later.pass(never);
  t.deepEqual(later.sign()!.found, expected.slice(0, 10));
  // The next audit of the whole ledger finds it mended.
  at.now += 25 * HOUR_MS;
  await later.pass(never);
  t.like(later.sign(), { violations: 0, found: [], began_at: new Date(at.now).toISOString() });
  later.close();
});

test('a change of what was audited before is found by the next audit of the whole ledger', async (t) => {
  const { open, log, at, folder } = await openWorld(t);
  await fillLedger(log);
  const clean = open();
  await clean.pass(never);
  clean.close();
  const audit = open({ stored_log: forged(log, withoutOne) });
  await audit.pass(never);
  t.is(audit.sign()!.violations, 0);
  at.now += 25 * HOUR_MS;
  await audit.pass(never);
  t.true(audit.sign()!.violations > 0);
  audit.close();
  t.deepEqual(await readdir(folder), ['current.db']);
});

test('a process that is killed at any event leaves a state from which the next one finds the same', async (t) => {
  const { open, log, folder } = await openWorld(t);
  await fillLedger(log);
  const bad = forged(log, withoutOne);
  const { report, found } = await wholeAudit(bad);
  const events = report.events;
  for (let killed_at = 1; killed_at < events; killed_at += 3) {
    await rm(join(folder, 'current.db'), { force: true });
    let read = 0;
    const dying = forged(bad, (event) => {
      if (++read > killed_at) throw Object.assign(new Error('away'), { code: 'unavailable' });
      return event;
    });
    await t.throwsAsync(open({ stored_log: dying }).pass(never), { message: 'away' });
    const next = open({ stored_log: bad });
    await next.pass(never);
    t.like(next.sign(), { violations: found.length, entries: report.entries, found });
    next.close();
  }
});

test('steps that are late are found by time alone, and no longer once they are done', async (t) => {
  const { open, log, at } = await openWorld(t);
  const start = Date.parse('2026-01-31T09:00:00Z');
  const filler = openFiller(log, start);
  await filler.buy('alice', 'pi-alice', 100);
  const job_id = await filler.job('alice', 40, 12, 'cancelled');
  const audit = open();
  await audit.pass(never);
  t.is(audit.sign()!.violations, 0);
  // Three hours later by the log's clock, the refund is late.
  await openFiller(log, start + 3 * HOUR_MS).buy('bob', 'pi-bob', 100);
  at.ms += HOUR_MS;
  await audit.pass(never);
  t.like(audit.sign(), { violations: 1 });
  t.is(audit.sign()!.found[0]!.rule, 'settlement');
  await filler.settle('alice', job_id, 40, 12);
  at.ms += HOUR_MS;
  await audit.pass(never);
  t.like(audit.sign(), { violations: 0, found: [] });
  audit.close();
});

test('a replaced log, a damaged state and one of another version are audited from the beginning', async (t) => {
  const { open, log, at, folder } = await openWorld(t);
  await fillLedger(log);
  const entries = (await wholeAudit(log)).report.entries;
  const audit = open();
  await audit.pass(never);
  at.log_id = 'two';
  await audit.pass(never);
  t.like(audit.sign(), { entries, violations: 0 });
  audit.close();
  await writeFile(join(folder, 'current.db'), 'this is no database, however long it may be, and SQLite says so');
  const second = open();
  await second.pass(never);
  t.like(second.sign(), { entries, violations: 0 });
  second.close();
  const db = new DatabaseSync(join(folder, 'current.db'));
  db.exec(`UPDATE saved SET state = json_set(state, '$.version', 0)`);
  db.close();
  const third = open();
  await third.pass(never);
  t.like(third.sign(), { entries, violations: 0 });
  third.close();
});

test('the audit continues when the newest stream of the log is deleted', async (t) => {
  const { open, log, at } = await openWorld(t);
  await fillLedger(log);
  await log.append('urls-refused', 'no_stream', [newEvent({}, 'UrlsListed')]);
  const audit = open();
  await audit.pass(never);
  const { began_at, entries } = audit.sign()!;
  await log.deleteStream('urls-refused');
  at.now += HOUR_MS;
  await audit.pass(never);
  t.like(audit.sign(), { began_at, entries, violations: 0 });
  audit.close();
});

test('two processes never write one state, and a state of an older log is not believed', async (t) => {
  const { open, log, folder } = await openWorld(t);
  await fillLedger(log);
  const first = open();
  await first.pass(never);
  await t.throwsAsync(open().pass(never), { code: 'ERR_SQLITE_ERROR' });
  first.close();
  await copyFile(join(folder, 'current.db'), join(folder, 'kept.db'));
  const { log: empty } = await openTestStores(t);
  const on_empty = open({ stored_log: empty as StoredLog });
  await on_empty.pass(never);
  t.like(on_empty.sign(), { entries: 0, violations: 0, position: '' });
  on_empty.close();
});
