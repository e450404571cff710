// A group of routes: it says what its handlers depend on, and takes that from the parts that the service has.
import type { Logger } from 'pino';
import type { CreditsLedger } from '../commands/credits.ts';
import type { Jobs } from '../commands/job.ts';
import type { Submissions } from '../commands/submit.ts';
import type { EventStore, Position } from '../events/event-store.ts';
import type { Blocklist } from '../intake/blocklist.ts';
import type { CollectionSpec, Document } from '../readmodels/documents.ts';
import type { LiveCollection } from '../readmodels/read-models.ts';
import type { Config } from '../settings/config.ts';
import type { JobFinder } from './access.ts';
import type { JobWatch } from './job-watch.ts';
import type { Route } from './route.ts';
import type { TargetGuard } from './webhook-targets.ts';

/** What any group may be wired from. What only one group needs is opened where that group is wired. */
export interface Parts {
  config: Config;
  log: EventStore;
  logger: Logger;
  /** Read models, by any names. */
  read<Documents extends Record<string, Document>>(specs: Specs<Documents>): Live<Documents>;
  /** Waits until reads see the position; false when they do not within a bounded time. */
  passed(position: Position): Promise<boolean>;
  jobs: Jobs;
  credits: CreditsLedger;
  submissions: Submissions;
  blocklist: Blocklist;
  jobFinder: JobFinder;
  jobWatch: JobWatch;
  /** Of links and cursors, and what the secrets of webhook endpoints are made of. */
  keys: { links: Uint8Array; webhooks: Uint8Array };
  /** Refuses addresses that webhooks are not sent to. */
  webhook_guard: TargetGuard;
  now(): number;
  /** Where clients reach the service: for links. */
  public_url(): string;
  /** Aborts when the process is about to end: who is kept waiting is answered. */
  closing: AbortSignal;
  /** Called when the last request is answered, while the stores are still open. */
  atEnd(close: () => Promise<void>): void;
}

type Specs<Documents extends Record<string, Document>> = { [Name in keyof Documents]: CollectionSpec<Documents[Name]> };
type Live<Documents extends Record<string, Document>> = { [Name in keyof Documents]: LiveCollection<Documents[Name]> };

export interface Group {
  routes: readonly Route<never>[];
  /** The routes with handlers that have their dependencies. */
  open(parts: Parts): readonly Route[];
}

/** `wire` takes a group's dependencies from the parts. */
export function groupOf<Deps>(wire: (parts: Parts) => Deps, routes: readonly Route<Deps>[]): Group {
  return { routes, open: (parts) => bound(routes, wire(parts)) };
}

export const bound = <Deps>(routes: readonly Route<Deps>[], deps: Deps): readonly Route[] =>
  routes.map((route) => ({ ...route, handler: (request) => route.handler(request, deps) }));
