// Several checkers over one queue, each with the hosts that a dispatcher gives to it: they join, leave and fall silent.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { createEngine, type EngineSettings } from '../../checkers/engine/engine.ts';
import type { Queue } from '../../checkers/queue.ts';
import { ALIVE_SUBJECT, type Alive, MEMBERS_SUBJECT, type Members } from '../../checkers/work.ts';
import { runWorker } from '../../checkers/worker.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import { unfold } from '../../events/checked-range.ts';
import type { URLChecked } from '../../events/checks.ts';
import type { JobCreated } from '../../events/job.ts';
import { checksStream } from '../../events/streams.ts';
import { Dispatcher } from '../../processes/dispatch.ts';
import type { JobDocument } from '../../readmodels/jobs/jobs.ts';
import { pause } from '../../time/pause.ts';
import { eventsOf, until } from '../support/behind.ts';
import { oneQueue } from '../support/one-queue.ts';
import { commandContext, openTestStores, silent } from '../support/stores.ts';
import { type Behaviour, reply, startTestSite } from '../support/test-site.ts';

const SETTINGS: EngineSettings = {
  concurrency: 64,
  per_host: 3,
  timeout_ms: 15_000,
  retries: 0,
  allow_addresses: ['127.0.0.0/8'],
  user_agent: 'test',
};
const HOSTS = 24;
const URLS = 2000;
const BATCH = 100;
const ANNOUNCE_MS = 40;

/** Answers some turns of the event loop later, so that other requests arrive meanwhile. */
const slowly: Behaviour = (_request, socket) => {
  let turns = 20;
  const turn = (): void => {
    if (--turns > 0) setImmediate(turn);
    else reply(socket, 200, { 'Content-Type': 'text/plain' }, Buffer.from('fine'));
  };
  turn();
};

/** A job over some hosts, a dispatcher that passes all the time, and checkers that the test starts. */
async function openWorld(t: ExecutionContext) {
  const open = await oneQueue(t);
  const sites = await Promise.all(
    Array.from({ length: HOSTS }, (_, n) =>
      startTestSite({ host: `127.0.0.${n + 1}`, behaviours: { '/p/*': slowly } }),
    ),
  );
  t.teardown(() => Promise.all(sites.map((site) => site.close())));
  const { log } = await openTestStores(t);
  const jobs = openJobs(log);
  const job_id = randomUUID();
  const created: JobCreated = {
    ...{ job_id, owner_id: 'alice', owner_email: null, source: 'api', total_urls: URLS, batch_size: BATCH },
    ...{ credits_allocated: URLS, reservation_id: 'r', duplicates_removed: 0, invalid_urls_rejected: 0 },
    ...{ blocked_urls_skipped: 0, filename: null, blob_key: null },
  };
  await jobs.run(job_id, { type: 'create', job: created }, commandContext());
  const urls = Array.from({ length: URLS }, (_, n) => `${sites[n % HOSTS]!.origin}/p/${n}`);
  const document = {
    ...{ _id: job_id, owner_id: 'alice', status: 'processing', total_urls: URLS, credits_allocated: URLS },
    ...{ revision: 0, batch_size: BATCH, batches_done_before: 0, batches_done: {}, position: '1' },
  } as unknown as JobDocument;
  const queue = await open();
  const stop = new AbortController();
  /** By how much the dispatcher's clock is ahead, and how fast it gains. */
  let clock_ms = 0;
  let gain_ms = 0;
  const monotonic = () => clock_ms + performance.now();
  const dispatcher = new Dispatcher({
    jobs: { find: async () => [document], get: async () => document, stream: async function* () {} },
    ...{ queue, logger: silent, monotonic, lost_after_ms: 300_000, fail: () => Promise.reject(new Error('it fails')) },
    listing: { range: async (_, from, to) => urls.slice(from, to) },
  });
  const heard: Members[] = [];
  const answered = Promise.withResolvers<void>();
  const hearAlive = (body: unknown) => {
    dispatcher.observeAlive(body as Alive);
    answered.resolve();
  };
  await queue.listen(ALIVE_SUBJECT, hearAlive, stop.signal);
  const hear = (body: unknown) => {
    heard.push(body as Members);
    dispatcher.observeMembers(body as Members);
  };
  await queue.listen(MEMBERS_SUBJECT, hear, stop.signal);

  const checked: number[] = [];
  const workers: Promise<void>[] = [];
  function start(queue_of: Queue) {
    const n = checked.push(0) - 1;
    const own = new AbortController();
    const engine = createEngine(SETTINGS);
    const working = runWorker({
      ...{ log, jobs, engine, logger: silent, ack_wait_ms: 30_000, announce_ms: ANNOUNCE_MS, record_ms: 20 },
      ...{ queue: queue_of, signal: AbortSignal.any([own.signal, stop.signal]), checked: () => checked[n]!++ },
    }).finally(() => engine.close());
    workers.push(working);
    return () => {
      own.abort();
      return working;
    };
  }
  const begin = () => {
    workers.push(
      (async () => {
        await answered.promise;
        for (; !stop.signal.aborted; await pause(5, stop.signal), clock_ms += gain_ms) await dispatcher.pass();
      })(),
    );
  };
  t.teardown(async () => {
    stop.abort();
    await Promise.all(workers);
  });
  async function recorded(): Promise<number[]> {
    const indexes: number[] = [];
    for (let batch = 0; batch * BATCH < URLS; batch++) {
      for (const { data } of await eventsOf(log, checksStream(job_id, batch))) {
        indexes.push(...unfold(data as URLChecked, []).map(({ index }) => index));
      }
    }
    return indexes.sort((a, b) => a - b);
  }
  const all = Array.from({ length: URLS }, (_, n) => n);
  return {
    ...{ open, start, begin, checked, recorded, all, heard },
    most: () => Math.max(...sites.map((site) => site.most_at_once)),
    asked: () => sites.reduce((sum, { requests }) => sum + requests.length, 0),
    hurry: () => (gain_ms = 20),
  };
}

const isDone = (world: Awaited<ReturnType<typeof openWorld>>) => async () => (await world.recorded()).length >= URLS;

test('checkers that join during a job get hosts, no host gets more requests than one may send, and each URL is asked once', async (t) => {
  const world = await openWorld(t);
  const { start, open, begin, checked, asked, most, recorded, all } = world;
  start(await open());
  begin();
  await until(() => asked() > URLS / 10);
  start(await open());
  await until(isDone(world));
  t.deepEqual(await recorded(), all);
  t.is(most(), SETTINGS.per_host);
  t.true(Math.min(...checked) > 0, `each had its part: ${checked}`);
  t.true(asked() <= URLS + HOSTS * SETTINGS.per_host, `${asked()} requests for ${URLS} URLs`);
});

test('the hosts of a checker that leaves go to the others at once', async (t) => {
  const world = await openWorld(t);
  const { start, open, begin, asked, most, recorded, all } = world;
  const first = start(await open());
  start(await open());
  begin();
  await until(() => asked() > URLS / 10);
  await first();
  await until(isDone(world));
  t.deepEqual(await recorded(), all);
  t.is(most(), SETTINGS.per_host);
});

test('the URLs of a checker that falls silent are asked by another one', async (t) => {
  const world = await openWorld(t);
  const { start, open, begin, asked, recorded, all, heard, hurry } = world;
  start(await open());
  const queue = await open();
  let is_cut = false;
  start({
    max_body_bytes: queue.max_body_bytes,
    publish: (...args) => queue.publish(...args),
    consume: (...args) => queue.consume(...args),
    drop: (subject) => queue.drop(subject),
    depth: (subject) => queue.depth(subject),
    broadcast: async (...args) => (is_cut ? undefined : queue.broadcast(...args)),
    listen: (subject, received, signal) => queue.listen(subject, (body) => is_cut || received(body), signal),
    close: async () => {},
  });
  begin();
  await until(() => asked() > URLS / 10 && heard.at(-1)?.ids.length === 2);
  is_cut = true;
  hurry();
  await until(() => heard.at(-1)?.ids.length === 1);
  await until(isDone(world));
  t.deepEqual(await recorded(), all);
});
