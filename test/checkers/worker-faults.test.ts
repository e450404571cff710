// Workers beside a log and a queue that are away, and workers that sleep, are killed or stop: each URL is recorded once.
import test from 'ava';
import type { Engine } from '../../checkers/engine/engine.ts';
import { WORK_SUBJECT, type Work } from '../../checkers/work.ts';
import { runWorker } from '../../checkers/worker.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import { recordChecks } from '../../commands/jobs/record-checks.ts';
import type { EventStore } from '../../events/event-store.ts';
import { FOUND, until } from '../support/behind.ts';
import { manualEngine } from '../support/fake-engine.ts';
import { Away, BATCH, delivering, jobOfWorkers, messages } from '../support/job-of-workers.ts';
import { commandContext, silent } from '../support/stores.ts';

for (const code of ['unavailable', 'storage_full', 'log_busy']) {
  test(`outcomes are kept in memory while the log is away for two minutes (${code}), and no URL is requested again`, async (t) => {
    const { work, publish, count, log, queue, status } = await jobOfWorkers(t);
    const { engine, begun, in_flight, finish } = manualEngine();
    let clock_ms = 0;
    const away: EventStore = {
      append: (...args) => (clock_ms < 120_000 ? Promise.reject(new Away(code)) : log.append(...args)),
      readStream: (...args) => log.readStream(...args),
      readAll: (...args) => log.readAll(...args),
      subscribe: (...args) => log.subscribe(...args),
      head: () => log.head(),
      deleteStream: (stream) => log.deleteStream(stream),
      close: async () => {},
    };
    // The clock moves only while the worker waits.
    const wait = async () => {
      clock_ms += 5000;
      await new Promise(setImmediate);
    };
    work(engine, { log: away, wait });
    await publish(0, [0, 10], [10, 20]);
    await until(() => in_flight().length === 20);
    finish();
    await until(async () => (await count()) === 20);
    t.true(clock_ms >= 120_000);
    t.is(begun.length, 20);
    t.is(await status(), 'processing');
    await until(async () => (await messages(queue)) === 0);
  });
}

test('the log has an append once whose acknowledgement was lost', async (t) => {
  const { work, publish, count, log } = await jobOfWorkers(t);
  const { engine, begun, in_flight, finish } = manualEngine();
  let lost = 0;
  const losing: EventStore = {
    append: async (...args) => {
      const result = await log.append(...args);
      if (lost++ < 3) throw new Away();
      return result;
    },
    readStream: (...args) => log.readStream(...args),
    readAll: (...args) => log.readAll(...args),
    subscribe: (...args) => log.subscribe(...args),
    head: () => log.head(),
    deleteStream: (stream) => log.deleteStream(stream),
    close: async () => {},
  };
  work(engine, { log: losing, wait: () => new Promise(setImmediate) });
  await publish(0, [0, 10]);
  await until(() => in_flight().length === 10);
  finish();
  await until(async () => lost > 3);
  t.is(await count(), 10);
  t.is(begun.length, 10);
});

test('a batch that another checker took after its ack wait is recorded once', async (t) => {
  const { work, publish, recorded, open, nothingLeft } = await jobOfWorkers(t);
  const [one, two] = [manualEngine(), manualEngine()];
  work(one.engine);
  await publish(0, [0, 10]);
  await until(() => one.in_flight().length === 10);
  Object.assign(one.engine, { free: 0 });
  work(two.engine, { queue: await open() });
  // The first worker may have begun to wait for a message before it was full.
  while (two.in_flight().length === 0) {
    await publish(0, [0, 10]);
    await nothingLeft();
    await new Promise(setImmediate);
  }
  two.finish();
  one.finish();
  await until(async () => (await recorded(0)).length === 10);
  t.is((await recorded(0)).length, 10);
});

test('a checker that slept past its ack wait requests only what is in flight, until the queue delivers the batch again', async (t) => {
  const { work, publish, recorded, urlOf } = await jobOfWorkers(t);
  const { engine, begun, in_flight, waiting, finish } = manualEngine(4);
  let clock_ms = 0;
  work(engine, { ack_wait_ms: 30_000, heartbeat_ms: 5, monotonic: () => clock_ms });
  await publish(0, [0, 10]);
  await until(() => in_flight().length === 4);
  finish(urlOf(0));
  clock_ms += 30_001;
  await until(() => waiting().length === 0);
  t.deepEqual(begun, [0, 1, 2, 3, 4].map(urlOf));
  t.is(in_flight().length, 4);
  finish();
  await until(() => in_flight().length === 4);
  t.deepEqual(await recorded(0), [0, 1, 2, 3, 4], 'it gave the batch back with what it had found');
  while (in_flight().length > 0) finish();
  await until(async () => (await recorded(0)).length === 10);
  t.deepEqual(
    begun,
    Array.from({ length: 10 }, (_, n) => urlOf(n)),
    'it requested each once',
  );
});

test('messages that arrived while the checker slept go back to the queue', async (t) => {
  const { work, publish, queue, recorded } = await jobOfWorkers(t);
  const { engine, begun, in_flight, finish } = manualEngine();
  let clock_ms = 0;
  let slept = 0;
  const sleeping = delivering(queue, (pulled) => {
    if (pulled.length > 0 && slept++ === 0) clock_ms += 31_001;
    return pulled;
  });
  work(engine, { queue: sleeping, monotonic: () => clock_ms });
  await publish(0, [0, 10]);
  await until(() => in_flight().length === 10);
  t.is(slept, 2, 'the second delivery came after the first went back');
  finish();
  await until(async () => (await recorded(0)).length === 10);
  t.is(begun.length, 10);
});

test('a message whose checker was killed five times completes, and only URLs that the log lacks are requested', async (t) => {
  const { queue, work, publish, recorded, status, urlOf, log, job_id } = await jobOfWorkers(t);
  // Each checker takes the message and dies.
  const consumer = await queue.consume<Work>(WORK_SUBJECT, {
    ack_wait_ms: 1,
    max_deliveries: 1000,
    signal: new AbortController().signal,
  });
  await publish(0, [0, 10]);
  for (let killed = 0; killed < 5; killed++) t.is((await consumer.pull(1, 5000)).length, 1);
  const range = { job_id, batch: 0, from_index: 0, urls: [0, 1, 2].map(urlOf) };
  await recordChecks(log, range, [FOUND, FOUND, FOUND], commandContext());
  const { engine, begun, in_flight, finish } = manualEngine();
  work(engine);
  await until(() => in_flight().length === 7);
  finish();
  await until(async () => (await recorded(0)).length === 10);
  t.deepEqual(begun, [3, 4, 5, 6, 7, 8, 9].map(urlOf));
  t.is(await status(), 'processing');
});

test('a batch that fails at every delivery fails its job', async (t) => {
  const { publish, work, status } = await jobOfWorkers(t);
  const { engine } = manualEngine();
  let asked = 0;
  const broken: Engine = Object.assign(Object.create(engine), {
    check: () => Promise.reject(new Error(`a defect, ${++asked}`)),
  });
  work(broken);
  await publish(0, [0, 1]);
  await until(async () => (await status()) === 'failed');
  t.is(asked, 5);
});

test('a queue that refuses acknowledgements, time after time, fails no job', async (t) => {
  const { queue, publish, work, recorded, nothingLeft, status } = await jobOfWorkers(t);
  let refused = 0;
  const full = delivering(queue, (pulled) =>
    pulled.map((delivery) => ({
      ...delivery,
      async ack() {
        if (++refused > 6) return delivery.ack();
        await delivery.nak(); // rather than wait for the redelivery
        throw new Away('storage_full');
      },
    })),
  );
  const { engine, begun, in_flight, finish } = manualEngine();
  work(engine, { queue: full });
  await publish(0, [0, 10]);
  await until(() => in_flight().length === 10);
  finish();
  await nothingLeft();
  await until(() => refused === 7);
  t.is((await recorded(0)).length, 10);
  t.is(begun.length, 10, 'no URL is requested twice');
  t.is(await status(), 'processing');
});

test('a stopping checker records its outcomes and returns the rest', async (t) => {
  const { publish, work, recorded, queue, urls } = await jobOfWorkers(t);
  const { engine, in_flight, finish } = manualEngine();
  const end = work(engine);
  await publish(0, [0, 10]);
  await until(() => in_flight().length === 10);
  finish(...urls(0, 4));
  await end();
  t.deepEqual(await recorded(0), [0, 1, 2, 3]);
  t.is(await messages(queue), 1);
});

test("a job's greatest number of published batches, all stuck, does not block the next message", async (t) => {
  const { publish, work } = await jobOfWorkers(t);
  const { engine, begun } = manualEngine();
  work(engine);
  for (let batch = 0; batch < 513; batch++) await publish(0, [batch * BATCH, batch * BATCH + 1]);
  await until(() => begun.length === 513);
  t.is(begun.at(-1), 'https://example.com/5120');
});

test('a checker that could not join announces nothing any more', async (t) => {
  const { log, queue } = await jobOfWorkers(t);
  const signals: AbortSignal[] = [];
  const failing = delivering(queue, (pulled) => pulled);
  failing.listen = async (_subject, _take, signal) => {
    if (signals.push(signal) > 1) throw new Away();
  };
  const { engine } = manualEngine();
  const { signal } = new AbortController();
  const parts = { log, queue: failing, engine, jobs: openJobs(log), logger: silent, signal, ack_wait_ms: 30_000 };
  await t.throwsAsync(runWorker(parts), { code: 'unavailable' });
  t.true(signals[0]!.aborted);
});
