import { tmpdir } from 'node:os';
import test, { type ExecutionContext } from 'ava';
import { Registry } from 'prom-client';
import { openWatch } from '../../../http/server/probes.ts';
import { openReadiness } from '../../../http/server/readiness.ts';
import { openReadModels } from '../../../readmodels/read-models.ts';
import { giveRoleSigns, openRoleWatch, type RoleSigns } from '../../../roles/role-signs.ts';
import { until } from '../../support/behind.ts';
import { openTestStores } from '../../support/stores.ts';

const NEVER_MS = 1_000_000_000;

const IDLE = { jobs: 0, batches: 0, urls: 0, urls_by_job: {}, waiting: 0, oldest: null };

/** Roles that give signs over real documents, and a clock and a log that the test holds. */
async function openWorld(t: ExecutionContext) {
  const { documents } = await openTestStores(t);
  const at = { ms: 0, head: '', position: '', log_is_away: false };
  const monotonic = () => at.ms;
  const roles = openRoleWatch(documents, { monotonic });
  const registry = new Registry();
  const readiness = openReadiness({
    head: async () => (at.log_is_away ? Promise.reject(new Error('away')) : at.head),
    position: async () => at.position,
    roles,
    registry,
    monotonic,
    every_ms: NEVER_MS,
  });
  t.teardown(() => readiness.close());
  let queue_is_away = false;
  let lost = 0;
  const signs = new Map<string, RoleSigns>();
  function start(role: string) {
    const askQueue = async () => {
      if (queue_is_away) throw new Error('away');
    };
    const given = giveRoleSigns({ documents, role, every_ms: 2, ...(role !== 'projector' ? { askQueue } : {}) });
    given.say('working');
    if (role === 'processes') given.measure(() => ({ ...IDLE, lost: { waiting: lost, batches: 9 } }));
    signs.set(role, given);
    t.teardown(() => given.stop());
  }
  async function failed(): Promise<Record<string, string>> {
    const found = await Promise.all(
      Object.entries(readiness.checks).map(([name, check]) =>
        check().then(
          () => [],
          (error: Error) => [[name, error.message]],
        ),
      ),
    );
    return Object.fromEntries(found.flat());
  }
  /** Looks until exactly these fail. */
  async function untilFailed(names: string[]): Promise<Record<string, string>> {
    let now = {};
    await until(async () => {
      await readiness.look();
      now = await failed();
      return JSON.stringify(Object.keys(now)) === JSON.stringify(names);
    });
    return now;
  }
  const setQueue = (is_away: boolean) => (queue_is_away = is_away);
  const setLost = (batches: number) => (lost = batches);
  return { setLost, at, start, signs, registry, look: readiness.look, failed, untilFailed, setQueue };
}

test('the service is ready when every role sends heartbeats, and names a silent one', async (t) => {
  const world = await openWorld(t);
  t.deepEqual(await world.untilFailed(['queue', 'projector', 'processes', 'checker']), {
    queue: 'no process that uses it sends a heartbeat',
    projector: 'no process of this role sends a heartbeat',
    processes: 'no process of this role sends a heartbeat',
    checker: 'no process of this role sends a heartbeat',
  });
  for (const role of ['projector', 'processes']) world.start(role);
  await world.untilFailed(['checker']);
  world.start('checker');
  await world.untilFailed([]);
  await world.signs.get('checker')!.stop();
  await world.untilFailed(['checker']);
});

test('a silent role counts as gone, and a waiting one gives its reason', async (t) => {
  const world = await openWorld(t);
  for (const role of ['projector', 'processes', 'checker']) world.start(role);
  await world.untilFailed([]);
  world.signs.get('processes')!.say('waiting', 'its store is away');
  t.deepEqual(await world.untilFailed(['processes']), { processes: 'its store is away' });
  world.signs.get('processes')!.say('standing_by');
  await until(async () => (await world.untilFailed(['processes'])).processes === 'all stand by');
  world.signs.get('processes')!.say('working');
  await world.untilFailed([]);
  // Nobody looked meanwhile: what was seen last is too old to count on.
  world.at.ms += 10_000;
  t.true('projector' in (await world.failed()));
});

test('readiness reports read models that hang, and those that lag far behind', async (t) => {
  const world = await openWorld(t);
  for (const role of ['projector', 'processes', 'checker']) world.start(role);
  world.at.head = '005';
  await world.untilFailed([]);
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 1_000) {
      world.at.ms += 1_000;
      await world.untilFailed([]);
    }
  };
  await pass(9_000);
  world.at.ms += 1_000;
  t.deepEqual(await world.untilFailed(['projector']), { projector: 'the read models stand still since 10 s' });
  world.at.position = '005';
  await world.untilFailed([]);
  t.regex(await world.registry.metrics(), /service_ready\{check="projector"\} 1/);
  t.regex(await world.registry.metrics(), /service_roles_alive\{role="checker",state="working"\} 1/);
});

test('an idle log leaves the service ready', async (t) => {
  const world = await openWorld(t);
  for (const role of ['projector', 'processes', 'checker']) world.start(role);
  world.at.head = '005';
  world.at.position = '005';
  await world.untilFailed([]);
  for (let second = 0; second < 100; second++) {
    world.at.ms += 1_000;
    await world.untilFailed([]);
  }
  t.pass();
});

test('readiness names a log and a queue that are away', async (t) => {
  const world = await openWorld(t);
  for (const role of ['projector', 'processes', 'checker']) world.start(role);
  await world.untilFailed([]);
  world.setQueue(true);
  t.deepEqual(await world.untilFailed(['queue']), { queue: 'it does not answer' });
  world.setQueue(false);
  await world.untilFailed([]);
  world.at.log_is_away = true;
  world.at.ms += 4_000;
  t.deepEqual(await world.untilFailed(['event_log']), { event_log: 'it does not answer' });
  world.at.log_is_away = false;
  await world.untilFailed([]);
});

test('a queue that has lost work is ready when all of it is sent again', async (t) => {
  const world = await openWorld(t);
  for (const role of ['projector', 'processes', 'checker']) world.start(role);
  await world.untilFailed([]);
  world.setLost(3);
  t.deepEqual(await world.untilFailed(['queue']), { queue: 'it has lost 3 batches, which are sent again' });
  world.setLost(0);
  await world.untilFailed([]);
  t.pass();
});

// A file system of the kernel's has no room for anybody.
const testOnLinux = process.platform === 'linux' ? test : test.skip;
testOnLinux('a full disk of DATA_DIR is named wherever the documents are', async (t) => {
  const { log, documents } = await openTestStores(t);
  Object.defineProperty(documents, 'disk', { value: undefined });
  const registry = new Registry();
  const failing = async (data_dir: string) => {
    const watch = openWatch({ log, documents }, openReadModels(documents), {
      ...{ registry, log_max_mb: null, data_dir },
    });
    const answer = await watch.checks.disk?.().then(
      () => 'there is room',
      (error: Error) => error.message,
    );
    watch.close();
    registry.clear();
    return answer;
  };
  t.is(await failing('/proc'), 'there is no room on the disk of DATA_DIR');
  t.is(await failing(tmpdir()), 'there is room');
});
