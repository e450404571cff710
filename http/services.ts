// What the handlers of routes are given: commands to change things, read models to look at them.
import { randomUUID } from 'node:crypto';
import type { CommandContext } from '../commands/aggregate.ts';
import type { ApiKeys } from '../commands/api-key.ts';
import type { SubmitJob } from '../commands/submit-job.ts';
import type { Config } from '../config.ts';
import type { ApiKeyDocument } from '../readmodels/api-keys.ts';
import type { Blobs } from '../readmodels/blobs.ts';
import type { BalanceDocument, TransactionDocument } from '../readmodels/credits.ts';
import type { JobDocument } from '../readmodels/jobs.ts';
import type { LiveCollection } from '../readmodels/projection-state.ts';
import type { ResultDocument } from '../readmodels/results.ts';
import { type Caller, type RouteRequest, routeOf } from './route.ts';

export interface Services {
  config: Config;
  submitJob: SubmitJob;
  apiKeys: ApiKeys;
  blobs: Blobs;
  /** Waits until reads see the position; false when they do not within a bounded time. */
  passed(position: string): Promise<boolean>;
  now: () => number;
  read: {
    jobs: LiveCollection<JobDocument>;
    results: LiveCollection<ResultDocument>;
    balances: LiveCollection<BalanceDocument>;
    transactions: LiveCollection<TransactionDocument>;
    apiKeys: LiveCollection<ApiKeyDocument>;
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
