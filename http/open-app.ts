// Builds the application from the stores and settings: the parts for groups of routes, and the options of the frame.
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Blobs } from '../commands/blobs.ts';
import { openJobs } from '../commands/jobs/job.ts';
import { openSubmissions } from '../commands/jobs/submit.ts';
import { openCredits } from '../commands/ledger/credits.ts';
import { identifyLog } from '../commands/log-identity.ts';
import { openMaintenanceMode } from '../commands/maintenance.ts';
import { openAccounts } from '../commands/users/accounts.ts';
import { openSessions } from '../commands/users/sessions.ts';
import type { EventStore } from '../events/event-store.ts';
import { openBlocklist } from '../intake/blocklist.ts';
import { openIntake } from '../intake/intake.ts';
import { limitsOf } from '../intake/limits.ts';
import { blockedDomains, blocklistVersion } from '../readmodels/blocked-domains.ts';
import type { Documents } from '../readmodels/documents.ts';
import { jobs } from '../readmodels/jobs/jobs.ts';
import { openBackupProgress } from '../readmodels/operations/backups.ts';
import { openMailTests } from '../readmodels/operations/mail-tests.ts';
import { requestRebuild } from '../readmodels/projection-state.ts';
import { openReadModels } from '../readmodels/read-models.ts';
import { type WatchedCertificate, watchCertificates } from '../roles/certificates.ts';
import { probeDependencies, within } from '../roles/dependencies.ts';
import { giveRoleSigns, workOf } from '../roles/role-signs.ts';
import type { Config } from '../settings/config.ts';
import { ALL_GROUPS } from './all-routes.ts';
import { createApp } from './app.ts';
import { openJobFinder } from './callers/access.ts';
import type { Identity } from './callers/identity.ts';
import { openBrowserSessions } from './callers/sessions.ts';
import { openSignedCookie } from './callers/signed-cookie.ts';
import { openConsoleFiles } from './console/console-files.ts';
import { linkCommand } from './console/link-command.ts';
import { openKeptReplies } from './frame/answers/kept-replies.ts';
import { openForwarding } from './frame/forwarding.ts';
import { removeAbandonedUploads } from './frame/input/uploads.ts';
import { openHeavyRequests } from './frame/limits/heavy-requests.ts';
import type { RateCounters } from './frame/limits/rate-counters.ts';
import { openRateLimits } from './frame/limits/rate-limits.ts';
import { openRawBodies } from './frame/limits/raw-bodies.ts';
import { openMaintenance } from './frame/maintenance.ts';
import { openOnce } from './frame/once.ts';
import type { Parts } from './group.ts';
import { openInFlight } from './jobs/in-flight.ts';
import { openJobWatch } from './jobs/job-watch.ts';
import { metadataUrl } from './mcp/mcp.ts';
import { openCallers } from './open-callers.ts';
import { openServiceStatus } from './operations/service-status.ts';
import { openFollowers } from './server/followers.ts';
import { identityCheck, probesOf } from './server/outside-probes.ts';
import { openWatch, PROBES, type ProbeReply } from './server/probes.ts';

/** How long a read waits for its client's last change. */
const READ_YOUR_WRITES_MS = 2000;
/** No upload takes a day. */
const ABANDONED_MS = 86_400_000;
/** A stopping process waits no longer than this to withdraw its heartbeat. */
const STOP_MS = 500;

export interface OpeningParts
  extends Pick<Parts, 'keys' | 'payments' | 'readProxyList' | 'checker_guard' | 'webhook_guard' | 'public_url'> {
  stores: { log: EventStore; documents: Documents; blobs: Blobs };
  identity: Identity;
  /** `shared` counts for all processes, `own` for this one. */
  rates: { shared: RateCounters; own: RateCounters };
  registry: Registry;
  /** Those that http watches. */
  certificates: readonly WatchedCertificate[];
  /** Receives each error that no client caused. */
  fault: (error: unknown) => void;
}

export interface OpenedApp {
  /** Null in a process without the http role. */
  app: { callback(): RequestListener } | null;
  /** Answers the probe at the path, for METRICS_PORT. */
  probe(path: string): Promise<ProbeReply>;
  /** Ends long waits and event streams, which would otherwise keep the server open. */
  end(): void;
  /** Ends the application's own work, and leaves the stores open. */
  close(): Promise<void>;
}

/** Opens the application of the http role. The caller closes it before the stores. Throws what the stores throw. */
export async function openApp(config: Config, logger: Logger, opening: OpeningParts): Promise<OpenedApp> {
  const { fault, ...rest } = opening;
  const opened = await openParts(config, logger, rest);
  const { parts } = opened;
  const { service_urls } = config;
  const forwarding = service_urls && (await openForwarding({ urls: service_urls, log: logger }));
  if (forwarding) parts.atEnd(forwarding.close);
  const uploads = { folder: join(config.data_dir, 'uploads'), max_file_bytes: config.max_file_bytes };
  const options = frameOptions(opened, opening);
  const once = openOnce(parts.log, parts.keys.links);
  const app = createApp(ALL_GROUPS.flatMap((group) => group.open(parts)).map(once), {
    ...options,
    uploads,
    fault,
    forwarding,
  });
  // A killed process leaves the files of its uploads.
  await removeAbandonedUploads(uploads.folder, ABANDONED_MS, parts.now());
  return { app, probe: (path) => PROBES[path]!(options), end: opened.end, close: opened.close };
}

/** Opens the parts for groups of routes. `end` and `close` are those of the application. */
async function openParts(config: Config, logger: Logger, opening: Omit<OpeningParts, 'fault'>) {
  const { stores, identity, rates, registry, certificates, ...given } = opening;
  const { log, documents, blobs } = stores;
  const now = Date.now;
  const log_id = () => identifyLog(log, 'process:http', now());
  const readmodels = openReadModels(documents, { log_id });
  const closing = new AbortController();
  const closes: (() => Promise<void>)[] = [rates.shared.close];
  const read: Parts['read'] = (specs) => {
    const opened = Object.entries(specs).map(([name, spec]) => [name, readmodels.collection(spec)]);
    return Object.fromEntries(opened);
  };
  const [job_commands, credits] = [openJobs(log), openCredits(log)];
  const { signup_credits, identity_jwks_url } = config;
  const accounts = openAccounts(log, credits, {
    signup_credits,
    // The users of a local issuer call no fingerprint route: their machine's operator made their tokens.
    bonus_at: identity_jwks_url === null ? 'first_sight' : 'fingerprint',
  });
  const job_documents = readmodels.collection(jobs);
  const blocklist = openBlocklist(readmodels.collection(blockedDomains), readmodels.collection(blocklistVersion));
  const intake = openIntake(blocklist, { ...limitsOf(config), allows_address: given.checker_guard.allows });
  const passed: Parts['passed'] = (position) => readmodels.passed(position, READ_YOUR_WRITES_MS);
  const jobFinder = openJobFinder(job_documents, job_commands, passed);
  const { https, path, base_path } = publicPlace(config);
  const sessions = openBrowserSessions(
    openSessions(log),
    accounts,
    openSignedCookie({ name: 'session', secret: given.keys.links, path, same_site: 'Strict', https }),
  );
  const maintenance = await openMaintenance(openMaintenanceMode(log), { registry, logger });
  // The sandbox that every local service has is for developers: whoever runs the service for themselves has nothing to buy.
  const sells = given.payments !== null && (config.payment_secret_key !== null || config.payment_sandbox === 'on');
  const kinds = {
    event_log: config.eventstore_url ? 'eventstoredb' : 'sqlite',
    documents: config.mongodb_url ? 'mongodb' : 'sqlite',
  };
  const { roles, ...readiness } = openWatch(stores, readmodels, {
    ...{ registry, kinds, log_max_mb: config.event_log_max_mb, data_dir: config.data_dir },
  });
  const jobWatch = openJobWatch({
    jobs: job_documents,
    position: readmodels.position,
    is_deleted: async (job_id) => (await jobFinder.owned(job_id)) === null,
    work: () => workOf(roles),
    log: logger,
  });
  const probed = probeDependencies(probesOf(config, blobs, identity), { signal: closing.signal });
  const status = openServiceStatus({ log, documents, roles, probed, now, ...readiness });
  const signs = giveRoleSigns({
    ...{ documents, role: 'http', data_dir: config.data_dir, dependencies: probed.states },
    certificates: watchCertificates(certificates, { signal: closing.signal }),
  });
  signs.say('working');
  const parts: Parts = {
    config,
    log,
    logger,
    blobs,
    read,
    flips: () => readmodels.flips,
    kept: openKeptReplies(readmodels),
    follow: (follower) => openReadModels(documents, { follower, log_id }),
    credits,
    accounts,
    identity,
    sessions,
    consoleFiles: openConsoleFiles({
      base: base_path,
      sign_in: identity.provider ? 'provider' : identity.signInBy ? 'link' : 'none',
      linkCommand: () => linkCommand(config.data_dir, given.public_url()),
      sells,
    }),
    blocklist,
    jobFinder,
    jobWatch,
    inFlight: openInFlight(roles),
    maintenance,
    sells,
    status,
    now,
    closing: closing.signal,
    ...given,
    backup_progress: openBackupProgress(documents),
    mail_tests: openMailTests(documents, now),
    projections: {
      followers: openFollowers({ log, documents, now }),
      states: readmodels.projections,
      requestRebuild: (projection, request) => requestRebuild(documents, projection, request),
    },
    jobs: job_commands,
    submissions: openSubmissions({ log, jobs: job_commands, credits, intake, blobs }),
    rates: rates.shared,
    passed,
    atEnd: (close) => closes.push(close),
  };
  return {
    ...{
      parts,
      readmodels,
      readiness: readiness.checks,
      advisory: { ...readiness.advisory, ...(identity.reach && identityCheck(probed)) },
    },
    end: () => closing.abort(),
    async close() {
      await within(STOP_MS, signs.stop());
      jobWatch.close();
      readiness.close();
      maintenance.close();
      await Promise.allSettled(closes.map((close) => close()));
    },
  };
}

/** The options that the frame takes from the parts and the settings. */
function frameOptions(
  { parts, readmodels, readiness, advisory }: Awaited<ReturnType<typeof openParts>>,
  { rates, registry }: Pick<OpeningParts, 'rates' | 'registry'>,
) {
  const { config, log, logger, identity, jobFinder, maintenance, now } = parts;
  const callers = openCallers(parts);
  const { agency_secret, rate_limit_per_minute: per_minute, rate_limit_per_day: per_day } = config;
  const reads_per_minute = Math.max(config.rate_limit_reads_per_minute, per_minute);
  // Who is given more at the public API is given as much at the gateway.
  const gateway = {
    of_user: Math.max(config.user_limit_per_minute, per_minute),
    changes_of_user: Math.max(config.user_changes_per_minute, per_minute),
    of_address: Math.max(config.address_limit_per_minute, per_minute),
  };
  const { https, base_path } = publicPlace(config);
  const provider =
    config.identity_jwks_url === null ? {} : { resource_metadata: () => metadataUrl(parts.public_url()) };
  return {
    ...provider,
    cors_origins: config.cors_origins,
    ...{ log: logger, registry, identity, maintenance, readiness, advisory, https, base_path },
    ...callers,
    jobs: jobFinder,
    shared_secret: agency_secret ? { header: 'x-agency-secret', value: agency_secret } : null,
    trusted_proxies: config.trusted_proxies,
    metrics_on_port: config.metrics_on_port === 'on',
    session: parts.sessions.callerOf,
    ...openRateLimits({ ...rates, per_minute, per_day, reads_per_minute, gateway, now }),
    unchanged: {
      caller: callers.isStill,
      job: (job_id: string) => readmodels.unchanged(jobs, job_id),
      readmodels: () => readmodels.unmoved(),
    },
    raw_bodies: openRawBodies(),
    heavy_requests: openHeavyRequests({
      per_caller: config.heavy_requests_per_caller,
      at_once: config.heavy_requests_at_once,
    }),
    async await_position(position: string, waits = () => {}) {
      if (await readmodels.passed(position, 0)) return true;
      waits();
      // No answer named a position beyond the log's head, so nobody waits for one.
      return position > (await log.head()) || (await parts.passed(position));
    },
  };
}

/** Whether clients reach the service only by https, and below which path. */
function publicPlace({ public_url }: Pick<Config, 'public_url'>) {
  const { pathname: path } = new URL(public_url);
  return { https: public_url.startsWith('https:'), path, base_path: path.replace(/\/$/, '') };
}

/** Opens the application of a process without the http role: the probes alone. */
export async function openProbes(
  { event_log_max_mb: log_max_mb, data_dir }: Pick<Config, 'event_log_max_mb' | 'data_dir'>,
  { stores, registry }: { stores: Omit<OpeningParts['stores'], 'blobs'>; registry: Registry },
  logger: Logger,
): Promise<OpenedApp> {
  const maintenance = await openMaintenance(openMaintenanceMode(stores.log), { registry, logger });
  const {
    checks: readiness,
    advisory,
    close,
  } = openWatch(stores, openReadModels(stores.documents), {
    ...{ registry, log_max_mb, data_dir },
  });
  const options = { log: logger, registry, readiness, advisory, maintenance };
  return {
    app: null,
    probe: (path) => PROBES[path]!(options),
    end: () => {},
    async close() {
      maintenance.close();
      close();
    },
  };
}
