// The live status: dependencies as they are measured, stores that do not answer, and followers with their lag.
import test, { type ExecutionContext } from 'ava';
import { openGrowthNotes } from '../../../commands/growth-notes.ts';
import { openServiceStatus, type StatusParts } from '../../../http/operations/service-status.ts';
import { MOST_COUNTED } from '../../../http/server/followers.ts';
import { ALL_PROJECTIONS } from '../../../projections/all.ts';
import {
  projectionState,
  projectionStates,
  projectorState,
  projectorStates,
} from '../../../readmodels/projection-state.ts';
import {
  DependencyFault,
  type DependencyState,
  measureDependency,
  probeDependencies,
  reachServer,
} from '../../../roles/dependencies.ts';
import { giveRoleSigns, openRoleWatch, type RoleSigns } from '../../../roles/role-signs.ts';
import { until } from '../../support/behind.ts';
import { commandContext, openTestStores, project } from '../../support/stores.ts';
import { startTestProxy } from '../../support/test-proxy.ts';

const NEVER = new Promise<never>(() => {});

test('a dependency is away after an error, and while it keeps a question waiting', async (t) => {
  let now = 0;
  const measured = measureDependency({ name: 'queue', kind: 'nats' }, () => now);
  t.like(measured.state(), { status: 'unknown', latency_ms: null });
  await measured.ask(async () => (now += 12));
  now = 100;
  t.deepEqual(measured.state(), { name: 'queue', kind: 'nats', status: 'ok', latency_ms: 12, for_ms: 100 });
  await t.throwsAsync(measured.ask(() => Promise.reject(new Error('away'))));
  now = 150;
  t.like(measured.state(), { status: 'away', for_ms: 50 });
  await measured.ask(async () => {});
  let answer = () => {};
  const slow = measured.ask(() => new Promise<void>((resolve) => (answer = resolve)));
  now = 1500;
  t.like(measured.state(), { status: 'ok', for_ms: 1350 });
  now = 21_000;
  t.like(measured.state(), { status: 'away', for_ms: 20_850 });
  answer();
  await slow;
  // The answer took 20 s, so it proves little.
  t.like(measured.state(), { status: 'away' });
  await measured.ask(async () => {});
  t.like(measured.state(), { status: 'ok', for_ms: 0 });
});

test('a dependency says why it is away only where the reason is for operators', async (t) => {
  const measured = measureDependency({ name: 'mail', kind: 'smtp' }, () => 0);
  await t.throwsAsync(measured.ask(() => Promise.reject(new DependencyFault('no mail can be sent: 550'))));
  t.like(measured.state(), { status: 'away', reason: 'no mail can be sent: 550' });
  await t.throwsAsync(measured.ask(() => Promise.reject(new Error('smtp://user:secret@host'))));
  t.false('reason' in measured.state());
  await measured.ask(async () => {});
  t.false('reason' in measured.state());
});

test('a probe that waits for a server is given up in time, and asked once at a time', async (t) => {
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  let asked = 0;
  const ask = () => {
    asked++;
    return NEVER;
  };
  const probed = probeDependencies([{ name: 'files', kind: 's3', ask }], { signal: stop.signal });
  const began = performance.now();
  await Promise.all([probed.ask(), probed.ask()]);
  t.true(performance.now() - began < 10_000);
  t.is(asked, 1);
  t.like(probed.states()[0], { name: 'files', status: 'away' });
});

test('a server is reached when it takes a connection', async (t) => {
  const server = await startTestProxy();
  const { signal } = new AbortController();
  await t.notThrowsAsync(reachServer(`smtp://user:secret@127.0.0.1:${server.port}`, signal));
  await server.close();
  await t.throwsAsync(reachServer(`smtp://user:secret@127.0.0.1:${server.port}`, signal), { code: 'ECONNREFUSED' });
});

async function openWorld(t: ExecutionContext, changed: (parts: StatusParts) => Partial<StatusParts> = () => ({})) {
  const stores = await openTestStores(t);
  const roles = openRoleWatch(stores.documents);
  const at = { ms: Date.parse('2026-01-31T09:00:00.000Z') };
  const parts: StatusParts = {
    ...stores,
    roles,
    ...{ stores: () => [], checks: {}, now: () => at.ms },
    probed: { ask: async () => {}, states: () => [] },
  };
  const status = openServiceStatus({ ...parts, ...changed(parts) });
  const give = (role: string, dependencies: DependencyState[]): RoleSigns => {
    const signs = giveRoleSigns({
      ...stores,
      role,
      every_ms: 2,
      dependencies: () => dependencies,
      queue_depth: () => 7,
    });
    t.teardown(() => signs.stop());
    return signs;
  };
  return { ...stores, at, roles, status, give, notes: openGrowthNotes(stores.log) };
}

test('each projection has its follower and its lag, also one that is rebuilt and one of a follower of its own', async (t) => {
  const { log, documents, at, status, notes } = await openWorld(t);
  const note = (n: number) => notes.add({ text: `note ${n}`, date: '2026-01-31' }, commandContext(at.ms + n));
  for (let n = 0; n < 3; n++) await note(n);
  await project({ log, documents });
  const { followers, head } = await status();
  t.is(followers?.length, ALL_PROJECTIONS.length);
  t.true(followers!.every((row) => row.follower === 'live' && row.position === head && row.lag_events === 0));

  const checkpoint = head!;
  const next = { version: 9, generation: 5, checkpoint: '', parked: 1 };
  const states = await documents.collection(projectionStates);
  const jobs = (await states.get('jobs'))!;
  await states.write([
    { replace: { ...jobs, next } },
    { replace: { ...projectionState('worker_log', null), version: 2, generation: 1 } },
  ]);
  const projectors = await documents.collection(projectorStates);
  const own = { ...projectorState(null), _id: 'worker_log', checkpoint, generations: { worker_log: 1 } };
  await projectors.write([{ replace: own }]);
  for (let n = 3; n < 10; n++) await note(n);
  at.ms += 60_003;
  const later = await status();
  const of = (projection: string, state = 'live') =>
    later.followers!.find((row) => row.projection === projection && row.state === state);
  t.like(of('worker_log'), { follower: 'worker_log', version: 2, position: checkpoint, lag_events: 7, lag_ms: 60_000 });
  t.like(of('jobs'), { follower: 'live', lag_events: 7, lag_ms: 60_000 });
  t.like(of('jobs', 'building'), { version: 9, position: '', parked_events: 1, lag_ms: 60_003 });
  t.true(of('jobs', 'building')!.lag_events! >= 10);
});

test('a follower that is far behind costs a bounded read', async (t) => {
  const { log, documents, status, notes } = await openWorld(t);
  await notes.add({ text: 'first', date: '2026-01-31' }, commandContext());
  await project({ log, documents });
  const events = Array.from({ length: MOST_COUNTED }, (_, n) => n);
  await Promise.all(events.map((n) => notes.add({ text: `note ${n}`, date: '2026-01-31' }, commandContext())));
  await notes.add({ text: 'last', date: '2026-01-31' }, commandContext());
  t.true((await status()).followers!.every(({ lag_events }) => lag_events === MOST_COUNTED));
});

test('stores that do not answer are said so in time', async (t) => {
  const head = () => NEVER;
  const { status, documents } = await openWorld(t, ({ log }) => ({
    log: { readAll: log.readAll.bind(log), head } as never,
    stores: () => [{ name: 'event_log', kind: 'eventstoredb', status: 'away', latency_ms: 3, for_ms: 9000 }],
    checks: { event_log: () => Promise.reject(new Error('it does not answer')), documents: async () => {} },
  }));
  await documents.collection(projectionStates);
  const began = performance.now();
  const found = await status();
  t.true(performance.now() - began < 10_000);
  t.like(found, { head: null, followers: null, ready: { event_log: 'it does not answer', documents: null } });
  t.like(found.dependencies[0], { name: 'event_log', status: 'away', for_ms: 9000, seen_by: 1, away_for: 1 });
});

test('what several processes see of a server is combined, and a silent process no longer counts', async (t) => {
  const { roles, status, give } = await openWorld(t);
  const queue = (status: 'ok' | 'away', latency_ms: number): DependencyState[] => [
    { name: 'queue', kind: 'nats', status, latency_ms, for_ms: 100 },
  ];
  t.like((await status()).dependencies, [
    { name: 'queue', status: 'unknown' },
    { name: 'mail', status: 'unknown' },
  ]);
  const signs = [give('checker', queue('ok', 2)), give('checker', queue('away', 1)), give('processes', queue('ok', 1))];
  signs[2]!.say('working');
  signs[2]!.measure(() => ({ jobs: 1, batches: 2, urls: 200, waiting: 0, oldest: { job_id: 'job', for_ms: 4 } }));
  await until(async () => {
    await roles.look();
    return (
      roles.all().filter(({ silent_ms, sign }) => silent_ms !== null && (sign.role !== 'processes' || sign.work))
        .length === 3
    );
  });
  const found = await status();
  t.like(found.dependencies[0], { name: 'queue', kind: 'nats', status: 'ok', latency_ms: 1, seen_by: 3, away_for: 1 });
  const { work, machine, pid, version } = found.processes.find(({ sign }) => sign.role === 'processes')!.sign;
  t.deepEqual(work, { jobs: 1, batches: 2, urls: 200, oldest: { job_id: 'job', for_ms: 4 }, queue_depth: 7 });
  t.true(machine !== '' && pid === process.pid && /^\d/.test(version!));
  await Promise.all(signs.map((one) => one.stop()));
  await roles.look();
  t.deepEqual((await status()).processes, []);
});
