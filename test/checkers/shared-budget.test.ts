// Several checkers over one queue together keep the limit of a host.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { createEngine, type Engine, type EngineSettings, type Peers } from '../../checkers/engine/engine.ts';
import { joinPeers, type PeersOptions } from '../../checkers/peers.ts';
import type { Queue } from '../../checkers/queue.ts';
import { WORK_SUBJECT, type Work } from '../../checkers/work.ts';
import { runWorker } from '../../checkers/worker.ts';
import { openJobs } from '../../commands/job.ts';
import { BEGINNING } from '../../events/event-store.ts';
import type { JobCreated } from '../../events/job.ts';
import { until } from '../support/behind.ts';
import { fakeEngine } from '../support/fake-engine.ts';
import { oneQueue } from '../support/one-queue.ts';
import { commandContext, openTestStores, silent } from '../support/stores.ts';
import { type Behaviour, reply, startTestSite } from '../support/test-site.ts';

const SETTINGS: EngineSettings = {
  concurrency: 32,
  per_host: 5,
  timeout_ms: 15_000,
  retries: 0,
  allow_addresses: ['127.0.0.0/8'],
  user_agent: 'test',
};
const ANNOUNCE_MS = 40;

/** A checker that only announces itself, and notes what its engine receives. Its clock stands still unless the test gives it one. */
function join(t: ExecutionContext, queue: Queue, { monotonic = () => 0, waitForPeers = async () => {} }: Times = {}) {
  const heard = { peers: null as Peers | null, held: [] as unknown[] };
  const engine = fakeEngine({
    share: (peers) => (heard.peers = peers),
    hold: (...what) => heard.held.push(what),
  });
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  const joining = joinPeers({
    queue,
    engine,
    logger: silent,
    signal: stop.signal,
    attempt_ms: 1000,
    announce_ms: ANNOUNCE_MS,
    monotonic,
    waitForPeers,
  });
  return { heard, joining, stop };
}
type Times = Partial<Pick<PeersOptions, 'monotonic' | 'waitForPeers'>>;

async function peer(t: ExecutionContext, queue: Queue, times: Times = {}) {
  const { heard, joining, stop } = join(t, queue, times);
  return { heard, joined: await joining, stop };
}

test('checkers whose clocks began at different times take turns at a host together', async (t) => {
  const open = await oneQueue(t);
  let passed_ms = 0;
  const began_ms = [9_000_500, 70_300, 4_100];
  const peers: Awaited<ReturnType<typeof peer>>[] = [];
  for (const began of began_ms) peers.push(await peer(t, await open(), { monotonic: () => began + passed_ms }));
  const parts = () => peers.map(({ heard }) => heard.peers?.shareOf('a.example', 1) ?? 1);
  await until(() => peers.every(({ heard }) => heard.peers !== null));
  const whose = new Set<number>();
  for (let turn = 0; turn < 3; turn++) {
    // The clocks are 1,500 ms into a turn of 4,000 ms, when no host changes its checker.
    passed_ms = 1000 + turn * 4000;
    await until(() => parts().reduce((sum, part) => sum + part) === 1);
    whose.add(parts().indexOf(1));
  }
  t.is(whose.size, 3);
});

test('a checker alone has the whole limit', async (t) => {
  const open = await oneQueue(t);
  const { heard } = await peer(t, await open());
  t.is(heard.peers, null);
});

test('a second checker shares the limit with the first before it begins, and returns its share when it leaves', async (t) => {
  const open = await oneQueue(t);
  const first = await peer(t, await open());
  const waits: (() => void)[] = [];
  const waitForPeers = () => new Promise<void>((resolve) => waits.push(resolve));
  const second = join(t, await open(), { waitForPeers });
  let has_begun = false;
  void second.joining.then(() => (has_begun = true));
  const parts = () => [first, second].map(({ heard }) => heard.peers?.shareOf('a.example', 5) ?? 5);
  await until(() => waits.length === 1 && isShared(parts()));
  waits[0]!();
  // The first checker's requests above its new share end meanwhile.
  await until(() => waits.length === 2);
  t.false(has_begun);
  waits[1]!();
  const { leave } = await second.joining;
  t.true(isShared(parts()));
  second.stop.abort();
  await leave();
  await until(() => first.heard.peers === null);
});

const isShared = (parts: readonly number[]): boolean => parts.toSorted().join() === '2,3';

test('the others forget a checker that falls silent', async (t) => {
  const open = await oneQueue(t);
  let passed_ms = 0;
  const first = await peer(t, await open(), { monotonic: () => passed_ms });
  const queue = await open();
  await peer(t, queue);
  await until(() => first.heard.peers !== null);
  await queue.close();
  await until(() => {
    passed_ms += ANNOUNCE_MS / 2;
    return first.heard.peers === null;
  });
  t.true(passed_ms > 5 * ANNOUNCE_MS, 'and not before it missed five announcements');
});

test('a checker that is cut off has no share before the others forget it, and until they know of it again', async (t) => {
  const open = await oneQueue(t);
  let passed_ms = 0;
  const monotonic = () => passed_ms;
  const queue = await open();
  let is_cut = false;
  const line: Queue = {
    ...queue,
    broadcast: async (subject, body) => (is_cut ? undefined : queue.broadcast(subject, body)),
    listen: (subject, take, signal) => queue.listen(subject, (body) => is_cut || take(body), signal),
  };
  let known = Promise.withResolvers<void>();
  known.resolve();
  const cut = await peer(t, line, { monotonic, waitForPeers: () => known.promise });
  const other = await peer(t, await open(), { monotonic });
  const parts = () => [cut, other].map(({ heard }) => heard.peers?.shareOf('a.example', 5) ?? 5);
  await until(() => isShared(parts()));
  is_cut = true;
  passed_ms += 4.5 * ANNOUNCE_MS;
  await until(() => parts()[0] === 0);
  t.true(parts()[1]! < 5, 'the other has not forgotten it yet');
  await until(() => {
    passed_ms += 1;
    return parts()[1] === 5;
  });
  known = Promise.withResolvers();
  is_cut = false;
  await until(() => parts()[1]! < 5);
  t.is(parts()[0], 0, 'requests of the other above its share end meanwhile');

  is_cut = true;
  passed_ms += 6 * ANNOUNCE_MS;
  known.resolve();
  await new Promise(setImmediate);
  t.is(parts()[0], 0, 'it is cut off again');
  is_cut = false;
  await until(() => isShared(parts()));
});

test('a checker announces a Retry-After to the others and not to itself', async (t) => {
  const open = await oneQueue(t);
  const first = await peer(t, await open());
  const second = await peer(t, await open());
  await until(() => first.heard.peers !== null && second.heard.peers !== null);
  first.heard.peers!.held('a.example', 5000);
  await until(() => second.heard.held.length > 0);
  t.deepEqual(second.heard.held, [['a.example', 5000]]);
  t.deepEqual(first.heard.held, []);
});

/** Answers some turns of the event loop later, so that other requests arrive meanwhile. */
const slowly: Behaviour = (_request, socket) => {
  let turns = 20;
  const turn = (): void => {
    if (--turns > 0) setImmediate(turn);
    else reply(socket, 200, { 'Content-Type': 'text/plain' }, Buffer.from('fine'));
  };
  turn();
};

test('two checkers together never exceed the limit of requests to a host', async (t) => {
  const open = await oneQueue(t);
  const site = await startTestSite({ behaviours: { '/p/*': slowly } });
  const { log } = await openTestStores(t);
  const jobs = openJobs(log);
  const job_id = randomUUID();
  const job: JobCreated = {
    job_id,
    owner_id: 'alice',
    owner_email: null,
    source: 'api',
    total_urls: 2000,
    batch_size: 20,
    credits_allocated: 2000,
    reservation_id: 'r',
    duplicates_removed: 0,
    invalid_urls_rejected: 0,
    blocked_urls_skipped: 0,
    filename: null,
    blob_key: null,
  };
  await jobs.run(job_id, { type: 'create', job }, commandContext());
  const publisher = await open();
  const works = Array.from({ length: 100 }, (_, batch): Work => {
    const from = batch * 20;
    const urls = Array.from({ length: 20 }, (__, i) => `${site.origin}/p/${from + i}`);
    const ranges = [{ batch, from_index: from, urls }];
    return { owner_id: 'alice', job_id, revision: 0, position: BEGINNING, ranges };
  });

  const stop = new AbortController();
  const checked: number[] = [];
  const shares = [false, false];
  let ended = 0;
  async function run(n: number): Promise<void> {
    const engine = createEngine(SETTINGS);
    checked[n] = 0;
    const counted: Engine = {
      areNamesAway: false,
      get free() {
        return engine.free;
      },
      get backlog() {
        return engine.backlog;
      },
      get running() {
        return engine.running;
      },
      get hosts_held() {
        return engine.hosts_held;
      },
      check: (...asked) => {
        checked[n]!++;
        return engine.check(...asked).finally(() => ended++);
      },
      share: (peers) => {
        shares[n] = peers !== null;
        engine.share(peers);
      },
      hold: (...what) => engine.hold(...what),
      suspect: (url) => engine.suspect(url),
      suspects: engine.suspects,
      probes: engine.probes,
      close: () => engine.close(),
    };
    await runWorker({
      log,
      queue: await open(),
      jobs,
      engine: counted,
      logger: silent,
      signal: stop.signal,
      ack_wait_ms: 30_000,
      attempt_ms: SETTINGS.timeout_ms,
      announce_ms: ANNOUNCE_MS,
      monotonic: () => 0,
    });
    await engine.close();
  }
  const workers = [run(0), run(1)];
  t.teardown(async () => {
    stop.abort();
    await Promise.all(workers);
    await site.close();
  });
  await until(() => shares.every(Boolean));
  await publisher.publish(
    WORK_SUBJECT,
    works.map((body, batch) => ({ id: `${batch}`, body })),
  );
  await until(() => ended === 2000);
  t.is(site.most_at_once, 5);
  t.true(Math.min(...checked) > 0, 'both had their part');
});
