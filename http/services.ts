// What the handlers of routes are given: commands to change things, read models to look at them.
import { randomUUID } from 'node:crypto';
import type { CommandContext } from '../commands/aggregate.ts';
import type { ApiKeys } from '../commands/api-keys.ts';
import type { Blocklist as BlocklistCommands } from '../commands/blocklist.ts';
import type { DeleteJob } from '../commands/delete-job.ts';
import type { Jobs } from '../commands/job.ts';
import type { ResumeJob } from '../commands/resume-job.ts';
import type { Shares } from '../commands/shares.ts';
import type { Submissions } from '../commands/submit.ts';
import type { WebhookDeliveries } from '../commands/webhook-delivery.ts';
import type { WebhookEndpoints } from '../commands/webhook-endpoints.ts';
import type { Config } from '../config.ts';
import type { Blocklist } from '../intake/blocklist.ts';
import type { ApiKeyDocument } from '../readmodels/api-keys.ts';
import type { BlockedDomainDocument } from '../readmodels/blocked-domains.ts';
import type { BalanceDocument, TransactionDocument } from '../readmodels/credits.ts';
import type { DomainHealthDocument } from '../readmodels/domain-health.ts';
import type { JobDocument } from '../readmodels/jobs.ts';
import type { LiveCollection } from '../readmodels/read-models.ts';
import type { ResultDocument } from '../readmodels/results.ts';
import type { ShareDocument } from '../readmodels/shares.ts';
import type { DomainDocument, ResponseTimesDocument, StatsDocument } from '../readmodels/stats.ts';
import type { WebhookDeliveryDocument, WebhookEndpointDocument } from '../readmodels/webhooks.ts';
import type { Cursors } from './cursors.ts';
import type { EventStreams } from './event-streams.ts';
import type { JobWatch } from './job-watch.ts';
import { type Caller, type RouteRequest, routeOf } from './route.ts';
import type { ShareUses } from './share-uses.ts';
import type { SignedLinks } from './signed-links.ts';
import type { WebhookTargets } from './webhook-targets.ts';

export interface Services {
  config: Config;
  submissions: Submissions;
  jobs: Jobs;
  resumeJob: ResumeJob;
  deleteJob: DeleteJob;
  /** Null when there is no such job. */
  jobOwner(job_id: string): Promise<{ owner_id: string } | null>;
  apiKeys: ApiKeys;
  blockedDomains: BlocklistCommands;
  blocklist: Blocklist;
  shares: Shares;
  shareUses: ShareUses;
  jobWatch: JobWatch;
  eventStreams: EventStreams;
  webhookEndpoints: WebhookEndpoints;
  webhookDeliveries: WebhookDeliveries;
  webhookTargets: WebhookTargets;
  /** That the secrets of webhook endpoints are made of. */
  webhookKey: Uint8Array;
  links: SignedLinks;
  cursors: Cursors;
  /** The URLs of a job in order of submission, some hundreds at a time; none when there is no such job. */
  urls(job_id: string): AsyncIterable<readonly string[]>;
  /** Waits until reads see the position; false when they do not within a bounded time. */
  passed(position: string): Promise<boolean>;
  now: () => number;
  /** Aborts when the process is about to end: who is kept waiting is answered. */
  closing: AbortSignal;
  /** Where clients reach the service: for links. */
  public_url: () => string;
  read: {
    jobs: LiveCollection<JobDocument>;
    results: LiveCollection<ResultDocument>;
    balances: LiveCollection<BalanceDocument>;
    transactions: LiveCollection<TransactionDocument>;
    apiKeys: LiveCollection<ApiKeyDocument>;
    blockedDomains: LiveCollection<BlockedDomainDocument>;
    domainHealth: LiveCollection<DomainHealthDocument>;
    shares: LiveCollection<ShareDocument>;
    jobStats: LiveCollection<StatsDocument>;
    jobResponseTimes: LiveCollection<ResponseTimesDocument>;
    jobDomains: LiveCollection<DomainDocument>;
    webhookEndpoints: LiveCollection<WebhookEndpointDocument>;
    webhookDeliveries: LiveCollection<WebhookDeliveryDocument>;
  };
}

export const route = routeOf<Services>();

/** Who runs a command that a request asks for. */
export function contextOf(request: Pick<RouteRequest, 'request_id'> & { caller: Caller }, now: number): CommandContext {
  const { caller, request_id } = request;
  const actor =
    caller.kind === 'key' ? `key:${caller.key_id}` : `${caller.is_admin ? 'admin' : 'user'}:${caller.user_id}`;
  return { command_id: randomUUID(), causation_id: request_id, actor, now };
}

/** The header by which a client's next request sees what this one did. */
export const reached = (position: string) => ({ 'x-log-position': position });
