// Two whole services over one log, one MongoDB and one NATS. The one whose projector works is stopped past its lease, and
// goes on while the other one's projector has taken over.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { MongoClient } from 'mongodb';
import { pino } from 'pino';
import { openMongoDocuments } from '../../adapters/documents/mongodb/mongodb-documents.ts';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { openEventStoreDb } from '../../adapters/eventstore/eventstoredb/eventstoredb-event-store.ts';
import { issueLocalToken } from '../../adapters/identity/index.ts';
import type { ProjectorState } from '../../readmodels/projection-state.ts';
import { until } from '../support/behind.ts';
import { startEventStoreDbServer } from '../support/eventstoredb-server/eventstoredb-server.ts';
import { assertExact } from '../support/ledger.ts';
import { findNatsServer, startNatsServer } from '../support/nats-server.ts';
import { listedSuites } from '../support/server-suites.ts';
import { openTestClient } from '../support/service.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { openSite, page } from '../support/sites.ts';
import { codedOf } from '../support/stores.ts';

const URLS = 600;
const JOBS = 3;

const listed = listedSuites(process.env.SERVER_SUITES);
if (listed.includes('nats') && listed.includes('mongodb')) {
  test(
    'a service that is stopped past its leases and goes on leaves documents as a fresh replay makes them',
    overtaken,
  );
} else test.todo('two services over the servers: left out by SERVER_SUITES');

async function overtaken(t: ExecutionContext): Promise<void> {
  t.timeout(170_000);
  const { MONGODB_URL } = process.env;
  if (!MONGODB_URL) throw new Error('set MONGODB_URL to a replica set');
  const database = `two_${randomBytes(6).toString('hex')}`;
  const mongodb = new URL(MONGODB_URL);
  mongodb.pathname = `/${database}`;
  const data_dir = await mkdtemp(join(tmpdir(), 'url-checker-two-'));
  const client = new MongoClient(MONGODB_URL);
  const [eventstore, nats, site] = await Promise.all([
    startEventStoreDbServer(),
    startNatsServer(findNatsServer()!),
    openSite((request, response) => setTimeout(page, 50, request, response)),
  ]);
  const env = {
    ...{ DATA_DIR: data_dir, EVENTSTORE_URL: eventstore.url, MONGODB_URL: mongodb.href, NATS_URL: nats.url },
    ...{ SIGNUP_CREDITS: String(JOBS * URLS), CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8' },
    ...{
      CHECKER_ACK_WAIT_MS: '2000',
      CHECKER_PER_HOST: '4',
      CHECKER_RETRIES: '0',
      WEBHOOK_SIGNING_KEY: 'k'.repeat(32),
    },
  };
  // The first one holds the leases of projector and processes before the second one asks for them.
  const first = await startServiceProcess(env);
  await until(async () => (await fetch(`${first.url}/readyz`)).status === 200);
  const second = await startServiceProcess(env);
  const states = client.db(database).collection<ProjectorState>('projector_states');
  const state = async () => (await states.findOne({ _id: 'live' }))!;
  try {
    const token = await issueLocalToken(data_dir, { user_id: 'alice', email: null, is_admin: false, hours: 1 });
    const alice = openTestClient(second.url, token);
    const submit = async (n: number): Promise<string> => {
      const urls = Array.from({ length: URLS }, (_, i) => `${site.url}/${n}/${i}`);
      const { status, body } = await alice.upload(urls.join('\n'));
      t.is(status, 201, JSON.stringify(body));
      return body.job_id;
    };
    const jobs = [await submit(0), await submit(1)];
    const progress = async () => (await alice.ask('GET', `/jobs/${jobs[0]}`)).body.completed_urls as number;
    await until(async () => (await progress()) > 0);

    const before = await state();
    process.kill(first.pid, 'SIGSTOP');
    await until(async () => (await state()).epoch > before.epoch);
    const taken_over = await state();
    await until(
      async () => (await state()).turn > taken_over.turn || (await state()).checkpoint > taken_over.checkpoint,
    );
    process.kill(first.pid, 'SIGCONT');
    jobs.push(await submit(2));
    for (const job_id of jobs) {
      t.like(await alice.ended(job_id), { status: 'completed', completed_urls: URLS, credits_allocated: URLS });
      t.like((await alice.ask('GET', `/jobs/${job_id}/stats`)).body, { completed_urls: URLS, verdicts: { ok: URLS } });
    }
    t.is((await alice.ask('GET', '/users/me/credits')).body.credit_balance, 0);
    await until(async () => (await fetch(`${first.url}/readyz`)).status === 200);
    t.deepEqual(await Promise.all([first.stop(), second.stop()]), [0, 0]);

    const store = await openEventStoreDb({ url: eventstore.url, log: pino({ level: 'silent' }) });
    const log = await codedOf(store, data_dir);
    const documents = await openMongoDocuments({ url: mongodb.href, log: pino({ level: 'silent' }) });
    const empty = await openSqliteDocuments({ path: join(data_dir, 'replayed.db') });
    await assertExact(t, log, documents, empty);
    await Promise.all([log.close(), documents.close(), empty.close()]);
  } finally {
    await Promise.all([first.kill(), second.kill()]);
    await Promise.all([site.close(), eventstore.close(), nats.remove()]);
    await client.db(database).dropDatabase();
    await client.close();
    await rm(data_dir, { recursive: true, force: true });
  }
}
