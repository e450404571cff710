// The list of route groups, in the order of the documents.

import * as adminPaymentIssues from './billing/admin-payment-issues.ts';
import * as billing from './billing/billing.ts';
import * as credits from './billing/credits.ts';
import * as myPayments from './billing/my-payments.ts';
import * as paymentWebhook from './billing/payment-webhook.ts';
import * as sandbox from './billing/sandbox.ts';
import * as sandboxPortal from './billing/sandbox-portal.ts';
import * as subscriptions from './billing/subscriptions.ts';
import * as consolePages from './console/console.ts';
import * as consoleProvider from './console/console-provider.ts';
import * as consoleSession from './console/console-session.ts';
import * as forRobots from './docs/for-robots.ts';
import * as domains from './domains/domains.ts';
import type { Route } from './frame/route.ts';
import type { Group } from './group.ts';
import * as adminGrowth from './growth/admin-growth.ts';
import * as growthNotes from './growth/growth-notes.ts';
import * as publicStats from './growth/public-stats.ts';
import * as reportedEvents from './growth/reported-events.ts';
import * as adminJobList from './jobs/admin-job-list.ts';
import * as adminJobs from './jobs/admin-jobs.ts';
import * as analysis from './jobs/analysis.ts';
import * as jobEvents from './jobs/job-events.ts';
import * as jobLifecycle from './jobs/job-lifecycle.ts';
import * as jobs from './jobs/jobs.ts';
import * as rejected from './jobs/rejected.ts';
import * as v2Jobs from './jobs/v2-jobs.ts';
import * as ledgerHeads from './ledger/heads.ts';
import * as mcp from './mcp/mcp.ts';
import * as adminBackups from './operations/admin-backups.ts';
import * as adminMails from './operations/admin-mails.ts';
import * as adminMaintenance from './operations/admin-maintenance.ts';
import * as adminProjections from './operations/admin-projections.ts';
import * as adminServices from './operations/admin-services.ts';
import * as proxies from './operations/proxies.ts';
import * as workerLogs from './operations/worker-logs.ts';
import * as exports from './results/exports.ts';
import * as files from './results/files.ts';
import * as jobChanges from './results/job-changes.ts';
import * as jobStats from './results/job-stats.ts';
import * as v2Results from './results/v2-results.ts';
import * as shares from './shares/shares.ts';
import * as adminAuditTrail from './users/admin-audit-trail.ts';
import * as adminUserChanges from './users/admin-user-changes.ts';
import * as adminUsers from './users/admin-users.ts';
import * as apiKeys from './users/api-keys.ts';
import * as creditMails from './users/credit-mails.ts';
import * as identityWebhook from './users/identity-webhook.ts';
import * as me from './users/me.ts';
import * as myExport from './users/my-export.ts';
import * as sessions from './users/sessions.ts';
import * as v2Usage from './users/v2-usage.ts';
import * as webhookDeliveries from './webhooks/webhook-deliveries.ts';
import * as webhooks from './webhooks/webhooks.ts';

export const ALL_GROUPS: readonly Group[] = [
  forRobots.group,
  ...[jobs.group, jobEvents.group, jobLifecycle.group, jobStats.group, jobChanges.group, exports.group, shares.group],
  ...[files.group, rejected.group],
  ...[
    analysis.group,
    domains.group,
    me.group,
    creditMails.group,
    myExport.group,
    credits.group,
    ledgerHeads.group,
    apiKeys.group,
    sessions.group,
  ],
  ...[
    billing.group,
    myPayments.group,
    subscriptions.group,
    adminMails.group,
    adminPaymentIssues.group,
    paymentWebhook.group,
    sandbox.group,
    sandboxPortal.group,
  ],
  ...[
    adminUsers.group,
    adminUserChanges.group,
    adminAuditTrail.group,
    adminJobs.group,
    adminJobList.group,
    adminMaintenance.group,
    adminBackups.group,
    adminServices.group,
    adminProjections.group,
    workerLogs.group,
    proxies.group,
  ],
  ...[reportedEvents.group, identityWebhook.group],
  ...[adminGrowth.group, growthNotes.group, publicStats.group],
  ...[consolePages.group, consoleSession.group, consoleProvider.group],
  ...[v2Jobs.group, v2Results.group, v2Usage.group, webhooks.group, webhookDeliveries.group],
  mcp.group,
];

/** All routes, for documents and tests. Their handlers have no dependencies bound. */
export const ALL_ROUTES: readonly Route<never>[] = ALL_GROUPS.flatMap(({ routes }) => routes);
