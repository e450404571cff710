// The three shapes in which the service is tortured: its processes, the servers that they stand on, and the stores behind
// them for whoever looks.
import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { openMongoDocuments } from '../../adapters/documents/mongodb/mongodb-documents.ts';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { openEventStoreDb } from '../../adapters/eventstore/eventstoredb/eventstoredb-event-store.ts';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import type { EventStore } from '../../events/event-store.ts';
import type { Documents } from '../../readmodels/documents.ts';
import { freePort } from '../support/free-port.ts';
import { findNatsServer } from '../support/nats-server.ts';
import { codedOf } from '../support/stores.ts';
import type { TcpProxy } from '../support/tcp-proxy.ts';
import { openDisk } from './disk.ts';
import { fairNow } from './fair-clock.ts';
import { emptied, leadersOf, withMongo } from './leaders.ts';
import { openRoads } from './roads.ts';
import { type ServerNode, type StartedServer, startNodes } from './servers.ts';
import { type Supervised, supervise } from './supervised.ts';

const MAIN = fileURLToPath(new URL('../../main.ts', import.meta.url));
const CLOCK = new URL('./clock.ts', import.meta.url).href;
const NAMES = new URL('./names.ts', import.meta.url).href;
/** They start often. */
const COMPILED = fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url));
/** Of the fair clock: the processes of three shapes load their modules at once. */
const READY_MS = 60_000;
const silent = pino({ level: 'silent' });

/** `clusters`: three nodes of MongoDB and of NATS. */
export const SHAPES = ['embedded', 'apart', 'servers', 'clusters'] as const;
export type ShapeName = (typeof SHAPES)[number];
const APART = ['http', 'projector', 'processes', 'checker', 'checker', 'projector,processes'];
const ROLES: Record<ShapeName, readonly string[]> = {
  embedded: ['http,projector,processes,checker'],
  apart: APART,
  servers: APART,
  clusters: APART,
};
const NODES: Record<ShapeName, number> = { embedded: 0, apart: 0, servers: 1, clusters: 3 };

export interface Server extends StartedServer {
  /** The ways of each process to each node. */
  roads: readonly TcpProxy[];
}

export interface Shape {
  name: ShapeName;
  url: string;
  data_dir: string;
  /** Of the processes' logs. */
  folder: string;
  processes: readonly Supervised[];
  /** The one of them that has the role http, and the port of its probes. */
  http: Supervised;
  probe_url: string;
  servers: readonly Server[];
  /** Null where this machine lets nobody fill a disk; then `disk_refused` says why. */
  disk: { fill(): Promise<void>; empty(): Promise<void> } | null;
  disk_refused: string | null;
  /** Lets the way lead to another address, under the name that its process knows. */
  move(road: TcpProxy): Promise<void>;
  /** The node of a cluster that leads; null where none does. */
  leaderOf(server: Server): Promise<ServerNode | null>;
  /** Asks the leader of a cluster to leave that to another node. */
  stepDown(server: Server): Promise<void>;
  /** Removes all documents of MongoDB, while the service runs. */
  emptyDocuments(): Promise<void>;
  /** NATS loses all that it has, and is away meanwhile. */
  emptyQueue(down_ms: number): Promise<void>;
  /** Makes the wall clock of all processes wrong by so much. */
  step(offset_ms: number): Promise<void>;
  openLog(): Promise<EventStore>;
  /** Without its codec, which refuses what a later version writes. */
  openStoredLog(): Promise<EventStore>;
  openDocuments(): Promise<Documents>;
  openEmptyDocuments(): Promise<Documents>;
  close(): Promise<void>;
}

/** `smtp_url`: where its mails go. */
export async function openShape(
  name: ShapeName,
  folder: string,
  smtp_url: string,
  ended_by_itself: (how: string) => void,
): Promise<Shape> {
  await mkdir(folder, { recursive: true });
  const data_dir = join(folder, 'data');
  const disk = await openDisk(data_dir);
  const clock_file = join(folder, 'clock');
  await writeFile(clock_file, '0');
  const servers = NODES[name] > 0 ? await startNodes(folder, findNatsServer(), ended_by_itself, NODES[name]) : null;
  const nodes = servers ? Object.values(servers).flatMap((server) => server.nodes) : [];
  const roads = await openRoads(nodes, ROLES[name].length, join(folder, 'names'));
  const database = `torture_${randomBytes(6).toString('hex')}`;
  const mongodbAt = (at: readonly string[]) =>
    `mongodb://${at}/${database}?${at.length > 1 ? 'replicaSet=rs0' : 'directConnection=true'}`;
  const mongodb_url = mongodbAt(servers?.mongodb.nodes.map((node) => `127.0.0.1:${node.port}`) ?? []);
  const leaders = servers && leadersOf(servers, mongodb_url);
  const [port, probe_port] = [await freePort(), await freePort()];
  const { PATH = '', HOME = '', TMPDIR = tmpdir() } = process.env;
  const env = {
    PATH,
    HOME,
    TMPDIR,
    DATA_DIR: data_dir,
    LOG_LEVEL: 'warn',
    SIGNUP_CREDITS: '2000',
    CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8',
    WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
    WEBHOOK_SIGNING_KEY: 'k'.repeat(32),
    CHECKER_ACK_WAIT_MS: '2000',
    CHECKER_RETRIES: '1',
    RATE_LIMIT_PER_MINUTE: '1000000',
    RATE_LIMIT_PER_DAY: '1000000000',
    HEAVY_REQUESTS_PER_CALLER: '1000',
    REQUEST_WAIT_MS: '10000',
    NODE_NO_WARNINGS: '1',
    // With the flag of node below, as `npm start` sets them.
    ...{ MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_TRIM_THRESHOLD_: '131072' },
    ...{ SMTP_URL: smtp_url, MAIL_FROM: 'Torture <torture@example.com>' },
    NODE_OPTIONS: `--import ${CLOCK} --import ${NAMES}`,
    NODE_COMPILE_CACHE: COMPILED,
    CLOCK_FILE: clock_file,
  };
  const storesOf = (n: number) => {
    const at = (server: StartedServer) => server.nodes.map((node) => roads.at(node.name, n));
    return (
      servers && {
        NAMES_FILE: roads.file(n),
        EVENTSTORE_URL: `esdb://${at(servers.eventstore)}?tls=false`,
        MONGODB_URL: mongodbAt(at(servers.mongodb)),
        NATS_URL: `nats://${at(servers.nats)}`,
      }
    );
  };
  const processes = ROLES[name].map((roles, n) => {
    const has_http = roles.includes('http');
    const of_role = {
      ROLES: roles,
      PORT: has_http ? String(port) : '0',
      ...(has_http && { METRICS_PORT: String(probe_port) }),
    };
    const process_name = `${name}/${roles === 'http,projector,processes,checker' ? 'all' : roles.replace(',', '+')}-${n}`;
    return supervise(
      {
        name: process_name,
        command: process.execPath,
        args: ['--max-semi-space-size=8', MAIN],
        env: { ...env, ...storesOf(n), ...of_role },
        log_file: join(folder, `${process_name.replaceAll('/', '-')}.log`),
      },
      ended_by_itself,
    );
  });
  const url = `http://127.0.0.1:${port}`;
  const openStoredLog = () =>
    servers
      ? openEventStoreDb({ url: `esdb://127.0.0.1:${servers.eventstore.nodes[0]!.port}?tls=false`, log: silent })
      : openSqliteEventStore({ path: join(data_dir, 'events.db') });
  const shape: Shape = {
    name,
    url,
    data_dir,
    folder,
    processes,
    http: processes[0]!,
    probe_url: `http://127.0.0.1:${probe_port}`,
    servers: Object.values(servers ?? {}).map((server) => ({
      ...server,
      roads: server.nodes.flatMap((node) => roads.of(node.name)),
    })),
    move: (road) => roads.move(road),
    leaderOf: async (server) => leaders?.leaderOf(server) ?? null,
    stepDown: async (server) => leaders?.stepDown(server),
    emptyQueue: async (down_ms) => {
      const lost = servers?.nats.nodes.map(({ program, store }) => program.kill(down_ms, () => emptied(store!)));
      await Promise.all(lost ?? []);
    },
    emptyDocuments: async () => void (await withMongo(mongodb_url, (client) => client.db(database).dropDatabase())),
    disk: disk.refused === null ? disk : null,
    disk_refused: disk.refused,
    step: (offset_ms) => writeFile(clock_file, String(offset_ms)),
    openStoredLog,
    openLog: async () => codedOf(await openStoredLog(), data_dir),
    openDocuments: () =>
      servers
        ? openMongoDocuments({ url: mongodb_url, log: silent })
        : openSqliteDocuments({ path: join(data_dir, 'documents.db') }),
    openEmptyDocuments: () => openSqliteDocuments({ path: join(folder, 'replayed.db') }),
    async close() {
      for (const program of processes) program.end();
      await roads.close();
      for (const { program } of nodes) program.end();
      await disk.close();
    },
  };
  try {
    if (!(await answers(`${url}/readyz`, READY_MS))) throw new Error(`${name} does not start: see ${folder}`);
    return shape;
  } catch (error) {
    await shape.close();
    throw error;
  }
}

/** Whether it is answered with 200 before so much of the fair clock has passed. */
export async function answers(url: string, within_ms: number): Promise<boolean> {
  for (const until = fairNow() + within_ms; fairNow() < until; ) {
    const answer = await fetch(url, { signal: AbortSignal.timeout(5000) }).catch(() => null);
    await answer?.body?.cancel();
    if (answer?.ok) return true;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return false;
}
