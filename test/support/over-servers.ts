// A world of services as processes over the EventStoreDB protocol server, one MongoDB database and one NATS server.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type Db, MongoClient } from 'mongodb';
import { pino } from 'pino';
import { openMongoDocuments } from '../../adapters/documents/mongodb/mongodb-documents.ts';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { openEventStoreDb } from '../../adapters/eventstore/eventstoredb/eventstoredb-event-store.ts';
import { issueLocalToken } from '../../adapters/identity/index.ts';
import { startEventStoreDbServer } from './eventstoredb-server/eventstoredb-server.ts';
import { assertExact } from './ledger.ts';
import { findNatsServer, startNatsServer } from './nats-server.ts';
import { listedSuites } from './server-suites.ts';
import { openTestClient, type TestClient } from './service.ts';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';
import { openSite, page, type Site } from './sites.ts';
import { codedOf } from './stores.ts';

export interface OverServers {
  /** A target that answers each URL with a page after 50 ms. */
  site: Site;
  mongodb: Db;
  /** Starts a service with the settings of this world and `more`. The end of the test kills it if it still runs. */
  start(more?: Readonly<Record<string, string>>): Promise<ServiceProcess>;
  /** A client of the user `alice` at this service. */
  alice(service: ServiceProcess): Promise<TestClient>;
  /** Asserts, once all services have ended, that the documents equal a replay and that the ledger adds up. */
  assertExact(): Promise<void>;
}

/** Runs the test in a new world when SERVER_SUITES lists both servers; otherwise it is a todo. `env`: settings of all services. */
export function overServers(
  title: string,
  env: Readonly<Record<string, string>>,
  run: (t: ExecutionContext, world: OverServers) => Promise<void>,
): void {
  const listed = listedSuites(process.env.SERVER_SUITES);
  if (!listed.includes('nats') || !listed.includes('mongodb')) test.todo(`${title}: left out by SERVER_SUITES`);
  else
    test(title, async (t) => {
      t.timeout(600_000);
      const { MONGODB_URL } = process.env;
      if (!MONGODB_URL) throw new Error('set MONGODB_URL to a replica set');
      const mongodb_url = new URL(MONGODB_URL);
      mongodb_url.pathname = `/service_${randomBytes(6).toString('hex')}`;
      const data_dir = await mkdtemp(join(tmpdir(), 'url-checker-servers-'));
      const client = new MongoClient(mongodb_url.href);
      const [eventstore, nats, site] = await Promise.all([
        startEventStoreDbServer(),
        startNatsServer(findNatsServer()!),
        openSite((request, response) => setTimeout(page, 50, request, response)),
      ]);
      const started: ServiceProcess[] = [];
      const settings = {
        ...{ DATA_DIR: data_dir, EVENTSTORE_URL: eventstore.url, MONGODB_URL: mongodb_url.href, NATS_URL: nats.url },
        ...{ WEBHOOK_SIGNING_KEY: 'k'.repeat(32), CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8', CHECKER_RETRIES: '0' },
        ...env,
      };
      const world: OverServers = {
        site,
        mongodb: client.db(),
        async start(more) {
          const service = await startServiceProcess({ ...settings, ...more });
          started.push(service);
          return service;
        },
        async alice({ url }) {
          const user = { user_id: 'alice', email: null, is_admin: false, hours: 1 };
          return openTestClient(url, await issueLocalToken(data_dir, user));
        },
        async assertExact() {
          const store = await openEventStoreDb({ url: eventstore.url, log: pino({ level: 'silent' }) });
          const log = await codedOf(store, data_dir);
          const documents = await openMongoDocuments({ url: mongodb_url.href, log: pino({ level: 'silent' }) });
          const empty = await openSqliteDocuments({ path: join(data_dir, 'replayed.db') });
          await assertExact(t, log, documents, empty);
          await Promise.all([log.close(), documents.close(), empty.close()]);
        },
      };
      try {
        await run(t, world);
      } finally {
        await Promise.all(started.map((service) => service.kill()));
        await Promise.all([site.close(), eventstore.close(), nats.remove()]);
        await client.db().dropDatabase();
        await client.close();
        await rm(data_dir, { recursive: true, force: true });
      }
    });
}
