// Real servers of the torture's own: a mongod and a nats-server that may be killed, one of each or clusters of three, and the EventStoreDB
// protocol server.
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { MongoClient } from 'mongodb';
import { freePort } from '../support/free-port.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { type Supervised, supervise } from './supervised.ts';

const EVENTSTORE = fileURLToPath(new URL('./eventstoredb-process.ts', import.meta.url));
const START_MS = 60_000;

/** One program of a server. */
export interface ServerNode {
  /** The name of the server. */
  of: string;
  name: string;
  port: number;
  program: Supervised;
  /** The folder of what it stores; null: its memory. */
  store: string | null;
  /** What the other nodes, and with them every client, call it; null: clients may give it a name of their own. */
  known_as: string | null;
}

/** `is_durable`: whether what it has acknowledged outlives it. */
export interface StartedServer {
  name: string;
  nodes: readonly ServerNode[];
  is_durable: boolean;
}

export type StartedServers = Readonly<Record<'mongodb' | 'nats' | 'eventstore', StartedServer>>;

/** A server of one node, behind a proxy that can be cut. */
export interface TorturedServer extends ServerNode {
  proxy: TcpProxy;
}

/** `count`: nodes of MongoDB and of NATS. */
export async function startNodes(
  folder: string,
  nats_server: string | null,
  ended_by_itself: (how: string) => void,
  count: number,
): Promise<StartedServers> {
  const mongod = process.env.MONGOD_BIN;
  if (!mongod || !nats_server) throw new Error('the servers want MONGOD_BIN and NATS_SERVER_BIN');
  const is_cluster = count > 1;
  const startOf = async (of: string, command: string, known_as: string | null, argsOf: (n: number) => string[]) => {
    const nodes: ServerNode[] = [];
    for (let n = 0; n < count; n++) {
      const name = is_cluster ? `${of}-${n + 1}` : of;
      const [store, port] = [join(folder, `${name}-store`), await freePort()];
      await mkdir(store, { recursive: true });
      const listen = command === mongod ? ['--bind_ip', '127.0.0.1', '--dbpath', store] : ['--store_dir', store];
      const args = [...listen, '--port', String(port), ...argsOf(n)];
      const program = supervise({ name, command, args, log_file: join(folder, `${name}.log`) }, ended_by_itself);
      nodes.push({ of, name, port, program, store, known_as });
    }
    return { name: of, nodes, is_durable: true };
  };
  const cache = ['--wiredTigerCacheSizeGB', is_cluster ? '0.25' : '0.5', '--nounixsocket'];
  // As docker-compose.yml sets it.
  const lifetime = ['--setParameter', 'transactionLifetimeLimitSeconds=10'];
  // Members are known by the names that they give each other.
  const mongodb = await startOf('mongod', mongod, is_cluster ? 'localhost' : null, () => [
    ...['--replSet', 'rs0'],
    ...lifetime,
    ...cache,
  ]);
  const routes = await Promise.all(Array.from({ length: count }, freePort));
  const urlOf = (port: number) => `nats://127.0.0.1:${port}`;
  const nats = await startOf('nats-server', nats_server, null, (n) => [
    ...['--addr', '127.0.0.1', '--jetstream'],
    ...(is_cluster
      ? [
          '--name',
          `nats-server-${n + 1}`,
          '--cluster_name',
          'torture',
          '--cluster',
          urlOf(routes[n]!),
          '--no_advertise',
        ]
      : []),
    ...(is_cluster ? ['--routes', routes.map(urlOf).join()] : []),
  ]);
  const log_file = join(folder, 'eventstoredb.log');
  const program = supervise(
    { name: 'eventstoredb', command: process.execPath, args: [EVENTSTORE], log_file },
    ended_by_itself,
  );
  await initiate(mongodb.nodes.map(({ port }) => port));
  const alone = {
    of: 'eventstoredb',
    name: 'eventstoredb',
    port: await portOf(log_file),
    program,
    store: null,
    known_as: null,
  };
  return { mongodb, nats, eventstore: { name: 'eventstoredb', nodes: [alone], is_durable: false } };
}

/** One node of each, behind a proxy. */
export async function startServers(
  folder: string,
  nats_server: string | null,
  ended_by_itself: (how: string) => void,
): Promise<Readonly<Record<keyof StartedServers, TorturedServer>>> {
  const { mongodb, nats, eventstore } = await startNodes(folder, nats_server, ended_by_itself, 1);
  const behindProxy = async ({ nodes: [node] }: StartedServer): Promise<TorturedServer> => {
    const proxy = new TcpProxy({ host: '127.0.0.1', port: node!.port });
    await proxy.open();
    return { ...node!, proxy };
  };
  return {
    mongodb: await behindProxy(mongodb),
    nats: await behindProxy(nats),
    eventstore: await behindProxy(eventstore),
  };
}

async function initiate(ports: readonly number[]): Promise<void> {
  const serverSelectionTimeoutMS = START_MS;
  const of = (port: number) => `mongodb://127.0.0.1:${port}/?directConnection=true`;
  for (const port of ports.toReversed()) {
    await using client = new MongoClient(of(port), { serverSelectionTimeoutMS });
    const members = ports.map((each, _id) => ({ _id, host: `localhost:${each}` }));
    const initiate = { replSetInitiate: { _id: 'rs0', members } };
    await client.db('admin').command(port === ports[0] ? initiate : { ping: 1 });
  }
  // Answers when there is a primary.
  await using set = new MongoClient(`mongodb://127.0.0.1:${ports[0]}/?replicaSet=rs0`, { serverSelectionTimeoutMS });
  await set.db('admin').command({ ping: 1 });
}

/** It says where it listens in its first line. */
async function portOf(log_file: string): Promise<number> {
  for (;;) {
    const port = /esdb:\/\/127\.0\.0\.1:(\d+)/.exec(await readFile(log_file, 'utf8').catch(() => ''))?.[1];
    if (port !== undefined) return Number(port);
    await sleep(50);
  }
}
