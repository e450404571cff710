// The queue in a NATS cluster of three: how many servers keep a message, and what is known of a queue that was lost.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { connect, RetentionPolicy } from 'nats';
import { openNatsQueue } from '../../adapters/queue/nats/nats-queue.ts';
import { until } from '../support/behind.ts';
import { freePort } from '../support/free-port.ts';
import { findNatsServer, type NatsServer, startNatsServer } from '../support/nats-server.ts';
import { listedSuites } from '../support/server-suites.ts';

const log = { info: () => {}, warn: () => {}, error: () => {} };
const binary = listedSuites(process.env.SERVER_SUITES).includes('nats') ? findNatsServer() : null;

if (binary === null) test.todo('NATS cluster: left out by SERVER_SUITES, or there is no nats-server');
else testCluster(binary);

async function startCluster(t: ExecutionContext, binary: string): Promise<NatsServer[]> {
  const ports = await Promise.all([1, 2, 3].map(freePort));
  const routes = ports.map((port) => `nats://127.0.0.1:${port}`).join();
  const servers = await Promise.all(
    ports.map((port, n) =>
      startNatsServer(
        binary,
        ...['--name', `s${n}`, '--cluster_name', 'test', '--cluster', `nats://127.0.0.1:${port}`, '--routes', routes],
        // As behind a load balancer or in Kubernetes: no client hears of the other servers.
        '--no_advertise',
      ),
    ),
  );
  t.teardown(() => Promise.all(servers.map((server) => server.remove())));
  return servers;
}

function testCluster(binary: string): void {
  test('NATS: a cluster of three keeps the queue on three servers, and outlives one of them', async (t) => {
    t.timeout(120_000);
    const servers = await startCluster(t, binary);
    const url = servers.map((server) => server.url).join();
    const nats = await connect({ servers: servers.map((server) => server.url.slice('nats://'.length)) });
    t.teardown(() => nats.close());
    const manager = await nats.jetstreamManager({ checkAPI: false });
    const prefix = `test-${randomUUID()}`;
    const replicas = async () => (await manager.streams.info(prefix)).config.num_replicas;
    // An earlier version has made the stream with one replica.
    await until(async () =>
      manager.streams
        .add({ name: prefix, subjects: [`${prefix}.work.>`], retention: RetentionPolicy.Workqueue })
        .then(() => true)
        .catch(() => false),
    );
    t.is(await replicas(), 1);
    const queue = await openNatsQueue({ url, prefix, log, give_up_after_ms: 60_000 });
    t.teardown(() => queue.close());
    t.is(await replicas(), 3);
    await queue.publish('work', [{ id: 'a', body: 1 }]);
    await until(async () => {
      const { cluster } = await manager.streams.info(prefix);
      return cluster?.replicas?.length === 2 && cluster.replicas.every(({ current }) => current);
    });
    await servers[0]!.kill();
    await queue.publish('work', [{ id: 'b', body: 2 }]);
    t.is(await queue.depth('work'), 2);
    const one = `${prefix}-one`;
    const alone = await openNatsQueue({ url, prefix: one, replicas: 1, log, give_up_after_ms: 60_000 });
    t.is((await manager.streams.info(one)).config.num_replicas, 1, 'the setting wins');
    await alone.close();
  });

  test('NATS: a queue that the server has lost is made again, and counts as a loss', async (t) => {
    const server = await startNatsServer(binary);
    t.teardown(() => server.remove());
    const prefix = `test-${randomUUID()}`;
    const queue = await openNatsQueue({ url: server.url, prefix, log });
    t.teardown(() => queue.close());
    await queue.publish('work', [{ id: 'a', body: 1 }]);
    t.is(await queue.losses!(), 0);
    await server.crash();
    t.is(await queue.losses!(), 0, 'it has all of it');
    const nats = await connect({ servers: server.url.slice('nats://'.length) });
    t.teardown(() => nats.close());
    await (await nats.jetstreamManager()).streams.delete(prefix);
    t.is(await queue.losses!(), 1);
    t.is(await queue.losses!(), 1);
    await queue.publish('work', [{ id: 'b', body: 2 }]);
    t.is(await queue.depth('work'), 1);
  });
}
