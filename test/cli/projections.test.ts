// `npm run ops -- projections …`: what the projections are, and how they are rebuilt while nobody or somebody else works.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test, { type ExecutionContext } from 'ava';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { ALL_PROJECTIONS } from '../../projections/all.ts';
import { balances, transactions } from '../../readmodels/billing/credits.ts';
import { jobs } from '../../readmodels/jobs/jobs.ts';
import { PROJECTOR, projectionStates, projectorStates } from '../../readmodels/projection-state.ts';
import { auditTrail } from '../../readmodels/users/audit-trail.ts';
import { newEvent } from '../contracts/event-store/fixture.ts';
import { openFiller } from '../support/audited-ledger.ts';
import { until } from '../support/behind.ts';
import { appendLongLedger } from '../support/long-ledger.ts';
import { makeProjectedFolder, openLive, projectedFolder, stateIn, withDocuments } from '../support/projected-folder.ts';
import { opsHere } from '../support/run-ops.ts';
import { runProgram } from '../support/run-program.ts';
import { openFolderLog } from '../support/stores.ts';
import { startProjector } from '../support/tallies.ts';

const ops = (DATA_DIR: string, ...args: string[]) => opsHere(args, { DATA_DIR });
const OPS = join(import.meta.dirname, '../../cli/ops.ts');

/** So many that a rebuild of the credits takes a while. */
const ENTRIES = 20_000;
let long: string;
test.before(async () => {
  long = await makeProjectedFolder((log) => appendLongLedger(log, ENTRIES));
});
test.after.always(() => rm(long, { recursive: true, force: true }));

/** A copy of a folder with a long ledger, until the test is over. */
async function copyOfLong(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'projected-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  await cp(long, folder, { recursive: true });
  return folder;
}

const projectorIn = (DATA_DIR: string) =>
  withDocuments(DATA_DIR, (documents) => documents.reading(projectorStates).get(PROJECTOR));

/** The program as a process that the test may end. */
function start(t: ExecutionContext, DATA_DIR: string, ...args: string[]) {
  const child = spawn(process.execPath, [OPS, ...args], { env: { ...process.env, DATA_DIR }, stdio: 'ignore' });
  t.teardown(() => child.kill('SIGKILL'));
  return { child, exited: once(child, 'exit').then(([code]) => code as number | null) };
}

test('projections list has the version, the position and the lag of each, and changes nothing', async (t) => {
  const DATA_DIR = await projectedFolder(t);
  const { code, stdout } = await ops(DATA_DIR, 'projections', 'list', '--json');
  t.is(code, 0);
  const { head, projections } = JSON.parse(stdout);
  t.deepEqual(
    projections.map(({ projection }: { projection: string }) => projection).sort(),
    [...ALL_PROJECTIONS.map(({ name }) => name), 'worker_log'].sort(),
  );
  const of = (name: string) => projections.find(({ projection }: { projection: string }) => projection === name);
  t.like(of('jobs'), { state: 'live', version: 11, code_version: 11, position: head, lag_events: 0, parked_events: 0 });
  t.like(of('worker_log'), { state: 'unbuilt', version: null, code_version: 1, position: null });

  const log = await openFolderLog(DATA_DIR);
  await openFiller(log).job('alice', 10, 0, 'running');
  await log.close();
  const later = await ops(DATA_DIR, 'projections', 'list');
  t.regex(later.stdout, /^jobs +11 +live +\d{16} +[23] events, \d/m);
  t.regex(later.stdout, /^worker_log +unbuilt$/m);
});

test('without a log or documents, projections list ends with 2 and makes neither', async (t) => {
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'projections-'));
  t.teardown(() => rm(DATA_DIR, { recursive: true, force: true }));
  t.regex((await ops(DATA_DIR, 'projections', 'list')).stderr, /there is no event log at/);
  await (await openFolderLog(DATA_DIR)).close();
  const { code, stderr } = await ops(DATA_DIR, 'projections', 'list');
  t.is(code, 2);
  t.regex(stderr, /there are no documents at/);
  t.false(existsSync(join(DATA_DIR, 'documents.db')));
});

test('projections rebuild requires names that exist, or --all', async (t) => {
  const DATA_DIR = await projectedFolder(t);
  for (const args of [[], ['jobs', '--all'], ['nothing'], ['jobs', '--fast']]) {
    const { code, stderr } = await ops(DATA_DIR, 'projections', 'rebuild', ...args);
    t.is(code, 2, args.join(' '));
    t.regex(stderr, /it needs|no projection nothing|--fast/);
  }
  t.is((await stateIn(DATA_DIR, 'jobs'))?.generation, 1);
});

test('projections rebuild --verify names each live document that was changed without the log, and repairs it', async (t) => {
  const DATA_DIR = await projectedFolder(t);
  const clean = await ops(DATA_DIR, 'projections', 'rebuild', '--all', '--verify', '--json');
  t.is(clean.code, 0, clean.stdout + clean.stderr);
  const { projections } = JSON.parse(clean.stdout);
  t.is(projections.length, ALL_PROJECTIONS.length + 1);
  t.is(projections[0].verified.documents > 0, true);

  const job_id = await withDocuments(DATA_DIR, async (documents) => {
    const live = await openLive(documents, 'jobs', jobs);
    const { _id } = (await live.find({}, { limit: 1 }))[0]!;
    await live.write([{ update: _id, set: { $inc: { completed_urls: 1 } } }]);
    const credits = await openLive(documents, 'credits', balances);
    await credits.write([{ delete: 'alice' }, { insert: { ...(await credits.get('bob'))!, _id: 'mallory' } }]);
    return _id;
  });
  const diff = await ops(DATA_DIR, 'projections', 'diff', 'jobs', 'credits', 'users');
  t.is(diff.code, 1, diff.stderr);
  t.regex(diff.stdout, /^credits:\n {2}\d+ documents compared: 2 live ones differ\n {2}balances alice is missing\n/m);
  t.regex(diff.stdout, /^users:\n {2}0 documents compared: the live ones are equal$/m);
  const found = await ops(DATA_DIR, 'projections', 'rebuild', 'jobs', 'credits', '--verify');
  t.is(found.code, 1, found.stderr);
  t.true(found.stdout.includes(`  jobs ${job_id}: completed_urls\n`), found.stdout);
  t.true(found.stdout.includes('  balances alice is missing\n  balances mallory is not in the log\n'), found.stdout);
  const again = await ops(DATA_DIR, 'projections', 'rebuild', 'jobs', 'credits', '--verify');
  t.is(again.code, 0, again.stdout);
});

test('a rebuild that was killed resumes where it stopped, and two at once are one', async (t) => {
  t.timeout(300_000);
  const DATA_DIR = await copyOfLong(t);
  const rebuild = ['projections', 'rebuild', 'credits'];
  await endedMidway(t, DATA_DIR, 'SIGKILL');
  const { next } = (await stateIn(DATA_DIR, 'credits'))!;
  t.true(next !== null && next.checkpoint > '');
  const both = await Promise.all(
    [start(t, DATA_DIR, ...rebuild), start(t, DATA_DIR, ...rebuild)].map((one) => one.exited),
  );
  t.deepEqual(both, [0, 0]);
  t.is((await stateIn(DATA_DIR, 'credits'))?.generation, next!.generation, 'nobody began again');
  const entries = await withDocuments(DATA_DIR, async (documents) =>
    (await openLive(documents, 'credits', transactions)).count({}),
  );
  t.is(entries, ENTRIES);
});

test('where there were no documents, a rebuild ends when they are complete, and until then none are compared', async (t) => {
  t.timeout(300_000);
  const DATA_DIR = await copyOfLong(t);
  const rebuild = await stoppedMidway(t, DATA_DIR);
  for (const command of [['fsck'], ['projections', 'diff', 'credits']]) {
    const { code, stderr } = await ops(DATA_DIR, ...command);
    t.is(code, 2);
    t.regex(stderr, /being rebuilt|no documents yet/);
  }
  rebuild.child.kill('SIGCONT');
  t.is(await rebuild.exited, 0);
  t.is((await projectorIn(DATA_DIR))!.catching_up_to, null);
  const entries = await withDocuments(DATA_DIR, async (documents) =>
    (await openLive(documents, 'credits', transactions)).count({}),
  );
  t.is(entries, ENTRIES);
});

test('SIGTERM ends a rebuild with 2, and leaves it to the next projector', async (t) => {
  const DATA_DIR = await copyOfLong(t);
  t.is(await endedMidway(t, DATA_DIR, 'SIGTERM'), 2);
  t.not((await stateIn(DATA_DIR, 'credits'))?.next, null);
});

test('projections diff finds nothing where nothing differs, also in documents that change meanwhile', async (t) => {
  t.timeout(300_000);
  const DATA_DIR = await projectedFolder(t, (log) => appendLongLedger(log, 5_000));
  const log = await openFolderLog(DATA_DIR);
  const filler = openFiller(log);
  const stop = new AbortController();
  const running = withDocuments(DATA_DIR, (documents) =>
    startProjector({ log, documents }, ALL_PROJECTIONS, stop.signal),
  );
  const names = ALL_PROJECTIONS.map(({ name }) => name);
  // In a process: in this thread it would share its turns with those who write.
  const words = ['projections', 'diff', ...names, '--json'];
  const diff = runProgram('ops', words, { DATA_DIR }).finally(() => stop.abort());
  for (let n = 0; !stop.signal.aborted; n++) await filler.buy('alice', `pi-${n}`, 1);
  await running;
  await log.close();
  const { code, stdout, stderr } = await diff;
  t.is(code, 0, stdout + stderr);
  t.is(JSON.parse(stdout).projections.length, names.length);
  for (const all of [['--all'], []]) {
    const { stderr, ...ended } = await ops(DATA_DIR, 'projections', 'diff', '--json', ...all);
    t.is(ended.code, 0, ended.stdout);
    t.is(JSON.parse(ended.stdout).projections.length, names.length + 1);
    t.regex(stderr, /worker_log has no documents yet/);
  }
});

test('park list names the events that a projection could not take, and park retry takes them in their place', async (t) => {
  const mended = { domain: 'a.example', reason: null, block_type: 'manual', error_codes: [] };
  const DATA_DIR = await projectedFolder(t, async (log) => {
    const metadata = { command_id: 'c', causation_id: 'c', actor: 'admin:a', at: '2026-01-31T09:00:00Z' };
    const broken = { id: randomUUID(), type: 'DomainBlocked', data: null as never, metadata };
    await log.append('blocklist-domains', 'no_stream', [broken]);
  });
  const [listed, in_json] = [await ops(DATA_DIR, 'park', 'list'), await ops(DATA_DIR, 'park', 'list', '--json')];
  t.is(listed.code, 1, listed.stderr);
  t.regex(
    listed.stdout,
    /^blocked_domains \(version \d+\) at position \d{16}, blocklist-domains 0: DomainBlocked\n {2}TypeError: /m,
  );
  const { events, parked } = JSON.parse(in_json.stdout);
  t.is(parked, events.length);
  t.like(events[0], { stream: 'blocklist-domains', revision: 0, type: 'DomainBlocked' });

  const still = await ops(DATA_DIR, 'park', 'retry');
  t.is(still.code, 1, still.stderr);
  t.regex(still.stdout, /^blocked_domains: version .*\n {2}1 event parked/m);
  const db = new DatabaseSync(join(DATA_DIR, 'events.db'));
  db.prepare("UPDATE events SET data = ? WHERE type = 'DomainBlocked'").run(JSON.stringify(mended));
  db.close();
  t.is((await ops(DATA_DIR, 'park', 'retry', 'jobs')).code, 2, 'it lacks none');
  t.is((await ops(DATA_DIR, 'park', 'retry')).code, 0);
  for (const command of ['list', 'retry']) {
    const { code, stdout } = await ops(DATA_DIR, 'park', command);
    t.deepEqual([code, stdout], [0, 'no event is parked\n']);
  }
});

test('park discard lets a read model do without an event, also after a rebuild, and the audit lists it', async (t) => {
  const broken = { id: randomUUID(), type: 'DomainBlocked', data: null as never };
  const metadata = { command_id: 'c', causation_id: 'c', actor: 'admin:a', at: '2026-01-31T09:00:00Z' };
  const DATA_DIR = await projectedFolder(t, async (log) => {
    await log.append('service-log', 'no_stream', [
      { id: randomUUID(), type: 'LogIdentified', data: { log_id: randomUUID() }, metadata },
    ]);
    await log.append('blocklist-domains', 'no_stream', [{ ...broken, metadata }]);
  });
  const { events, parked } = JSON.parse((await ops(DATA_DIR, 'park', 'list', '--json')).stdout);
  const { projection, position } = events.find(
    (event: { projection: string }) => event.projection === 'blocked_domains',
  );
  const discard = (...args: string[]) => ops(DATA_DIR, 'park', 'discard', ...args);
  t.regex((await discard(projection, position)).stderr, /--reason TEXT/);
  t.regex((await discard(projection, '99', '--reason', 'x')).stderr, /has parked no event at position/);
  t.regex((await discard('jobs', position, '--reason', 'x')).stderr, /jobs has parked no event/);
  for (const _ of ['once', 'twice']) {
    const done = await discard(projection, String(Number(position)), '--reason', 'written by a test');
    t.is(done.code, 0, done.stderr);
  }
  const logged = await opsHere(['events', 'count', '--type', 'ParkedEventDiscarded'], { DATA_DIR });
  t.is(logged.stdout, '1\n');
  for (const rebuilds of [['audit'], ['blocked_domains']]) {
    t.is((await ops(DATA_DIR, 'projections', 'rebuild', ...rebuilds)).code, rebuilds.includes('audit') ? 1 : 0);
    const still = JSON.parse((await ops(DATA_DIR, 'park', 'list', '--json')).stdout);
    t.is(still.parked, parked - 1);
    t.false(still.events.some((event: { projection: string }) => event.projection === projection));
  }
  const entry = await withDocuments(DATA_DIR, async (documents) =>
    (await openLive(documents, 'audit', auditTrail)).find({ action: 'parked_event_discarded' }),
  );
  t.like(entry[0], { admin: 'park', target: 'blocked_domains', reason: 'written by a test' });
});

test('a rebuild continues without an event of a later version, and names it', async (t) => {
  const DATA_DIR = await projectedFolder(t);
  const log = await openSqliteEventStore({ path: join(DATA_DIR, 'events.db') });
  const event = newEvent({}, 'UserRegistered');
  const later = { ...event, metadata: { ...event.metadata, version: 99 } };
  await log.append('user-later', 'no_stream', [later]);
  await log.close();
  const rebuilt = await ops(DATA_DIR, 'projections', 'rebuild', 'users');
  t.is(rebuilt.code, 1, rebuilt.stderr);
  t.regex(rebuilt.stdout, /1 event parked: `park list` says why/);
  const parked = await ops(DATA_DIR, 'park', 'list');
  t.regex(parked.stdout, /user-later 0.*start the later service/s);
});

/** Stops a rebuild of documents that there are none of before they are complete. One that is faster than this process is begun again. */
async function stoppedMidway(t: ExecutionContext, DATA_DIR: string) {
  const path = join(DATA_DIR, 'documents.db');
  for (;;) {
    await Promise.all(['', '-wal', '-shm'].map((end) => rm(path + end, { force: true })));
    const rebuild = start(t, DATA_DIR, 'projections', 'rebuild', '--all');
    await until(async () => existsSync(path) && (await projectorIn(DATA_DIR)) !== null, 5);
    rebuild.child.kill('SIGSTOP');
    if ((await projectorIn(DATA_DIR))!.catching_up_to !== null) return rebuild;
    rebuild.child.kill('SIGKILL');
    await rebuild.exited;
  }
}

/** Ends a rebuild of the credits by a signal before it is complete. One that is faster than this process is begun again. */
async function endedMidway(t: ExecutionContext, DATA_DIR: string, signal: NodeJS.Signals): Promise<number | null> {
  for (;;) {
    const { child, exited } = start(t, DATA_DIR, 'projections', 'rebuild', 'credits');
    await withDocuments(DATA_DIR, async (documents) => {
      const states = documents.reading(projectionStates);
      const isMidway = async () => ((await states.get('credits'))?.next?.checkpoint ?? '') !== '';
      await until(async () => child.exitCode !== null || (await isMidway()), 5);
    });
    child.kill(signal);
    const code = await exited;
    if ((await stateIn(DATA_DIR, 'credits'))?.next) return code;
  }
}
