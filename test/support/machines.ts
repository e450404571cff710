// Machines, each a process with a folder of its own, that share the EventStoreDB protocol server, MongoDB and NATS, each server
// behind a proxy that can be cut. Processes that end are started again, as an orchestrator would.
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { MongoClient } from 'mongodb';
import { openMongoDocuments } from '../../adapters/documents/mongodb/mongodb-documents.ts';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { openEventStoreDb } from '../../adapters/eventstore/eventstoredb/eventstoredb-event-store.ts';
import { withCodec } from '../../events/codec.ts';
import { openPersonalKeys } from '../../events/personal-keys.ts';
import { PROJECTOR, type ProjectorState, projectorStates } from '../../readmodels/projection-state.ts';
import type { HandedOut, RoleSign } from '../../roles/role-signs.ts';
import type { Role } from '../../settings/config.ts';
import { openRoads } from '../torture/roads.ts';
import { startServers, type TorturedServer } from '../torture/servers.ts';
import { type Supervised, supervise } from '../torture/supervised.ts';
import { until } from './behind.ts';
import { freePort } from './free-port.ts';
import { type Asserting, assertExact } from './ledger.ts';
import { findNatsServer } from './nats-server.ts';
import { type Ended, runProgram } from './run-program.ts';
import { openTestClient, type TestClient } from './service.ts';
import { openSite } from './sites.ts';
import { silent } from './stores.ts';
import type { TcpProxy } from './tcp-proxy.ts';

const MAIN = fileURLToPath(new URL('../../main.ts', import.meta.url));
const OWN_MACHINE = new URL('./own-machine.ts', import.meta.url).href;
const NAMES = new URL('../torture/names.ts', import.meta.url).href;
const PERSONAL_DATA_KEY = 'p'.repeat(32);
const AUDIENCE = 'url-checker';

export interface Machine {
  role: Role;
  program: Supervised;
  /** Null where it does not run http. */
  url: string | null;
}

export interface Machines {
  machines: readonly Machine[];
  servers: Readonly<Record<'mongodb' | 'nats' | 'eventstore', TorturedServer>>;
  /** The machine's own way to a server. */
  roadOf(machine: Machine, server: TorturedServer): TcpProxy;
  /** NATS loses all that it has, and is started again. */
  emptyQueue(): Promise<void>;
  /** How processes ended that nobody had asked to. */
  ended_by_themselves: readonly string[];
  of(role: Role): Machine[];
  /** Clients of the user, one for each machine with http. */
  clientsOf(user_id: string): Promise<TestClient[]>;
  /** Whether the machine works or stands by, and answers where it has http. */
  runs(machine: Machine): Promise<boolean>;
  /** The machine that does the role's work; null while none says so. */
  active(role: Role): Promise<Machine | null>;
  /** The position up to which the documents have the log, and the number of projectors so far. */
  projected(): Promise<Pick<ProjectorState, 'checkpoint' | 'epoch'>>;
  /** The work that the processes have handed out; null while they say nothing of it. */
  handedOut(): Promise<HandedOut | null>;
  /** The operators' program over the same log. */
  ops(...args: string[]): Promise<Ended>;
  /** Asserts, once all machines have stopped, that the documents equal a replay and that the ledger adds up. */
  assertExact(t: Asserting): Promise<void>;
  close(): Promise<void>;
}

export async function startMachines(
  roles: readonly Role[],
  settings: Readonly<Record<string, string>>,
): Promise<Machines> {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-machines-'));
  const ended_by_themselves: string[] = [];
  const endedByItself = (how: string) => void ended_by_themselves.push(how);
  const servers = await startServers(folder, findNatsServer(), endedByItself);
  const issuer = await startIssuer();
  const mongodbAt = (at: string) => `mongodb://${at}/machines?directConnection=true`;
  const mongodbOf = (port: number) => mongodbAt(`127.0.0.1:${port}`);
  // Through the proxies, which cut a server off from all.
  const behind = Object.values(servers).map((server) => ({ ...server, port: server.proxy.port }));
  const roads = await openRoads(behind, roles.length, join(folder, 'names'));
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '', TMPDIR = tmpdir() } = process.env;
  const shared = {
    ...{
      PATH,
      HOME,
      NODE_COMPILE_CACHE,
      TMPDIR,
      NODE_NO_WARNINGS: '1',
      NODE_OPTIONS: `--import ${OWN_MACHINE} --import ${NAMES}`,
    },
    BLOB_URL: `file://${join(folder, 'blobs')}`,
    ...{ IDENTITY_JWKS_URL: issuer.jwks_url, IDENTITY_ISSUER: issuer.url, IDENTITY_AUDIENCE: AUDIENCE },
    ...{ LINK_SIGNING_KEY: 'l'.repeat(32), WEBHOOK_SIGNING_KEY: 'w'.repeat(32), LEDGER_SIGNING_KEY: 'h'.repeat(32) },
    ...{ PERSONAL_DATA_KEY, LOG_LEVEL: 'warn', CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8' },
    ...{ RATE_LIMIT_PER_MINUTE: '1000000', RATE_LIMIT_PER_DAY: '1000000000', HEAVY_REQUESTS_PER_CALLER: '1000' },
    ...settings,
  };
  const machines: Machine[] = [];
  for (const [n, role] of roles.entries()) {
    const name = `${role}-${n}`;
    const port = role === 'http' ? await freePort() : null;
    const own = {
      ROLES: role,
      MACHINE: name,
      DATA_DIR: join(folder, name),
      PORT: String(port ?? 0),
      NAMES_FILE: roads.file(n),
    };
    await mkdir(own.DATA_DIR);
    const stores = {
      EVENTSTORE_URL: `esdb://${roads.at(servers.eventstore.name, n)}?tls=false`,
      MONGODB_URL: mongodbAt(roads.at(servers.mongodb.name, n)),
      NATS_URL: `nats://${roads.at(servers.nats.name, n)}`,
    };
    const log_file = join(folder, `${name}.log`);
    const run = { name, command: process.execPath, args: [MAIN], env: { ...shared, ...stores, ...own }, log_file };
    const program = supervise(run, endedByItself);
    machines.push({ role, program, url: port === null ? null : `http://127.0.0.1:${port}` });
  }
  const client = new MongoClient(mongodbOf(servers.mongodb.port));
  const signs = client.db().collection<RoleSign>('role_signs');
  const states = client.db().collection<ProjectorState>(projectorStates.name);
  const openStore = () =>
    openEventStoreDb({ url: `esdb://127.0.0.1:${servers.eventstore.port}?tls=false`, log: silent });

  return {
    machines,
    servers,
    roadOf: (machine, { name }) => roads.of(name)[machines.indexOf(machine)]!,
    async emptyQueue() {
      const store = join(servers.nats.store!, 'jetstream');
      await servers.nats.program.kill(0, () => rm(store, { recursive: true, force: true }));
    },
    ended_by_themselves,
    of: (role) => machines.filter((machine) => machine.role === role),
    async clientsOf(user_id) {
      const token = await issuer.sign(user_id);
      return machines.flatMap(({ url }) => (url === null ? [] : [openTestClient(url, token)]));
    },
    async runs({ role, url, program }) {
      if (url !== null) return (await fetch(`${url}/readyz`).catch(() => null))?.status === 200;
      const is_there = { role, pid: program.pid() ?? -1, state: { $ne: 'waiting' as const } };
      return (await signs.countDocuments(is_there)) > 0;
    },
    async active(role) {
      const working = new Set((await signs.find({ role, state: 'working' }).toArray()).map(({ pid }) => pid ?? 0));
      // The sign of a machine that was killed stays for some time.
      const found = machines.filter((one) => one.role === role && working.has(one.program.pid() ?? -1));
      return found.length === 1 ? found[0]! : null;
    },
    async projected() {
      const { checkpoint, epoch } = (await states.findOne({ _id: PROJECTOR }))!;
      return { checkpoint, epoch };
    },
    async handedOut() {
      return (await signs.findOne({ role: 'processes', state: 'working' }))?.work ?? null;
    },
    ops: (...args) =>
      runProgram('ops', args, {
        EVENTSTORE_URL: `esdb://127.0.0.1:${servers.eventstore.proxy.port}?tls=false`,
        PERSONAL_DATA_KEY,
      }),
    async assertExact(t) {
      const store = await openStore();
      const log = withCodec(store, openPersonalKeys(store, Buffer.from(PERSONAL_DATA_KEY)));
      const documents = await openMongoDocuments({ url: mongodbOf(servers.mongodb.port), log: silent });
      const empty = await openSqliteDocuments({ path: join(folder, 'replayed.db') });
      await assertExact(t, log, documents, empty);
      await Promise.all([log.close(), documents.close(), empty.close()]);
    },
    async close() {
      for (const { program } of machines) program.end();
      await client.close();
      await roads.close();
      for (const { proxy, program } of Object.values(servers)) {
        await proxy.cut();
        program.end();
      }
      await issuer.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Resolves when each machine with http is ready, which it is when every role is alive somewhere. */
export async function allReady(world: Machines): Promise<void> {
  const { ended_by_themselves } = world;
  for (const machine of world.of('http')) {
    await until(async () => {
      if (ended_by_themselves.length > 0) throw new Error(ended_by_themselves[0]);
      return world.runs(machine);
    });
  }
}

/** An identity provider of which the service sees the keys alone. */
export async function startIssuer() {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const key = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256', use: 'sig' };
  const { url, close } = await openSite((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys: [key] }));
  });
  const sign = (user_id: string) =>
    new SignJWT({ email: `${user_id}@example.com` })
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .setIssuer(url)
      .setAudience(AUDIENCE)
      .setSubject(user_id)
      .setIssuedAt()
      .setExpirationTime('2h')
      .sign(privateKey);
  return { url, jwks_url: `${url}/jwks`, sign, close };
}
