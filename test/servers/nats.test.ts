// The queue in NATS: the contract, and what becomes of it when the server, its stream or its consumer goes.
import { randomUUID } from 'node:crypto';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { connect, DiscardPolicy, type JetStreamManager, RetentionPolicy } from 'nats';
import { openConnection } from '../../adapters/queue/nats/connection.ts';
import { type NatsQueueOptions, openNatsQueue } from '../../adapters/queue/nats/nats-queue.ts';
import type { Queue } from '../../checkers/queue.ts';
import { type QueueFixture, queueContract } from '../contracts/queue.ts';
import { until } from '../support/behind.ts';
import { findNatsServer, type NatsServer, startNatsServer } from '../support/nats-server.ts';
import { patientClock } from '../support/patient-clock.ts';
import { listedSuites, serverSuite } from '../support/server-suites.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

const log = { info: () => {}, warn: () => {}, error: () => {} };

// A server of our own can be killed, so it is preferred; one that is named is tested besides.
const binary = listedSuites(process.env.SERVER_SUITES).includes('nats') ? findNatsServer() : null;
const url =
  binary !== null && !process.env.NATS_URL
    ? null
    : await serverSuite('nats', {
        url_env: 'NATS_URL',
        container: {
          image: 'nats:2.12',
          port: 4222,
          command: ['-js'],
          ready: /Server is ready/,
          url: (host, port) => `nats://${host}:${port}`,
        },
      });
const own = binary === null ? null : await startNatsServer(binary);

if (binary !== null && own !== null) {
  test.after.always(() => own.remove());
  queueContract('NATS', { restart: 'outlived', depth_after_nak: 'unknown' }, () => fixture(own.url, own.crash));
  testFailures(binary);
  testClock(own.url);
  testVanished(own.url);
}
if (url !== null) {
  const restart = () => Promise.reject(new Error('the server is not ours'));
  queueContract('NATS_URL', { restart: 'none', depth_after_nak: 'unknown' }, () => fixture(url, restart));
}
if (own === null && url === null) test.todo('NATS: left out by SERVER_SUITES');

async function fixture(url: string, restart: () => Promise<void>): Promise<QueueFixture> {
  const prefix = `test-${randomUUID()}`;
  return {
    open: () => openNatsQueue({ url, prefix, log }),
    restart,
    remove: () => withManager(url, async (manager) => void (await manager.streams.delete(prefix))),
  };
}

function testFailures(binary: string): void {
  const it = (title: string, run: (t: ExecutionContext, world: World) => Promise<void>) =>
    test.serial(`NATS: ${title}`, async (t) => {
      const world = new World(await startNatsServer(binary));
      t.teardown(() => world.end());
      await run(t, world);
    });

  it('dropped and acknowledged messages leave the stream', async (t, { open, manage }) => {
    const queue = await open();
    const consumer = await queue.consume('work', { ...options(), ack_wait_ms: 200, max_deliveries: 1 });
    await queue.publish('work', numbered(3));
    const [done, given_back] = await consumer.pull(3, 10_000);
    await done!.ack();
    await given_back!.nak();
    t.deepEqual(await consumer.pull(3, 600), []);
    const { state } = await manage((manager) => manager.streams.info('urlchecker'));
    t.is(state.messages, 0);
  });

  it('acknowledged publications survive a crash', async (t, { open, server }) => {
    const queue = await open();
    const messages = numbered(500).map(({ id }) => ({ id, body: 'x'.repeat(9_000) }));
    await queue.publish('work', messages);
    await server.crash();
    t.is(await queue.depth('work'), 500);
  });

  it('publishing waits for an absent server, and stores each message once', async (t, { open, server }) => {
    const queue = await open();
    const consumer = await queue.consume('work', options());
    const publishing = Promise.all([0, 1, 2, 3].map((n) => queue.publish('work', numbered(1_000, n * 500))));
    await server.kill();
    await server.start();
    await publishing;
    const ids = new Set<string>();
    for (let n = 0; n < 2_500; ) {
      const deliveries = await consumer.pull(500, 60_000);
      t.true(deliveries.length > 0);
      await Promise.all(deliveries.map((it) => it.ack()));
      for (const { id } of deliveries) ids.add(id);
      n += deliveries.length;
    }
    t.is(ids.size, 2_500);
    t.deepEqual(await consumer.pull(1, 0), []);
  });

  it('without the server, each call fails in time with `unavailable`', async (t, { open, server }) => {
    const queue = await open({ give_up_after_ms: 400 });
    const consumer = await queue.consume('work', options());
    await queue.publish('work', numbered(1));
    const [delivery] = await consumer.pull(1, 10_000);
    await server.kill();
    const unavailable = { code: 'unavailable' };
    const elapsed_ms = patientClock(t);
    await t.throwsAsync(queue.publish('work', numbered(1, 1)), unavailable);
    await t.throwsAsync(queue.depth('work'), unavailable);
    await t.throwsAsync(queue.broadcast('news', 1), unavailable);
    await t.throwsAsync(queue.consume('more', options()), unavailable);
    t.deepEqual(await consumer.pull(1, 300), []);
    t.true(elapsed_ms() < 30_000);
    await t.throwsAsync(delivery!.ack(), unavailable);
    const closing_ms = patientClock(t);
    await queue.close();
    t.true(closing_ms() < 10_000);
  });

  it('opening without a server fails with `unavailable`', async (t, { open, server }) => {
    await server.kill();
    await t.throwsAsync(open({ give_up_after_ms: 400 }), { code: 'unavailable', message: /127\.0\.0\.1/ });
  });

  it('the queue creates a deleted stream or consumer again', async (t, { open, manage }) => {
    const queue = await open();
    const consumer = await queue.consume('work', options());
    const waiting = consumer.pull(1, 10_000);
    await manage((manager) => manager.consumers.delete('urlchecker', 'work'));
    await queue.publish('work', numbered(1));
    t.is((await waiting)[0]?.id, 'message-0', 'a pull that waits survives its consumer');
    await manage((manager) => manager.streams.delete('urlchecker'));
    await queue.publish('work', numbered(1, 1));
    t.is((await consumer.pull(1, 10_000))[0]?.id, 'message-1');
    await manage((manager) => manager.streams.delete('urlchecker'));
    t.is(await queue.depth('work'), 0);
    t.deepEqual(await consumer.pull(1, 300), []);
    await queue.publish('work', numbered(1, 2));
    t.is((await consumer.pull(1, 10_000))[0]?.id, 'message-2');
  });

  it('a stream that is no work queue, in the place of a deleted one, makes the queue unavailable', async (t, {
    open,
    manage,
  }) => {
    const warned: unknown[] = [];
    const warn = (...line: unknown[]) => void warned.push(line);
    const queue = await open({ give_up_after_ms: 300, log: { ...log, warn } });
    const consumer = await queue.consume('work', options());
    const retention = RetentionPolicy.Limits;
    await manage(async (manager) => {
      await manager.streams.delete('urlchecker');
      await manager.streams.add({ name: 'urlchecker', subjects: ['urlchecker.work.>'], retention });
    });
    await t.throwsAsync(queue.depth('work'), { code: 'unavailable', message: /not a work queue/ });
    t.deepEqual(await consumer.pull(1, 500), []);
    t.is(warned.length, 1, 'one line, however often the consumer is missed');
    await manage((manager) => manager.streams.delete('urlchecker'));
    await queue.publish('work', numbered(1));
    t.is((await consumer.pull(1, 10_000))[0]?.id, 'message-0');
  });

  it("an existing stream keeps the operator's settings, and gets the queue's limits", async (t, { open, manage }) => {
    await manage((manager) =>
      manager.streams.add({
        name: 'urlchecker',
        description: 'of the operator',
        subjects: ['urlchecker.work.>'],
        retention: RetentionPolicy.Workqueue,
      }),
    );
    const queue = await open();
    const consumer = await queue.consume('work', { ...options(), ack_wait_ms: 60_000 });
    await queue.consume('work', { ...options(), ack_wait_ms: 90_000 });
    const [stream, durable] = await manage((manager) =>
      Promise.all([manager.streams.info('urlchecker'), manager.consumers.info('urlchecker', 'work')]),
    );
    t.is(stream.config.description, 'of the operator');
    t.is(stream.config.duplicate_window, 120e9);
    t.is(stream.config.max_age, 24 * 3_600e9);
    t.is(durable.config.ack_wait, 90e9, 'the newest options are those of the subject');
    await queue.publish('work', numbered(1));
    t.is((await consumer.pull(1, 10_000)).length, 1);
  });

  it("a stream that an operator's limit has filled drops no work, and takes more when there is room", async (t, {
    open,
    manage,
  }) => {
    const { Old: discard } = DiscardPolicy;
    const limited = { name: 'urlchecker', subjects: ['urlchecker.work.>'], retention: RetentionPolicy.Workqueue };
    await manage((manager) => manager.streams.add({ ...limited, discard, max_msgs: 2 }));
    const queue = await open({ give_up_after_ms: 400 });
    const consumer = await queue.consume('work', options());
    await queue.publish('work', numbered(2));
    await t.throwsAsync(queue.publish('work', numbered(1, 2)), { code: 'unavailable', message: /maximum messages/ });
    const [first, second] = await consumer.pull(2, 10_000);
    t.deepEqual([first?.id, second?.id], ['message-0', 'message-1']);
    await first!.ack();
    await queue.publish('work', numbered(1, 2));
    t.is((await consumer.pull(1, 10_000))[0]?.id, 'message-2');
  });

  it('the queue drops messages of other programs, which delay nothing', async (t, { open, server, manage }) => {
    const queue = await open();
    const consumer = await queue.consume('work', options());
    const heard: unknown[] = [];
    await queue.listen('news', (body) => heard.push(body), new AbortController().signal);
    const nats = await connect({ servers: server.url });
    await nats.jetstream().publish('urlchecker.work.work', 'no id');
    await nats.jetstream().publish('urlchecker.work.work', '{', { msgID: 'work a' });
    nats.publish('urlchecker.broadcast.news', '{');
    await nats.close();
    await queue.publish('work', numbered(1));
    const [delivery] = await consumer.pull(1, 10_000);
    t.is(delivery?.id, 'message-0');
    await delivery!.ack();
    await queue.broadcast('news', 'good');
    t.deepEqual(await consumer.pull(1, 100), []);
    await until(() => heard.length > 0);
    t.deepEqual(heard, ['good']);
    t.is((await manage((manager) => manager.streams.info('urlchecker'))).state.messages, 0);
  });

  test.serial('NATS: the URL gives the user and the token', async (t) => {
    for (const [flags, credentials] of [
      [['--user', 'checker', '--pass', 'p@ss'], 'checker:p%40ss'],
      [['--auth', 'a-token'], 'a-token'],
    ] as const) {
      const server = await startNatsServer(binary, ...flags);
      const url = server.url.replace('nats://', `nats://${credentials}@`);
      const queue = await openNatsQueue({ url, log });
      await queue.publish('work', numbered(1));
      t.is(await queue.depth('work'), 1);
      await queue.close();
      await server.remove();
    }
  });
}

/** A server and the instances of one test. */
class World {
  readonly server: NatsServer;
  readonly #queues: Queue[] = [];

  constructor(server: NatsServer) {
    this.server = server;
  }

  open = async (options: Partial<NatsQueueOptions> = {}): Promise<Queue> => {
    const queue = await openNatsQueue({ url: this.server.url, log, ...options });
    this.#queues.push(queue);
    return queue;
  };

  manage = <T>(work: (manager: JetStreamManager) => Promise<T>): Promise<T> => withManager(this.server.url, work);

  async end(): Promise<void> {
    await Promise.all(this.#queues.map((queue) => queue.close()));
    await this.server.remove();
  }
}

async function withManager<T>(url: string, work: (manager: JetStreamManager) => Promise<T>): Promise<T> {
  const nats = await connect({ servers: url });
  try {
    return await work(await nats.jetstreamManager());
  } finally {
    await nats.close();
  }
}

function options() {
  return { ack_wait_ms: 30_000, max_deliveries: 5, signal: new AbortController().signal };
}

function numbered(count: number, from = 0): { id: string; body: number }[] {
  return Array.from({ length: count }, (_, i) => ({ id: `message-${from + i}`, body: from + i }));
}

function testVanished(server_url: string): void {
  test('a connection whose server vanished without a word is replaced', async (t) => {
    const target = { host: '127.0.0.1', port: Number(new URL(server_url).port) };
    const sockets: Socket[] = [];
    const way = createServer((client) => {
      const server = createConnection(target);
      client.pipe(server).pipe(client);
      sockets.push(client, server);
      for (const socket of [client, server]) socket.on('error', () => {}); // the test destroys both ends
    });
    await new Promise<void>((listening) => way.listen(0, '127.0.0.1', listening));
    const { port } = way.address() as AddressInfo;
    const connection = await openConnection(`nats://127.0.0.1:${port}`, log, 20_000);
    t.teardown(async () => {
      await connection.close();
      for (const socket of sockets) socket.destroy();
      way.close();
    });
    const lost = new Promise<void>((resolve) => void connection.onLost(resolve));
    const vanished = sockets.splice(0);
    for (const socket of vanished) socket.unpipe();
    await lost;
    for (const socket of vanished) socket.destroy();
    await until(() => connection.connected(1_000, connection.closing));
    t.is(sockets.length, 2);
  });
}

function testClock(server_url: string): void {
  // Serial: the clock is that of all tests of this file.
  test.serial('a connection that was lost comes back although the clock was set back meanwhile', async (t) => {
    const proxy = new TcpProxy({ host: '127.0.0.1', port: Number(new URL(server_url).port) });
    await proxy.open();
    const connection = await openConnection(`nats://127.0.0.1:${proxy.port}`, log, 20_000);
    t.teardown(async () => {
      await connection.close();
      await proxy.cut();
    });
    const lost = Promise.withResolvers<void>();
    connection.onLost(lost.resolve);
    const { now } = Date;
    Date.now = () => now() - 3_600_000;
    try {
      await proxy.cut();
      await lost.promise;
      await proxy.open();
      await until(() => connection.connected(1_000, connection.closing));
    } finally {
      Date.now = now;
    }
    t.pass();
  });
}
