// A group of routes: it declares the dependencies of its handlers and takes them from the parts of the service.
import type { Logger } from 'pino';
import type { Blobs } from '../commands/blobs.ts';
import type { Jobs } from '../commands/jobs/job.ts';
import type { Submissions } from '../commands/jobs/submit.ts';
import type { CreditsLedger } from '../commands/ledger/credits.ts';
import type { ReadProxyList } from '../commands/proxy-list.ts';
import type { Accounts } from '../commands/users/accounts.ts';
import type { EventStore, Position } from '../events/event-store.ts';
import type { Blocklist } from '../intake/blocklist.ts';
import type { CollectionSpec, Document } from '../readmodels/documents.ts';
import type { BackupProgressStore } from '../readmodels/operations/backups.ts';
import type { MailTests } from '../readmodels/operations/mail-tests.ts';
import type { Follower, ProjectionState, RebuildRequest } from '../readmodels/projection-state.ts';
import type { LiveCollection, ReadModels } from '../readmodels/read-models.ts';
import type { Config } from '../settings/config.ts';
import type { PaymentProvider } from './billing/payments.ts';
import type { JobFinder } from './callers/access.ts';
import type { Identity } from './callers/identity.ts';
import type { BrowserSessions } from './callers/sessions.ts';
import type { ConsoleFiles } from './console/console-files.ts';
import type { KeptReplies } from './frame/answers/kept-replies.ts';
import type { RateCounters } from './frame/limits/rate-counters.ts';
import type { Maintenance } from './frame/maintenance.ts';
import type { Route } from './frame/route.ts';
import type { InFlight } from './jobs/in-flight.ts';
import type { JobWatch } from './jobs/job-watch.ts';
import type { ServiceStatus } from './operations/service-status.ts';
import type { Followers } from './server/followers.ts';
import type { TargetGuard } from './webhooks/webhook-targets.ts';

/** The parts that several groups use. A group opens in its own `wire` function what it alone uses. */
export interface Parts {
  config: Config;
  log: EventStore;
  logger: Logger;
  /** Opens read models, each under the name that the caller gives it. */
  read<Documents extends Record<string, Document>>(specs: Specs<Documents>): Live<Documents>;
  /** How many times rebuilt read models took the place of earlier ones, as this process has noticed within a second. */
  flips(): number;
  /** Keeps replies about jobs, in memory that all groups share. */
  kept: KeptReplies;
  /** Opens the read models of a follower of its own, which has a position of its own. */
  follow(follower: Follower): ReadModels;
  /** Waits until the read models have reached the position. Returns false after 2 s. */
  passed(position: Position): Promise<boolean>;
  /** What is written of the backup that runs. */
  backup_progress: Pick<BackupProgressStore, 'read'>;
  mail_tests: Pick<MailTests, 'ask' | 'read' | 'remove'>;
  /** The stored files. */
  blobs: Blobs;
  jobs: Jobs;
  credits: CreditsLedger;
  accounts: Accounts;
  submissions: Submissions;
  identity: Identity;
  sessions: BrowserSessions;
  /** The files of the console, made at the first call. */
  consoleFiles: () => Promise<ConsoleFiles>;
  blocklist: Blocklist;
  jobFinder: JobFinder;
  jobWatch: JobWatch;
  inFlight: InFlight;
  /** The secrets that keys derive from: of links, cursors, cookies and hashes, and of the secrets of webhook endpoints. */
  keys: { links: Uint8Array; webhooks: Uint8Array };
  /** Null when the operator has set up none. */
  payments: PaymentProvider | null;
  maintenance: Maintenance;
  /** Whether users can buy credits and plans. */
  sells: boolean;
  /** The live state of the service, within 2 s. */
  status: () => Promise<ServiceStatus>;
  projections: {
    followers: () => Promise<Followers>;
    states: () => Promise<ProjectionState[]>;
    requestRebuild: (projection: string, request: RebuildRequest) => Promise<unknown>;
  };
  /** Reads the list of proxies from its provider; null when the operator has set up none. */
  readProxyList: ReadProxyList | null;
  /** Counts requests, over all processes where they share a store for it. */
  rates: Pick<RateCounters, 'open'>;
  /** Refuses addresses that the checker does not request. */
  checker_guard: Pick<TargetGuard, 'allows'>;
  /** Refuses addresses that webhooks must not reach. */
  webhook_guard: TargetGuard;
  /** Wall time in Unix milliseconds. */
  now(): number;
  /** The base URL of links, without a slash at its end. */
  public_url(): string;
  /** Aborts when the process is about to end, so that handlers stop waiting and answer. */
  closing: AbortSignal;
  /** Registers a function that http calls after its last answer, while the stores are still open. */
  atEnd(close: () => Promise<void>): void;
}

type Specs<Documents extends Record<string, Document>> = { [Name in keyof Documents]: CollectionSpec<Documents[Name]> };
type Live<Documents extends Record<string, Document>> = { [Name in keyof Documents]: LiveCollection<Documents[Name]> };

export interface Group {
  routes: readonly Route<never>[];
  /** Returns the routes with their dependencies bound to their handlers. */
  open(parts: Parts): readonly Route[];
}

/**
 * `wire` takes the group's dependencies from the parts.
 * @example export const group = groupOf(({ read }: Parts) => ({ read: read({ balances }) }), [balance]);
 */
export function groupOf<Deps>(wire: (parts: Parts) => Deps, routes: readonly Route<Deps>[]): Group {
  return { routes, open: (parts) => bound(routes, wire(parts)) };
}

export const bound = <Deps>(routes: readonly Route<Deps>[], deps: Deps): readonly Route[] =>
  routes.map(({ early, makes, ...route }) => ({
    ...route,
    makes: makes && { ...makes, restore: (body, request) => makes.restore(body, request, deps) },
    ...(early && { early: (header) => early(header, deps) }),
    handler: (request) => route.handler(request, deps),
  }));
