// Real servers of the torture's own, each behind a proxy that can be cut: a mongod and a nats-server that may be killed,
// and the EventStoreDB protocol server.
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

export interface TorturedServer {
  name: string;
  port: number;
  proxy: TcpProxy;
  program: Supervised;
  is_durable: boolean;
}

/** Null: what is missing is said by the caller. */
export async function startServers(folder: string, nats_server: string | null, ended_by_itself: (how: string) => void) {
  const mongod = process.env.MONGOD_BIN;
  if (!mongod || !nats_server) throw new Error('the shape "servers" wants MONGOD_BIN and NATS_SERVER_BIN');
  for (const name of ['mongodb', 'nats']) await mkdir(join(folder, name), { recursive: true });
  const [mongodb_port, nats_port] = [await freePort(), await freePort()];
  const programOf = (name: string, command: string, args: readonly string[]) =>
    supervise({ name, command, args, log_file: join(folder, `${name}.log`) }, ended_by_itself);

  const listen = ['--bind_ip', '127.0.0.1', '--port', String(mongodb_port), '--nounixsocket'];
  const store = ['--dbpath', join(folder, 'mongodb'), '--wiredTigerCacheSizeGB', '0.5'];
  // As docker-compose.yml sets it.
  const lifetime = ['--setParameter', 'transactionLifetimeLimitSeconds=10'];
  const mongodb = programOf('mongod', mongod, ['--replSet', 'rs0', ...lifetime, ...listen, ...store]);
  const nats_args = ['--addr', '127.0.0.1', '--port', String(nats_port), '--jetstream', '--store_dir'];
  const nats = programOf('nats-server', nats_server, [...nats_args, join(folder, 'nats')]);
  const eventstore = programOf('eventstoredb', process.execPath, [EVENTSTORE]);

  await initiate(mongodb_port);
  const eventstore_port = await portOf(join(folder, 'eventstoredb.log'));
  return {
    mongodb: await behindProxy('mongod', mongodb_port, mongodb, true),
    nats: await behindProxy('nats-server', nats_port, nats, true),
    eventstore: await behindProxy('eventstoredb', eventstore_port, eventstore, false),
  };
}

async function behindProxy(
  name: string,
  port: number,
  program: Supervised,
  is_durable: boolean,
): Promise<TorturedServer> {
  const proxy = new TcpProxy({ host: '127.0.0.1', port });
  await proxy.open();
  return { name, port, proxy, program, is_durable };
}

async function initiate(port: number): Promise<void> {
  const serverSelectionTimeoutMS = START_MS;
  await using client = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`, {
    serverSelectionTimeoutMS,
  });
  const members = [{ _id: 0, host: `127.0.0.1:${port}` }];
  await client.db('admin').command({ replSetInitiate: { _id: 'rs0', members } });
  // Answers when there is a primary.
  await using set = new MongoClient(`mongodb://127.0.0.1:${port}/?replicaSet=rs0`, { serverSelectionTimeoutMS });
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
