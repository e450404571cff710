// The service past one machine: every role a process of its own, over EventStoreDB's protocol, MongoDB and NATS, by
// settings alone. Any of them may be killed in the middle of a job.
import { randomBytes, randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { MongoClient } from 'mongodb';
import { pino } from 'pino';
import { openMongoDocuments } from '../../adapters/documents/mongodb/mongodb-documents.ts';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { openEventStoreDb } from '../../adapters/eventstore/eventstoredb/eventstoredb-event-store.ts';
import { issueLocalToken } from '../../adapters/identity/index.ts';
import { until } from '../support/behind.ts';
import { startEventStoreDbServer } from '../support/eventstoredb-server/eventstoredb-server.ts';
import { assertExact } from '../support/ledger.ts';
import { findNatsServer, startNatsServer } from '../support/nats-server.ts';
import { listedSuites } from '../support/server-suites.ts';
import { openTestClient } from '../support/service.ts';
import { freePort, type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { openSite, page } from '../support/sites.ts';
import { codedOf } from '../support/stores.ts';

const URLS = 600;
const KILLS = 6;

const listed = listedSuites(process.env.SERVER_SUITES);
if (listed.includes('nats') && listed.includes('mongodb')) {
  test('a job outlives kill -9 of its roles, each a process over the servers', outlivesKills);
} else test.todo('the service over servers: left out by SERVER_SUITES');

async function outlivesKills(t: import('ava').ExecutionContext): Promise<void> {
  t.timeout(170_000);
  const { MONGODB_URL } = process.env;
  if (!MONGODB_URL) throw new Error('set MONGODB_URL to a replica set');
  const database = `service_${randomBytes(6).toString('hex')}`;
  const mongodb = new URL(MONGODB_URL);
  mongodb.pathname = `/${database}`;
  const data_dir = await mkdtemp(join(tmpdir(), 'url-checker-servers-'));
  const delivered: unknown[] = [];
  const [eventstore, nats, site, receiver] = await Promise.all([
    startEventStoreDbServer(),
    startNatsServer(findNatsServer()!),
    openSite((request, response) => setTimeout(page, 50, request, response)),
    openSite((request, response) => {
      delivered.push(request.headers['service-event-id']);
      response.end();
    }),
  ]);
  const env = {
    DATA_DIR: data_dir,
    EVENTSTORE_URL: eventstore.url,
    MONGODB_URL: mongodb.href,
    NATS_URL: nats.url,
    WEBHOOK_SIGNING_KEY: 'k'.repeat(32),
    SIGNUP_CREDITS: '1000',
    CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8',
    WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
    CHECKER_ACK_WAIT_MS: '1000',
    CHECKER_RETRIES: '0',
  };
  const PORT = String(await freePort());
  const ROLES = ['http', 'projector', 'processes', 'checker', 'checker'];
  const start = (role: string) => startServiceProcess({ ...env, ROLES: role, ...(role === 'http' ? { PORT } : {}) });
  const running: ServiceProcess[] = await Promise.all(ROLES.map(start));
  try {
    const token = await issueLocalToken(data_dir, { user_id: 'alice', email: null, is_admin: false, hours: 1 });
    const alice = openTestClient(running[0]!.url, token);
    const made = await alice.ask('POST', '/users/me/api-keys', { name: 'test' });
    const key = openTestClient(running[0]!.url, made.body.key, '/api/v2');
    const { body: endpoint } = await key.ask('POST', '/api/v2/webhooks/endpoints', {
      url: `${receiver.url}/hook`,
      events: ['job.completed'],
    });
    const urls = Array.from({ length: URLS }, (_, i) => `${site.url}/${i}`);
    const { status, body: created } = await alice.upload(urls.join('\n'));
    t.is(status, 201, JSON.stringify(created));
    for (let kill = 0; kill < KILLS; kill++) {
      await new Promise((resolve) => setTimeout(resolve, randomInt(400)));
      const victim = (kill + 1) % ROLES.length;
      await running[victim]!.kill();
      running[victim] = await start(ROLES[victim]!);
    }
    const job = await alice.ended(created.job_id);
    t.like(job, { status: 'completed', completed_urls: URLS, credits_allocated: URLS });
    const { body: results } = await alice.ask('GET', `/jobs/${created.job_id}/results?limit=1000`);
    t.deepEqual(
      results.items.map((result: { url: string }) => result.url),
      urls,
    );
    t.is((await alice.ask('GET', '/users/me/credits')).body.credit_balance, 1000 - URLS);
    t.like((await alice.ask('GET', `/jobs/${created.job_id}/stats`)).body, { verdicts: { ok: URLS } });
    const exported = await alice.ask('GET', `/jobs/${created.job_id}/export?format=csv`);
    t.is(exported.body.trim().split('\n').length, 1 + URLS);
    await until(async () => {
      const { body } = await key.ask('GET', `/api/v2/webhooks/endpoints/${endpoint.id}/deliveries`);
      return body.items[0]?.status === 'delivered';
    });
    t.true(delivered.length > 0 && delivered.every((id) => id === delivered[0]), 'one event, whatever was killed');

    // One request with a key, twice, and a job that is cancelled and deleted.
    const body = { urls: urls.slice(0, 300).map((url) => `${url}?again`) };
    const first = await key.ask('POST', '/api/v2/jobs', body, { 'idempotency-key': 'once' });
    const again = await key.ask('POST', '/api/v2/jobs', body, { 'idempotency-key': 'once' });
    t.deepEqual([first.status, again.body], [201, first.body]);
    t.is(again.headers.get('idempotency-replayed'), 'true');
    const cancelled = await alice.ask('POST', `/jobs/${first.body.job_id}/cancel`);
    t.is(cancelled.status, 200, JSON.stringify(cancelled.body));
    t.is((await alice.ask('DELETE', `/jobs/${first.body.job_id}`)).status, 200);
    for (const service of running) t.is(await service.stop(), 0);

    const store = await openEventStoreDb({ url: eventstore.url, log: pino({ level: 'silent' }) });
    const log = await codedOf(store, data_dir);
    const documents = await openMongoDocuments({ url: mongodb.href, log: pino({ level: 'silent' }) });
    const empty = await openSqliteDocuments({ path: join(data_dir, 'replayed.db') });
    await assertExact(t, log, documents, empty);
    await Promise.all([log.close(), documents.close(), empty.close()]);
  } finally {
    await Promise.all(running.map((service) => service.kill()));
    await Promise.all([site.close(), receiver.close(), eventstore.close(), nats.remove()]);
    await using client = new MongoClient(MONGODB_URL);
    await client.db(database).dropDatabase();
    await rm(data_dir, { recursive: true, force: true });
  }
}
