// The queue in a file: the contract, and what only a file has: other threads and processes, an age and a size.
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { openSqliteQueue } from '../../../adapters/queue/sqlite/sqlite-queue.ts';
import type { Queue } from '../../../checkers/queue.ts';
import { queueContract } from '../../contracts/queue.ts';
import { patientClock } from '../../support/patient-clock.ts';
import { until } from '../../support/until.ts';
import { startPeer } from './peer.ts';

queueContract('SQLite', { restart: 'end', depth_after_nak: 'counted' }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'queue-'));
  const queues: Queue[] = [];
  return {
    open: async () => {
      const queue = await openSqliteQueue({ path: join(folder, 'queue.db') });
      queues.push(queue);
      return queue;
    },
    restart: async () => {
      await Promise.all(queues.splice(0).map((queue) => queue.close()));
    },
    remove: () => rm(folder, { recursive: true }),
  };
});

test.serial("the thread runs while others hold the file, and the queue's calls complete afterwards", async (t) => {
  const { path, queue } = await openHere(t);
  const consumer = await queue.consume('work', options());
  await queue.publish('work', [{ id: 'a', body: 'a' }]);
  const [taken] = await consumer.pull(1, 1000);
  const heard: unknown[] = [];
  await queue.listen('news', (body) => heard.push(body), new AbortController().signal);
  const other = new DatabaseSync(path);
  t.teardown(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  let done = 0;
  const asked = [
    queue.broadcast('news', 'told'),
    queue.publish('work', [{ id: 'b', body: 'b' }]),
    taken!.working(),
    taken!.ack(),
  ].map((one) => one.then(() => done++));
  const before = performance.now();
  for (let turn = 0; turn < 20; turn++) await pause(1);
  // The busy timeout of SQLite would last for seconds in each of them.
  t.true(performance.now() - before < 4000);
  t.is(done, 0);
  other.exec('ROLLBACK');
  await Promise.all(asked);
  t.is(await queue.depth('work'), 1);
  await until(() => heard.length === 1);
});

for (const where of ['thread', 'process'] as const) {
  test.serial(`a message from another ${where} wakes a pull`, async (t) => {
    const { path, queue } = await openHere(t);
    const peer = await startPeer(where, path);
    t.teardown(peer.kill);
    const consumer = await queue.consume('work', options());
    const took_ms: number[] = [];
    for (let i = 0; i < 5; i += 1) {
      const waiting = consumer.pull(1, 10_000);
      await pause(60); // so that it does wait
      const elapsed_ms = patientClock(t);
      const published = peer.ask({ do: 'publish', subject: 'work', messages: [{ id: `message-${i}`, body: i }] });
      t.is((await waiting)[0]?.body, i);
      took_ms.push(elapsed_ms());
      await published;
    }
    // A pull that nothing wakes waits for ten seconds.
    t.true(took_ms.sort((a, b) => a - b)[2]! < 2_000, `they took ${took_ms.map(Math.round)} ms`);
  });

  test.serial(`broadcasts between this ${where} and another are heard once each`, async (t) => {
    const { path, queue } = await openHere(t);
    const peer = await startPeer(where, path);
    t.teardown(peer.kill);
    const heard: unknown[] = [];
    await queue.listen('news', (body) => heard.push(body), new AbortController().signal);
    await peer.ask({ do: 'listen', subject: 'news' });
    await queue.broadcast('news', 'from here');
    await peer.ask({ do: 'broadcast', subject: 'news', body: 'from there' });
    const both = ['from here', 'from there'];
    await until(() => heard.length >= 2);
    await until(async () => ((await peer.ask({ do: 'heard' })) as unknown[]).length >= 2);
    await pause(60); // a second copy would come with the next look at the table
    t.deepEqual(heard, both);
    t.deepEqual(await peer.ask({ do: 'heard' }), both);
  });

  test.serial(`the unacknowledged messages of a killed ${where} are redelivered`, async (t) => {
    const { path, queue } = await openHere(t);
    await queue.publish('work', [{ id: 'a', body: 1 }]);
    const peer = await startPeer(where, path);
    const request = { do: 'pull', subject: 'work', limit: 10, wait_ms: 10_000, ack_wait_ms: 1_500 } as const;
    t.deepEqual(await peer.ask(request), [{ id: 'a', delivery: 1 }]);
    await peer.kill();
    const consumer = await queue.consume('work', options());
    t.deepEqual(await consumer.pull(1, 0), []);
    const [again] = await consumer.pull(1, 10_000);
    t.deepEqual([again?.id, again?.delivery], ['a', 2]);
  });
}

test.serial('two threads and two processes that open a new file at once share what two others publish', async (t) => {
  const path = join(await folderOf(t), 'queue.db');
  const kinds = ['thread', 'thread', 'process', 'process', 'thread', 'process'] as const;
  const peers = await Promise.all(kinds.map((where) => startPeer(where, path)));
  for (const peer of peers) t.teardown(peer.kill);
  const publishing = [
    peers[4]!.ask({ do: 'publish many', subject: 'work', from: 0, to: 4_000 }),
    peers[5]!.ask({ do: 'publish many', subject: 'work', from: 3_000, to: 7_000 }),
  ];
  const draining = peers.slice(0, 4).map((peer) => peer.ask({ do: 'drain', subject: 'work' }));
  const ids = (await Promise.all(draining)).flat() as string[];
  await Promise.all(publishing);
  t.is(ids.length, 7_000);
  t.is(new Set(ids).size, 7_000);
});

test('an id is free again after two minutes, and no earlier', async (t) => {
  let now = 1_000_000;
  const { queue } = await openHere(t, () => now);
  await queue.publish('work', [{ id: 'a', body: 1 }]);
  now += 119_999;
  await queue.publish('work', [{ id: 'a', body: 2 }]);
  t.is(await queue.depth('work'), 1);
  now += 1;
  await queue.publish('work', [{ id: 'a', body: 3 }]);
  t.is(await queue.depth('work'), 2);
  await queue.publish('work', [{ id: 'a', body: 4 }]);
  t.is(await queue.depth('work'), 2);
});

test.serial('a step of the wall clock neither stops the queue nor redelivers unacknowledged messages', async (t) => {
  const { queue } = await openHere(t);
  const consumer = await queue.consume('work', options());
  const real = Date.now;
  t.teardown(() => (Date.now = real));
  await queue.publish('work', [{ id: 'before', body: 1 }]);
  const [in_hand] = await consumer.pull(1, 0);
  for (const step_ms of [30 * 60_000, -60 * 60_000]) {
    Date.now = () => real() + step_ms;
    t.deepEqual(await consumer.pull(1, 0), [], `${step_ms}: it is still in hand`);
    await queue.publish('work', [{ id: `${step_ms}`, body: 1 }]);
    const [next] = await consumer.pull(1, 0);
    t.is(next?.id, `${step_ms}`);
    await next!.ack();
  }
  await in_hand!.ack();
  t.is(await queue.depth('work'), 0);
});

test('after a reboot every message without an ack is due, and ids are free', async (t) => {
  const path = join(await folderOf(t), 'queue.db');
  const before = await openSqliteQueue({ path, clock: { now: () => 9_000_000, boot: 'one' } });
  const ids = ['in-hand', 'waits', 'naked'];
  await before.publish(
    'work',
    ids.map((id) => ({ id, body: id })),
  );
  const consumer = await before.consume('work', options());
  const [first] = await consumer.pull(1, 0);
  t.is(first?.id, 'in-hand');
  await before.close();
  const after = await openSqliteQueue({ path, clock: { now: () => 5, boot: 'two' } });
  t.teardown(() => after.close());
  const again = await (await after.consume('work', options())).pull(10, 0);
  t.deepEqual(again.map(({ id }) => id).sort(), ids.toSorted());
  await after.publish('work', [{ id: 'waits', body: 2 }]);
  t.is(await after.depth('work'), 1);
  const same = await openSqliteQueue({ path, clock: { now: () => 6, boot: 'two' } });
  t.teardown(() => same.close());
  t.is((await (await same.consume('work', options())).pull(10, 0)).length, 1, 'what is in hand stays in hand');
});

test('the queue removes old ids, messages and broadcasts', async (t) => {
  let now = 1_000_000;
  const { queue, path } = await openHere(t, () => now);
  const publish = (from: number) =>
    queue.publish(
      'work',
      Array.from({ length: 100 }, (_, i) => ({ id: `message-${from + i}`, body: i })),
    );
  for (let from = 0; from < 1_000; from += 100) await publish(from);
  await queue.broadcast('news', 1);
  now += 24 * 60 * 60_000;
  for (let from = 1_000; from < 1_500; from += 100) await publish(from);
  await queue.broadcast('news', 2);
  const db = new DatabaseSync(path, { readOnly: true });
  const count = (table: string) => db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n;
  t.deepEqual(['messages', 'published_ids', 'broadcasts'].map(count), [500, 500, 1]);
  db.close();
});

test('the file shrinks when all messages are acknowledged', async (t) => {
  const { queue, path } = await openHere(t);
  const consumer = await queue.consume('work', options());
  const filling = 'x'.repeat(100_000);
  for (let n = 0; n < 1_500; n += 100) {
    await queue.publish(
      'work',
      Array.from({ length: 100 }, (_, i) => ({ id: `message-${n + i}`, body: filling })),
    );
  }
  const size = () => stat(path).then((it) => it.size);
  for (let n = 0; n < 1_500; ) {
    const deliveries = await consumer.pull(50, 0);
    for (const it of deliveries) await it.ack();
    n += deliveries.length;
  }
  await queue.close();
  t.true((await size()) < 75_000_000, `it has ${await size()} bytes`);
});

test('acknowledgements in one turn of the event loop share a transaction', async (t) => {
  const { queue, path } = await openHere(t);
  const consumer = await queue.consume('work', options());
  await queue.publish(
    'work',
    Array.from({ length: 100 }, (_, i) => ({ id: `message-${i}`, body: i })),
  );
  const deliveries = await consumer.pull(100, 0);
  const db = new DatabaseSync(path, { readOnly: true });
  const seen = new Set<unknown>();
  const acks = deliveries.map((it) => it.ack().then(() => seen.add(left())));
  const left = () => db.prepare('SELECT count(*) AS n FROM messages').get()?.n;
  t.is(left(), 100);
  await Promise.all(acks);
  t.deepEqual([...seen], [0]);
  db.close();
});

function options() {
  return { ack_wait_ms: 30_000, max_deliveries: 5, signal: new AbortController().signal };
}

async function folderOf(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'queue-'));
  t.teardown(() => rm(folder, { recursive: true }));
  return folder;
}

async function openHere(t: ExecutionContext, now?: () => number): Promise<{ path: string; queue: Queue }> {
  const path = join(await folderOf(t), 'queue.db');
  const queue = await openSqliteQueue({ path, ...(now && { clock: { now, boot: 'one' } }) });
  t.teardown(() => queue.close());
  return { path, queue };
}
