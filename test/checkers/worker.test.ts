// The worker: messages of several batches, jobs that stop and resume, and outcomes as they come.
import test from 'ava';
import { until } from '../support/behind.ts';
import { manualEngine } from '../support/fake-engine.ts';
import { jobOfWorkers, messages, resume } from '../support/job-of-workers.ts';

test('a message of several batches is acknowledged when all of them are recorded', async (t) => {
  const { work, publish, recorded, queue } = await jobOfWorkers(t);
  const { engine, finish, in_flight, owners } = manualEngine();
  work(engine);
  await publish(0, [0, 10], [10, 20]);
  await until(() => in_flight().length === 20);
  t.deepEqual([...owners()], ['alice']);
  finish();
  await until(async () => (await recorded(1)).length === 10);
  t.deepEqual(await recorded(0), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  t.is(await messages(queue), 0);
});

test("a cancellation aborts a job's requests, and later messages of the job start none", async (t) => {
  const { work, publish, change, nothingLeft, recorded } = await jobOfWorkers(t);
  const { engine, begun, in_flight } = manualEngine();
  work(engine);
  await publish(0, [0, 10]);
  await until(() => in_flight().length === 10);
  await change({ type: 'cancel' });
  await until(() => in_flight().length === 0);
  await publish(0, [10, 20]);
  await nothingLeft();
  t.is(begun.length, 10);
  t.deepEqual(await recorded(0), []);
});

test('the checker finds in the log that a job stopped before the checker began', async (t) => {
  const { work, publish, change, nothingLeft } = await jobOfWorkers(t);
  const { engine, in_flight } = manualEngine();
  await publish(0, [0, 10]);
  await change({ type: 'cancel' });
  work(engine);
  await nothingLeft();
  await until(() => in_flight().length === 0);
  t.pass();
});

test('a paused job starts no request, and all of its finished URLs are recorded', async (t) => {
  const { work, publish, change, recorded, urlOf } = await jobOfWorkers(t);
  const { engine, begun, in_flight, waiting, finish } = manualEngine(4);
  work(engine);
  await publish(0, [0, 10]);
  await until(() => in_flight().length === 4);
  finish(urlOf(1));
  await until(() => in_flight().length === 4);
  await change({ type: 'pause' });
  await until(() => waiting().length === 0);
  t.is(in_flight().length, 4);
  finish();
  await until(async () => (await recorded(0)).length === 5);
  t.deepEqual(begun, [0, 1, 2, 3, 4].map(urlOf));
});

test('outcomes are recorded while others of their batch are missing, and after a kill only these are asked for', async (t) => {
  const { work, publish, recorded, urlOf } = await jobOfWorkers(t);
  const slow = manualEngine();
  const end = work(slow.engine, { record_ms: 5 });
  await publish(0, [0, 10]);
  await until(() => slow.in_flight().length === 10);
  slow.finish(...[1, 2, 5, 9].map(urlOf));
  await until(async () => (await recorded(0)).length === 4);
  t.deepEqual(await recorded(0), [1, 2, 5, 9]);
  await end();
  const next = manualEngine();
  work(next.engine);
  await until(() => next.in_flight().length === 6);
  next.finish();
  await until(async () => (await recorded(0)).length === 10);
  t.deepEqual(next.begun, [0, 3, 4, 6, 7, 8].map(urlOf));
});

test('a job that is resumed while its batch is in progress continues at once, up to its new end', async (t) => {
  const { work, publish, change, recorded, urlOf } = await jobOfWorkers(t);
  const { engine, begun, in_flight, waiting, finish } = manualEngine(2);
  work(engine);
  await publish(0, [0, 5]);
  await until(() => in_flight().length === 2);
  await change({ type: 'pause' });
  await until(() => waiting().length === 0);
  await change(resume);
  await publish(2, [0, 10]);
  await until(() => waiting().length === 8);
  while (in_flight().length > 0) {
    finish();
    await new Promise(setImmediate);
  }
  await until(async () => (await recorded(0)).length === 10);
  t.deepEqual([...begun].sort(), Array.from({ length: 10 }, (_, n) => urlOf(n)).sort(), 'each is asked once');
});

test('the rest of a batch in progress is checked at once, and recorded after its beginning', async (t) => {
  const { work, publish, recorded, urls } = await jobOfWorkers(t);
  const { engine, in_flight, finish } = manualEngine();
  work(engine);
  await publish(0, [0, 5]);
  await until(() => in_flight().length === 5);
  await publish(0, [5, 10]);
  await until(() => in_flight().length === 10);
  finish(...urls(5, 10));
  finish();
  await until(async () => (await recorded(0)).length === 10);
  t.deepEqual(await recorded(0), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});
