// Servers that go away under a running service, and come back: no role ends, /readyz says what is missing, jobs finish
// exactly, and a service is ended while they are away.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { issueLocalToken } from '../../adapters/identity/index.ts';
import { until } from '../support/behind.ts';
import { startEventStoreDbServer } from '../support/eventstoredb-server/eventstoredb-server.ts';
import { findMongod, startMongod } from '../support/mongod.ts';
import { findNatsServer, startNatsServer } from '../support/nats-server.ts';
import { listedSuites } from '../support/server-suites.ts';
import { openTestClient } from '../support/service.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { openSite, page } from '../support/sites.ts';

const URLS = 400;
/** No request waits for longer than this for a store that is away. */
const ANSWER_MS = 30_000;

const listed = listedSuites(process.env.SERVER_SUITES);
if (listed.includes('nats') && listed.includes('mongodb')) {
  test('all roles in one process outlive every server, absent at the start too', oneProcess);
  test('separate roles outlive every server, and report which one is missing', rolesApart);
} else test.todo('outages of servers: left out by SERVER_SUITES');

type World = Awaited<ReturnType<typeof openWorld>>;

async function oneProcess(t: ExecutionContext): Promise<void> {
  t.timeout(600_000);
  const world = await openWorld(t);
  const { mongod, nats, eventstore } = world;
  await Promise.all([mongod.kill(), nats.kill()]);
  const service = await world.start('all');
  const status = async (path: string) => (await fetch(service.url + path)).status;
  t.deepEqual([await status('/healthz'), await status('/readyz'), await status('/users/me/credits')], [200, 503, 503]);
  await mongod.start();
  // http needs no queue; what needs one waits for it.
  await failing(service, 'queue');
  await nats.start();
  await ready(service);

  const job = await world.submit(service);
  const faults: [string, string, () => unknown, () => unknown][] = [
    ['mongod killed', 'documents', () => mongod.kill(), () => mongod.start()],
    [
      'mongod stopped',
      'documents',
      () => process.kill(mongod.pid, 'SIGSTOP'),
      () => process.kill(mongod.pid, 'SIGCONT'),
    ],
    ['nats killed', 'queue', () => nats.kill(), () => nats.start()],
    ['nats stopped', 'queue', () => nats.freeze(), () => nats.thaw()],
    ['event store away', 'event_log', () => eventstore.stop(), () => eventstore.start()],
  ];
  for (const [fault, check, take, give] of faults) {
    await take();
    await failing(service, check);
    if (check !== 'queue') await refused(t, world, service, fault);
    await give();
    await ready(service);
    t.log(fault, 'outlived');
  }
  await world.assertDone(t, service, job);
  await endsWhileAway(t, world, [service]);
}

async function rolesApart(t: ExecutionContext): Promise<void> {
  t.timeout(600_000);
  const world = await openWorld(t);
  const { mongod, nats } = world;
  const http = await world.start('http');
  await failing(http, 'projector');
  const roles = await Promise.all(['projector', 'processes', 'checker'].map(world.start));
  await ready(http);
  const job = await world.submit(http);
  await Promise.all([mongod.kill(), nats.kill()]);
  await failing(http, 'documents');
  await refused(t, world, http, 'both away');
  await Promise.all([mongod.start(), nats.start()]);
  await ready(http);
  for (const [n, role] of ['projector', 'processes', 'checker'].entries()) {
    await roles[n]!.kill();
    await failing(http, role);
    roles[n] = await world.start(role);
    await ready(http);
  }
  await world.assertDone(t, http, job);
  await endsWhileAway(t, world, [http, ...roles]);
}

async function openWorld(t: ExecutionContext) {
  const data_dir = await mkdtemp(join(tmpdir(), 'url-checker-outages-'));
  const [mongod, nats, eventstore, site] = await Promise.all([
    startMongod(findMongod()),
    startNatsServer(findNatsServer()!),
    startEventStoreDbServer(),
    openSite((request, response) => setTimeout(page, 100, request, response)),
  ]);
  const running: ServiceProcess[] = [];
  t.teardown(async () => {
    await Promise.all(running.map((service) => service.kill()));
    await Promise.all([mongod.stop(), nats.remove(), eventstore.close(), site.close()]);
    await rm(data_dir, { recursive: true, force: true });
  });
  const env = {
    DATA_DIR: data_dir,
    EVENTSTORE_URL: eventstore.url,
    MONGODB_URL: mongod.url,
    NATS_URL: nats.url,
    WEBHOOK_SIGNING_KEY: 'k'.repeat(32),
    SIGNUP_CREDITS: String(2 * URLS),
    CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8',
    CHECKER_ACK_WAIT_MS: '1000',
    CHECKER_PER_HOST: '2',
    CHECKER_RETRIES: '0',
  };
  const token = await issueLocalToken(data_dir, { user_id: 'alice', email: null, is_admin: false, hours: 1 });
  const urls = Array.from({ length: URLS }, (_, i) => `${site.url}/${i}`);
  return {
    mongod,
    nats,
    eventstore,
    token,
    async start(roles: string) {
      const service = await startServiceProcess({ ...env, ROLES: roles });
      running.push(service);
      return service;
    },
    async submit(service: ServiceProcess): Promise<string> {
      const client = openTestClient(service.url, token);
      let { status, body } = await client.upload(urls.join('\n'));
      // A store that has just come back to a busy machine may be slow still.
      for (let tries = 1; status === 503 && tries < 10; tries++)
        ({ status, body } = await client.upload(urls.join('\n')));
      if (status !== 201) throw new Error(JSON.stringify(body));
      return body.job_id;
    },
    async assertDone(t: ExecutionContext, service: ServiceProcess, job_id: string) {
      const alice = openTestClient(service.url, token);
      t.like(await alice.ended(job_id), { status: 'completed', completed_urls: URLS, credits_allocated: URLS });
      const { body: results } = await alice.ask('GET', `/jobs/${job_id}/results?limit=1000`);
      t.deepEqual(
        results.items.map((result: { url: string }) => result.url),
        urls,
      );
      t.is((await alice.ask('GET', '/users/me/credits')).body.credit_balance, URLS);
    },
  };
}

interface Readiness {
  status: number;
  failed: string[];
}

async function readiness(service: ServiceProcess): Promise<Readiness> {
  const response = await fetch(`${service.url}/readyz`);
  const { failed = [] } = (await response.json()) as { failed?: string[] };
  return { status: response.status, failed };
}

const ready = (service: ServiceProcess) => until(async () => (await readiness(service)).status === 200);
const failing = (service: ServiceProcess, check: string) =>
  until(async () => (await readiness(service)).failed.includes(check));

/** What needs the store that is away is refused in time, and liveness is not asked of it. */
async function refused(t: ExecutionContext, { token }: World, service: ServiceProcess, fault: string): Promise<void> {
  const asked = (method: string, path: string) =>
    fetch(service.url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(method === 'POST' ? { body: JSON.stringify({ name: 'test' }) } : {}),
      signal: AbortSignal.timeout(ANSWER_MS),
    });
  const answers = await Promise.all([asked('GET', '/users/me/credits'), asked('POST', '/users/me/api-keys')]);
  t.true(
    answers.some(({ status }) => status === 503),
    `${fault}: ${answers.map(({ status }) => status)}`,
  );
  for (const { status, headers } of answers) if (status === 503) t.truthy(headers.get('retry-after'), fault);
  t.is((await fetch(`${service.url}/healthz`)).status, 200, fault);
}

async function endsWhileAway(t: ExecutionContext, world: World, services: ServiceProcess[]): Promise<void> {
  await Promise.all([world.mongod.kill(), world.nats.kill(), world.eventstore.stop()]);
  await failing(services[0]!, 'documents');
  const codes = await Promise.all(services.map((service) => service.stop()));
  // A service that hangs kills itself in the end, and then it has no exit code.
  t.false(codes.includes(null), `exit codes ${codes}`);
}
