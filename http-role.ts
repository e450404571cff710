// The http role: opens the stores, wires commands and read models to the routes, and listens.
import { timingSafeEqual } from 'node:crypto';
import { join } from 'node:path';
import type Koa from 'koa';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { Counter, Registry } from 'prom-client';
import { openIdentity } from './adapters/identity/index.ts';
import { openMemoryRates } from './adapters/rate-counters/memory.ts';
import { createAddressGuard } from './checkers/engine/addresses.ts';
import { hashOfKey, idOfKey, openApiKeys } from './commands/api-keys.ts';
import { openBlocklistCommands } from './commands/blocklist.ts';
import { openCredits } from './commands/credits.ts';
import { openDeleteJob } from './commands/delete-job.ts';
import { openJobs } from './commands/job.ts';
import { identifyLog } from './commands/log-identity.ts';
import { openResumeJob } from './commands/resume-job.ts';
import { openShares } from './commands/shares.ts';
import { openSubmissions } from './commands/submit.ts';
import { openUsers } from './commands/user.ts';
import { openWebhookDeliveries } from './commands/webhook-delivery.ts';
import { openWebhookEndpoints } from './commands/webhook-endpoints.ts';
import type { Config } from './config.ts';
import { isDamage } from './data-dir.ts';
import type { UrlsListed } from './events/job.ts';
import { jobStream, urlsStream } from './events/streams.ts';
import { openApiKeyUses } from './http/api-key-uses.ts';
import { createApp } from './http/app.ts';
import { mostConnections, openConnections } from './http/connections.ts';
import { openCursors } from './http/cursors.ts';
import { HttpError } from './http/errors.ts';
import { openEventStreams } from './http/event-streams.ts';
import { openHeavyRequests } from './http/heavy-requests.ts';
import { openJobWatch } from './http/job-watch.ts';
import { openProjectionMetrics } from './http/metrics.ts';
import { openRateLimits } from './http/rate-limits.ts';
import { openReadiness } from './http/readiness.ts';
import type { Caller } from './http/route.ts';
import { ALL_ROUTES } from './http/routes/all.ts';
import { type RunningServer, startServer } from './http/server.ts';
import { contextOf, type Services } from './http/services.ts';
import { openShareUses } from './http/share-uses.ts';
import { openSignedLinks } from './http/signed-links.ts';
import { openStarting } from './http/starting.ts';
import { removeAbandonedUploads } from './http/uploads.ts';
import { openWebhookTargets } from './http/webhook-targets.ts';
import { openBlocklist } from './intake/blocklist.ts';
import { openIntake } from './intake/intake.ts';
import { limitsOf } from './intake/limits.ts';
import { keyOf } from './local-key.ts';
import { apiKeys } from './readmodels/api-keys.ts';
import { blockedDomains, blocklistVersion } from './readmodels/blocked-domains.ts';
import { balances, transactions } from './readmodels/credits.ts';
import { domainHealth } from './readmodels/domain-health.ts';
import { endedJob, jobs } from './readmodels/jobs.ts';
import { openReadModels } from './readmodels/read-models.ts';
import { results } from './readmodels/results.ts';
import { shares } from './readmodels/shares.ts';
import { jobDomains, jobResponseTimes, jobStats } from './readmodels/stats.ts';
import { webhookDeliveries, webhookEndpoints } from './readmodels/webhooks.ts';
import { openRoleWatch } from './roles/role-signs.ts';
import {
  type OpeningOptions,
  openRateCounters,
  openStores,
  type Stores,
  type Waiting,
  type WaitingOptions,
  whenThere,
} from './stores.ts';
import { pause } from './time/pause.ts';

/** How long a read waits for what its client has just done. */
const READ_YOUR_WRITES_MS = 2000;
/** No upload takes a day. */
const ABANDONED_MS = 86_400_000;
/** How long an end waits for stores that are being opened. */
const CLOSE_MS = 500;
const JOB_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export interface Http {
  url: string;
  /** Resolves when it could not begin to answer for a reason that time does not mend, or when a store is damaged. */
  failed: Promise<Error>;
  close(): Promise<void>;
}

export interface HttpParts {
  /** What comes before the stores are opened. */
  begin: (waiting: WaitingOptions['waiting']) => Promise<void>;
  /** Of the checker in this process, so far. */
  threads_replaced: () => number;
}

/** Listens when requests can be answered, or when it waits: requests are then refused, and the probes say why. */
export async function startHttp(config: Config, logger: Logger, { begin, threads_replaced }: HttpParts): Promise<Http> {
  const starting = openStarting();
  const stop = new AbortController();
  const failure = Promise.withResolvers<Error>();
  const waits = Promise.withResolvers<void>();
  let { public_url } = config;
  const waiting = (for_what: Waiting | null) => {
    starting.waits(for_what);
    waits.resolve();
  };
  const registry = new Registry();
  new Counter({
    name: 'checker_threads_replaced_total',
    help: "Threads of this process's checker that hung or ended by a fault, and were replaced.",
    registers: [registry],
    collect() {
      this.reset();
      this.inc(threads_replaced());
    },
  });
  const checks_at_once = config.roles.includes('checker') ? config.checker_concurrency : 0;
  const most = mostConnections({ wanted: config.max_connections, checks_at_once });
  const connections = openConnections({ most, log: logger });
  connections.measure(registry);
  if (most < config.max_connections) logger.info({ most }, 'too few open files for MAX_CONNECTIONS');
  const fault = (error: unknown) => void (isDamage(error) && failure.resolve(error as Error));
  const parts = { public_url: () => public_url, registry, fault };
  const options: OpeningOptions = { of: 'http', signal: stop.signal, waiting };
  const opening = begin(waiting).then(() => openApp(config, logger, parts, options));
  opening.then(
    ({ app }) => starting.started(app),
    (error: Error) => stop.signal.aborted || failure.resolve(error),
  );
  async function end(server: RunningServer | null): Promise<void> {
    stop.abort();
    const opened = await Promise.race([opening.catch(() => null), pause(CLOSE_MS, new AbortController().signal)]);
    opened?.end();
    await server?.close();
    await opened?.close();
  }
  try {
    await Promise.race([opening, waits.promise]);
    const server = await startServer(starting, { host: config.host, port: config.port, log: logger, connections });
    // Where the system picked the port, it is known from here on.
    if (new URL(public_url).port === '0') public_url = server.url;
    return { url: server.url, failed: failure.promise, close: () => end(server) };
  } catch (error) {
    await end(null);
    throw error;
  }
}

interface AppParts {
  public_url: () => string;
  registry: Registry;
  /** Called with what a request failed of. */
  fault: (error: unknown) => void;
}

interface OpenedApp {
  app: Koa;
  /** Ends what would go on for ever: long waits and streams of events. */
  end(): void;
  close(): Promise<void>;
}

/** Again from the start when a store goes away meanwhile. */
function openApp(config: Config, logger: Logger, parts: AppParts, opening: OpeningOptions): Promise<OpenedApp> {
  const open = async () => {
    const stores = await openStores(config, logger, opening);
    try {
      return await wire(config, logger, parts, stores);
    } catch (error) {
      await stores.close();
      throw error;
    }
  };
  return whenThere('a store', open, logger, opening);
}

async function wire(
  config: Config,
  logger: Logger,
  { public_url, registry, fault }: AppParts,
  stores: Stores,
): Promise<OpenedApp> {
  const { log, documents, blobs } = stores;
  const log_id = () => identifyLog(log, 'process:http', Date.now());
  const readmodels = openReadModels(documents, { log_id });
  const credits = openCredits(log);
  const users = openUsers(log, credits, config.signup_credits);
  const passed = (position: string) => readmodels.passed(position, READ_YOUR_WRITES_MS);
  const job_commands = openJobs(log);
  const share_commands = openShares(log);
  const share_uses = openShareUses(share_commands, logger, Date.now);
  const api_key_commands = openApiKeys(log);
  const api_key_uses = openApiKeyUses(api_key_commands, logger, Date.now);
  const closing = new AbortController();
  const rate_counters = await openRateCounters(config, logger);
  const rate_limits = openRateLimits({
    shared: rate_counters,
    own: openMemoryRates(),
    per_minute: config.rate_limit_per_minute,
    per_day: config.rate_limit_per_day,
    now: Date.now,
  });
  const event_streams = openEventStreams();
  const job_watch = openJobWatch({
    jobs: readmodels.collection(jobs),
    position: readmodels.position,
    is_deleted: async (job_id) => (await services.jobOwner(job_id)) === null,
    log: logger,
  });
  const { identity_jwks_url, identity_issuer, identity_audience, agency_secret, data_dir } = config;
  const identity = await openIdentity(
    identity_jwks_url
      ? { jwks_url: identity_jwks_url, issuer: identity_issuer!, audience: identity_audience! }
      : { local: data_dir },
  );
  const link_key = await keyOf(config.link_signing_key, config.data_dir, 'link-key');
  const { webhook_allow_addresses } = config;
  const blocklist = openBlocklist(readmodels.collection(blockedDomains), readmodels.collection(blocklistVersion));
  const intake = openIntake(blocklist, limitsOf(config));
  const services: Services = {
    config,
    submissions: openSubmissions({ log, jobs: job_commands, credits, intake, blobs }),
    jobs: job_commands,
    resumeJob: openResumeJob(job_commands, credits),
    deleteJob: openDeleteJob(job_commands, credits, async (job_id, position) => {
      const job = (await passed(position)) ? await services.read.jobs.get(job_id) : null;
      return job && endedJob(job);
    }),
    async jobOwner(job_id) {
      const job = await services.read.jobs.get(job_id);
      if (job || !JOB_ID.test(job_id)) return job;
      // It may be so new that the read model has not seen it.
      const { status, owner_id } = (await job_commands.aggregate.read(jobStream(job_id))).state;
      return status === 'none' || status === 'deleted' ? null : { owner_id };
    },
    apiKeys: api_key_commands,
    blockedDomains: openBlocklistCommands(log),
    blocklist,
    shares: share_commands,
    shareUses: share_uses,
    jobWatch: job_watch,
    eventStreams: event_streams,
    webhookEndpoints: openWebhookEndpoints(log),
    webhookDeliveries: openWebhookDeliveries(log),
    webhookTargets: openWebhookTargets(createAddressGuard(webhook_allow_addresses), {
      http_somewhere: webhook_allow_addresses.length > 0,
    }),
    webhookKey: await keyOf(config.webhook_signing_key, config.data_dir, 'webhook-key'),
    links: openSignedLinks({ key: link_key, base_url: public_url, now: Date.now }),
    cursors: openCursors(link_key),
    async *urls(job_id) {
      for await (const { data } of log.readStream(urlsStream(job_id))) yield (data as UrlsListed).urls;
    },
    passed,
    now: Date.now,
    closing: closing.signal,
    public_url,
    read: {
      jobs: readmodels.collection(jobs),
      results: readmodels.collection(results),
      balances: readmodels.collection(balances),
      transactions: readmodels.collection(transactions),
      apiKeys: readmodels.collection(apiKeys),
      blockedDomains: readmodels.collection(blockedDomains),
      domainHealth: readmodels.collection(domainHealth),
      shares: readmodels.collection(shares),
      jobStats: readmodels.collection(jobStats),
      jobResponseTimes: readmodels.collection(jobResponseTimes),
      jobDomains: readmodels.collection(jobDomains),
      webhookEndpoints: readmodels.collection(webhookEndpoints),
      webhookDeliveries: readmodels.collection(webhookDeliveries),
    },
  };
  const { read } = services;
  /** Users that this process has seen, with their address: they need no look at the log. */
  const known = new LRUCache<string, string>({ max: 100_000 });
  openProjectionMetrics(registry, readmodels.projections);
  const readiness = openReadiness({
    head: () => log.head(),
    position: readmodels.position,
    roles: openRoleWatch(documents),
    registry,
  });

  const uploads = join(data_dir, 'uploads');
  const app = createApp(ALL_ROUTES, services, {
    log: logger,
    registry,
    identity,
    async api_key(plaintext): Promise<Caller | null> {
      const id = idOfKey(plaintext);
      let key = await read.apiKeys.get(id);
      if (!key) {
        // It may be so new that the read model has not seen it: nobody is told that a good key is none.
        if (!(await passed(await log.head())))
          throw new HttpError(503, 'unavailable', 'The read models are behind the log.', undefined, {
            'retry-after': '5',
          });
        key = await read.apiKeys.get(id);
      }
      if (!key || key.revoked_at !== null) return null;
      if (!timingSafeEqual(Buffer.from(key.key_hash), Buffer.from(hashOfKey(plaintext)))) return null;
      api_key_uses.used(key);
      return { user_id: key.user_id, email: key.email, is_admin: false, kind: 'key', key_id: key._id };
    },
    job_owner: services.jobOwner,
    shared_secret: agency_secret ? { header: 'x-agency-secret', value: agency_secret } : null,
    uploads: { folder: uploads, max_file_bytes: config.max_file_bytes },
    trusted_proxies: config.trusted_proxies,
    https: config.public_url.startsWith('https:'),
    base_path: new URL(config.public_url).pathname.replace(/\/$/, ''),
    async seen(caller, { request_id }) {
      const { user_id, email } = caller;
      if (known.get(user_id) === (email ?? '')) return;
      const position = await users.see({ user_id, email }, contextOf({ caller, request_id }, Date.now()));
      if (position !== null) await passed(position);
      known.set(user_id, email ?? '');
    },
    admit: rate_limits.admit,
    heavy_requests: openHeavyRequests({
      per_caller: config.heavy_requests_per_caller,
      at_once: config.heavy_requests_at_once,
    }),
    async await_position(position) {
      if (await readmodels.passed(position, 0)) return;
      // A place that the log has not reached was given to nobody.
      if (position <= (await log.head())) await passed(position);
    },
    readiness: readiness.checks,
    fault,
  });
  // What a process left that was killed in the middle of an upload.
  await removeAbandonedUploads(uploads, ABANDONED_MS, Date.now());
  return {
    app,
    end() {
      closing.abort();
      event_streams.close();
    },
    async close() {
      job_watch.close();
      readiness.close();
      await Promise.allSettled([share_uses.close(), api_key_uses.close(), rate_counters.close()]);
      await stores.close();
    },
  };
}
