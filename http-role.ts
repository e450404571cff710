// The http role: opens the stores, wires commands and read models to the routes, and listens.
import { timingSafeEqual } from 'node:crypto';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { openIdentity } from './adapters/identity/index.ts';
import { WORK_SUBJECT } from './checkers/work.ts';
import { hashOfKey, idOfKey, openApiKeys } from './commands/api-key.ts';
import { openCredits } from './commands/credits.ts';
import { openJobs } from './commands/job.ts';
import { openSubmitJob } from './commands/submit-job.ts';
import { openUsers } from './commands/user.ts';
import type { Config } from './config.ts';
import { createApp } from './http/app.ts';
import type { Caller } from './http/route.ts';
import { ALL_ROUTES } from './http/routes/all.ts';
import { startServer } from './http/server.ts';
import { contextOf, type Services } from './http/services.ts';
import { apiKeys } from './readmodels/api-keys.ts';
import { balances, transactions } from './readmodels/credits.ts';
import { jobs } from './readmodels/jobs.ts';
import { openReadModels } from './readmodels/projection-state.ts';
import { results } from './readmodels/results.ts';
import { openStores } from './stores.ts';

/** How long a read waits for what its client has just done. */
const READ_YOUR_WRITES_MS = 2000;

export interface Http {
  url: string;
  close(): Promise<void>;
}

export async function startHttp(config: Config, logger: Logger): Promise<Http> {
  const stores = await openStores(config, logger);
  const { log, documents, queue, blobs } = stores;
  const readmodels = await openReadModels(documents);
  const credits = openCredits(log);
  const users = openUsers(log, credits, config.signup_credits);
  const passed = (position: string) => readmodels.passed(position, READ_YOUR_WRITES_MS);
  const services: Services = {
    config,
    submitJob: openSubmitJob(log, openJobs(log), credits),
    apiKeys: openApiKeys(log),
    blobs,
    passed,
    now: Date.now,
    read: {
      jobs: readmodels.collection(jobs),
      results: readmodels.collection(results),
      balances: readmodels.collection(balances),
      transactions: readmodels.collection(transactions),
      apiKeys: readmodels.collection(apiKeys),
    },
  };
  const { read } = services;
  /** Users that this process has seen, with their address: they need no look at the log. */
  const known = new LRUCache<string, string>({ max: 100_000 });
  const registry = new Registry();
  const { identity_jwks_url, identity_issuer, identity_audience, agency_secret, data_dir } = config;

  const app = createApp(ALL_ROUTES, services, {
    log: logger,
    registry,
    identity: await openIdentity(
      identity_jwks_url
        ? { jwks_url: identity_jwks_url, issuer: identity_issuer!, audience: identity_audience! }
        : { local: data_dir },
    ),
    async api_key(plaintext): Promise<Caller | null> {
      const key = await read.apiKeys.get(idOfKey(plaintext));
      if (!key || key.revoked_at !== null) return null;
      if (!timingSafeEqual(Buffer.from(key.key_hash), Buffer.from(hashOfKey(plaintext)))) return null;
      return { user_id: key.user_id, email: key.email, is_admin: false, kind: 'key', key_id: key._id };
    },
    job_owner: (job_id) => read.jobs.get(job_id),
    shared_secret: agency_secret ? { header: 'x-agency-secret', value: agency_secret } : null,
    uploads: { folder: join(data_dir, 'uploads'), max_file_bytes: config.max_file_bytes },
    trusted_proxies: config.trusted_proxies,
    https: config.public_url.startsWith('https:'),
    async seen(caller, { request_id }) {
      const { user_id, email } = caller;
      if (known.get(user_id) === (email ?? '')) return;
      const position = await users.see({ user_id, email }, contextOf({ caller, request_id }, Date.now()));
      if (position !== null) await passed(position);
      known.set(user_id, email ?? '');
    },
    await_position: async (position) => void (await passed(position)),
    readiness: {
      event_log: () => log.head(),
      documents: () => readmodels.position(),
      queue: () => queue.depth(WORK_SUBJECT),
    },
  });
  try {
    const server = await startServer(app, { host: config.host, port: config.port, log: logger });
    return {
      url: server.url,
      async close() {
        await server.close();
        await stores.close();
      },
    };
  } catch (error) {
    await stores.close();
    throw error;
  }
}
