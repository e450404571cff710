// Every projection of the service, and who follows the log for it.
import { type WorkerLogSettings, workerLogLimits } from '../readmodels/operations/worker-log.ts';
import { creditNoticesProjection } from './billing/credit-notices.ts';
import { creditsProjection } from './billing/credits.ts';
import { ledgerTreeProjection } from './billing/ledger-tree.ts';
import { paymentIssuesProjection } from './billing/payment-issues.ts';
import { paymentsProjection } from './billing/payments.ts';
import { subscriptionsProjection } from './billing/subscriptions.ts';
import { blockedDomainsProjection } from './blocked-domains.ts';
import { domainHealthProjection } from './domain-health.ts';
import { growthProjection } from './growth/growth.ts';
import { growthNotesProjection } from './growth/growth-notes.ts';
import { paywallProjection } from './growth/paywall.ts';
import { reportedEventsProjection } from './growth/reported-events.ts';
import { revenueProjection } from './growth/revenue.ts';
import { jobsProjection } from './jobs/jobs.ts';
import { pendingProjection } from './jobs/pending.ts';
import { mailsProjection } from './mails.ts';
import { backupsProjection } from './operations/backups.ts';
import { proxiesProjection } from './operations/proxies.ts';
import { workerLogProjection } from './operations/worker-log.ts';
import type { Projection } from './projection.ts';
import type { FollowerOptions } from './projector/projector.ts';
import { sharesProjection } from './shares.ts';
import { apiKeysProjection } from './users/api-keys.ts';
import { auditTrailProjection } from './users/audit-trail.ts';
import { erasuresProjection } from './users/erasures.ts';
import { sessionsProjection } from './users/sessions.ts';
import { userListProjection } from './users/user-list.ts';
import { usersProjection } from './users/users.ts';
import { webhooksProjection } from './webhooks.ts';

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
  reportedEventsProjection,
  growthProjection,
  paywallProjection,
  revenueProjection,
  growthNotesProjection,
  userListProjection,
  auditTrailProjection,
  proxiesProjection,
  backupsProjection,
  ledgerTreeProjection,
  sessionsProjection,
  paymentIssuesProjection,
  paymentsProjection,
  creditNoticesProjection,
];

/** Many small transactions cost more than a few large ones, and nobody waits for an entry of the worker log. */
const WORKER_LOG_SPACING_MS = 250;

export function openWorkerLogFollower(settings: WorkerLogSettings) {
  const follower: FollowerOptions = { name: 'worker_log', spacing_ms: WORKER_LOG_SPACING_MS };
  return { follower, projections: [workerLogProjection(workerLogLimits(settings))] };
}
