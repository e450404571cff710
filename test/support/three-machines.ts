// The guide for three machines, carried out: three network namespaces on one bridge, each with a node of MongoDB and of NATS and a
// process of each role, by the settings of the guide. One machine is lost while a job runs; the other two complete it. Root only; the
// program starts itself again in namespaces of its own, which end with it. It differs from the guide in this: the protocol server of the
// tests stands in for EventStoreDB's cluster and a shared folder for the bucket, both on a fourth machine; no server asks for passwords.
//   MONGOD_BIN=… NATS_SERVER_BIN=… node test/support/three-machines.ts
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MongoClient } from 'mongodb';
import { connect as connectToNats } from 'nats';
import { supervise } from '../torture/supervised.ts';
import { startEventStoreDbServer } from './eventstoredb-server/eventstoredb-server.ts';
import { startIssuer } from './machines.ts';
import { openTestClient } from './service.ts';
import { openSite, page } from './sites.ts';
import { until } from './until.ts';

process.setMaxListeners(0); // each supervised program listens for the end

const INSIDE = 'THREE_MACHINES_FOLDER';
const MACHINES = [1, 2, 3] as const;
const ROLES = ['http', 'projector', 'processes', 'checker'] as const;
/** The fourth machine: the load balancer's side, the website, the bucket, EventStoreDB. */
const HUB = '10.0.0.254';
const URLS = 300;
const MAIN = fileURLToPath(new URL('../../main.ts', import.meta.url));
const BOOT = fileURLToPath(new URL('../../boot.js', import.meta.url));
const GUIDE = new URL('../../docs/guides/three-machines.md', import.meta.url);

const NETWORK = `
ip link set lo up
mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns
ip link add hub type bridge && ip addr add ${HUB}/24 dev hub && ip link set hub up
for n in ${MACHINES.join(' ')}; do
  ip netns add m$n
  ip link add v$n type veth peer name eth0 netns m$n
  ip link set v$n master hub up
  ip -n m$n addr add 10.0.0.$n/24 dev eth0
  ip -n m$n link set eth0 up
  ip -n m$n link set lo up
done
exec "$0" "$@"`;

/** The settings of the guide, by name. */
const settingsOfGuide = (): Record<string, string> =>
  Object.fromEntries(
    [...readFileSync(GUIDE, 'utf8').matchAll(/^([A-Z][A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  );

/** The file of settings that the guide makes for one role, which wins over the one that all share. */
const settingsOfRole = (role: string): Record<string, string> =>
  Object.fromEntries(
    [...readFileSync(GUIDE, 'utf8').matchAll(/^echo ([A-Z_]+)=(\S+) > \/etc\/url-checker-(\w+)\.env$/gm)]
      .filter(([, , , of_role]) => of_role === role)
      .map(([, name, value]) => [name, value]),
  );

/** The server of a port of loopback, for the other machines. */
function onHub(url: string): string {
  const port = Number(new URL(url).port);
  createServer((client) => {
    const server = connect(port, '127.0.0.1');
    for (const socket of [client, server]) socket.on('error', () => socket.destroy());
    client.pipe(server).pipe(client);
  }).listen(port, HUB);
  return url.replace('127.0.0.1', HUB);
}

/** The number of the machine whose node leads the stream. */
async function leaderOfQueue(nats_url: string): Promise<number> {
  const nats = await connectToNats({ servers: nats_url.replace('nats://', '').split(',') });
  const { cluster } = await (await nats.jetstreamManager()).streams.info('urlchecker');
  await nats.close();
  return Number(cluster!.leader!.slice('m'.length));
}

async function run(folder: string): Promise<void> {
  const ended: string[] = [];
  const lost = new Set<number>();
  const program = (machine: number, name: string, command: string, args: readonly string[], env = {}) =>
    supervise(
      {
        name: `m${machine} ${name}`,
        command: 'ip',
        args: ['netns', 'exec', `m${machine}`, command, ...args],
        env: { PATH: process.env.PATH!, HOME: folder, NODE_NO_WARNINGS: '1', ...env },
        log_file: join(folder, `m${machine}-${name}.log`),
      },
      (how) => void ended.push(how),
    );
  const peers = MACHINES.map((n) => `nats://10.0.0.${n}:6222`).join(',');
  const servers = MACHINES.flatMap((n) => {
    const [data, store] = [join(folder, `mongodb-${n}`), join(folder, `nats-${n}`)];
    for (const made of [data, store]) mkdirSync(made);
    const listen = ['--bind_ip', `10.0.0.${n}`, '--port', '27017', '--nounixsocket', '--wiredTigerCacheSizeGB', '0.25'];
    const cluster = ['--cluster_name', 'url-checker', '--cluster', `nats://10.0.0.${n}:6222`, '--routes', peers];
    const nats = [
      '--addr',
      `10.0.0.${n}`,
      '--port',
      '4222',
      '--jetstream',
      '--store_dir',
      store,
      '--server_name',
      `m${n}`,
    ];
    return [
      { n, program: program(n, 'mongod', process.env.MONGOD_BIN!, ['--replSet', 'rs0', '--dbpath', data, ...listen]) },
      { n, program: program(n, 'nats-server', process.env.NATS_SERVER_BIN!, [...nats, ...cluster]) },
    ];
  });
  const members = MACHINES.map((n) => ({ _id: n, host: `10.0.0.${n}:27017` }));
  const patience = { directConnection: true, serverSelectionTimeoutMS: 60_000 };
  const initiate = { replSetInitiate: { _id: 'rs0', members } };
  for (const n of [3, 2, 1]) {
    await using node = new MongoClient(`mongodb://10.0.0.${n}`, patience);
    await node.db('admin').command(n === 1 ? initiate : { ping: 1 });
  }

  const eventstore = await startEventStoreDbServer();
  const issuer = await startIssuer();
  const slowly: typeof page = (...args) => void setTimeout(page, 100, ...args);
  const site = await openSite(slowly);
  const withoutPasswords = (url: string) => url.replace('USER:PASSWORD@', '');
  const { EVENTSTORE_URL: _cluster, MONGODB_URL, NATS_URL, ...guide } = settingsOfGuide();
  const settings = {
    ...guide,
    MONGODB_URL: withoutPasswords(MONGODB_URL!),
    NATS_URL: withoutPasswords(NATS_URL!),
    EVENTSTORE_URL: onHub(eventstore.url),
    BLOB_URL: `file://${join(folder, 'bucket')}`,
    ...{ IDENTITY_JWKS_URL: onHub(issuer.jwks_url), IDENTITY_ISSUER: issuer.url, IDENTITY_AUDIENCE: 'url-checker' },
    ...{ PERSONAL_DATA_KEY: 'p'.repeat(32), LINK_SIGNING_KEY: 'l'.repeat(32), WEBHOOK_SIGNING_KEY: 'w'.repeat(32) },
    ...{ LEDGER_SIGNING_KEY: 'h'.repeat(32), CHECKER_ALLOW_ADDRESSES: '10.0.0.0/24', LOG_LEVEL: 'warn' },
  };
  const started_at = performance.now();
  const roles = MACHINES.flatMap((n) =>
    ROLES.map((role) => {
      const own = {
        ROLES: role,
        DATA_DIR: join(folder, `data-${n}-${role}`),
        ...settingsOfRole(role),
      };
      return {
        n,
        role,
        program: program(n, role, process.execPath, ['--import', BOOT, MAIN], { ...settings, ...own }),
      };
    }),
  );
  const seconds = () => `${((performance.now() - started_at) / 1000).toFixed(1)} s`;
  const isReady = async (n: number) =>
    (await fetch(`http://10.0.0.${n}:8080/readyz`, { signal: AbortSignal.timeout(2000) }).catch(() => null))?.status ===
    200;
  const allReady = () =>
    until(async () => {
      if (ended.length > 0) throw new Error(ended[0]);
      const ready = await Promise.all(MACHINES.filter((n) => !lost.has(n)).map(isReady));
      return ready.every(Boolean);
    });
  await allReady();
  console.log(`three machines are ready after ${seconds()}`);

  const token = await issuer.sign('alice');
  const at = (n: number) => openTestClient(`http://10.0.0.${n}:8080`, token).ask;
  await at(1)('POST', '/users/me/fingerprint', { os: 'alice', device_type: 'desktop', screen_size: null });
  const target = onHub(site.url);
  const submit = async (n: number, tag: string, count: number) => {
    const form = new FormData();
    const rows = Array.from({ length: count }, (_, i) => `${target}/${tag}/${i}`);
    form.set('file', new Blob([rows.join('\n')], { type: 'text/plain' }), `${tag}.txt`);
    const request = { method: 'POST', headers: { authorization: `Bearer ${token}` }, body: form };
    const response = await fetch(`http://10.0.0.${n}:8080/jobs`, request);
    if (response.status !== 201) throw new Error(`machine ${n} answers ${response.status}: ${await response.text()}`);
    return ((await response.json()) as { job_id: string }).job_id;
  };
  const job_id = await submit(1, 'before', URLS - 10);
  await until(async () => (await at(3)('GET', `/jobs/${job_id}`)).body.completed_urls > 0);

  // The one that leads the stream of the queue: with a single copy, the queue would be lost with it.
  const dying = await leaderOfQueue(settings.NATS_URL);
  const [one, other] = MACHINES.filter((n) => n !== dying) as [number, number];
  lost.add(dying);
  spawnSync('ip', ['link', 'set', `v${dying}`, 'down']);
  for (const { n, program } of [...servers, ...roles]) if (n === dying) program.end();
  const lost_at = performance.now();
  const completed = async (id: string, total: number) => {
    await until(async () => (await at(one)('GET', `/jobs/${id}`)).body.status === 'completed');
    const { completed_urls } = (await at(other)('GET', `/jobs/${id}`)).body;
    if (completed_urls !== total) throw new Error(`${completed_urls} of ${total} URLs are completed`);
  };
  await completed(job_id, URLS - 10);
  await until(async () => (await at(other)('GET', '/users/me/credits')).status === 200);
  await completed(await submit(other, 'after', 10), 10);
  await allReady();
  console.log(
    `machine ${dying} is lost, and both jobs are completed ${((performance.now() - lost_at) / 1000).toFixed(1)} s later`,
  );
  const { credit_balance } = (await at(other)('GET', '/users/me/credits')).body;
  if (credit_balance !== 0) throw new Error(`${URLS} URLs leave ${credit_balance} of 300 credits`);
  if (ended.length > 0) throw new Error(ended[0]);
  console.log(`${URLS} URLs cost ${URLS} credits; all of it took ${seconds()}`);
}

const folder = process.env[INSIDE];
if (folder === undefined) {
  const made = mkdtempSync(join(tmpdir(), 'three-machines-'));
  const own = ['--net', '--mount', '--fork', '--kill-child', 'sh', '-ec', NETWORK, process.execPath, process.argv[1]!];
  const { status } = spawnSync('unshare', own, { stdio: 'inherit', env: { ...process.env, [INSIDE]: made } });
  rmSync(made, { recursive: true, force: true, maxRetries: 5 });
  process.exitCode = status ?? 1;
} else {
  await run(folder).then(
    () => process.exit(0),
    (error: Error) => {
      console.log(error);
      process.exit(1);
    },
  );
}
