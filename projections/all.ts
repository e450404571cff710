// Every projection of the service, and who follows the log for it.
import { type WorkerLogSettings, workerLogLimits } from '../readmodels/worker-log.ts';
import { apiKeysProjection } from './api-keys.ts';
import { auditProjection } from './audit.ts';
import { backupsProjection } from './backups.ts';
import { blockedDomainsProjection } from './blocked-domains.ts';
import { creditsProjection } from './credits.ts';
import { domainHealthProjection } from './domain-health.ts';
import { erasuresProjection } from './erasures.ts';
import { growthProjection } from './growth.ts';
import { growthNotesProjection } from './growth-notes.ts';
import { intakeProjection } from './intake.ts';
import { jobsProjection } from './jobs.ts';
import { ledgerTreeProjection } from './ledger-tree.ts';
import { mailsProjection } from './mails.ts';
import { paymentIssuesProjection } from './payment-issues.ts';
import { paymentsProjection } from './payments.ts';
import { paywallProjection } from './paywall.ts';
import { pendingProjection } from './pending.ts';
import type { Projection } from './projection.ts';
import type { FollowerOptions } from './projector.ts';
import { proxiesProjection } from './proxies.ts';
import { revenueProjection } from './revenue.ts';
import { sessionsProjection } from './sessions.ts';
import { sharesProjection } from './shares.ts';
import { subscriptionsProjection } from './subscriptions.ts';
import { userListProjection } from './user-list.ts';
import { usersProjection } from './users.ts';
import { webhooksProjection } from './webhooks.ts';
import { workerLogProjection } from './worker-log.ts';

export const ALL_PROJECTIONS: readonly Projection[] = [
  jobsProjection,
  creditsProjection,
  apiKeysProjection,
  pendingProjection,
  blockedDomainsProjection,
  domainHealthProjection,
  sharesProjection,
  webhooksProjection,
  erasuresProjection,
  subscriptionsProjection,
  mailsProjection,
  usersProjection,
  intakeProjection,
  growthProjection,
  paywallProjection,
  revenueProjection,
  growthNotesProjection,
  userListProjection,
  auditProjection,
  proxiesProjection,
  backupsProjection,
  ledgerTreeProjection,
  sessionsProjection,
  paymentIssuesProjection,
  paymentsProjection,
];

/** Many small transactions cost more than a few large ones, and nobody waits for an entry of the worker log. */
const WORKER_LOG_SPACING_MS = 250;

/** The follower that makes the worker log. */
export function openWorkerLogFollower(settings: WorkerLogSettings) {
  const follower: FollowerOptions = { name: 'worker_log', spacing_ms: WORKER_LOG_SPACING_MS };
  return { follower, projections: [workerLogProjection(workerLogLimits(settings))] };
}
