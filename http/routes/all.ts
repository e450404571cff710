// The list of route groups, in the order of the documents.
import type { Group } from '../group.ts';
import type { Route } from '../route.ts';
import * as adminAuditTrail from './admin-audit-trail.ts';
import * as adminBackups from './admin-backups.ts';
import * as adminGrowth from './admin-growth.ts';
import * as adminJobList from './admin-job-list.ts';
import * as adminJobs from './admin-jobs.ts';
import * as adminMails from './admin-mails.ts';
import * as adminMaintenance from './admin-maintenance.ts';
import * as adminPaymentIssues from './admin-payment-issues.ts';
import * as adminProjections from './admin-projections.ts';
import * as adminServices from './admin-services.ts';
import * as adminUserChanges from './admin-user-changes.ts';
import * as adminUsers from './admin-users.ts';
import * as analysis from './analysis.ts';
import * as apiKeys from './api-keys.ts';
import * as audit from './audit.ts';
import * as billing from './billing.ts';
import * as consolePages from './console.ts';
import * as consoleProvider from './console-provider.ts';
import * as consoleSession from './console-session.ts';
import * as credits from './credits.ts';
import * as domains from './domains.ts';
import * as exports from './exports.ts';
import * as files from './files.ts';
import * as forRobots from './for-robots.ts';
import * as growthNotes from './growth-notes.ts';
import * as identityWebhook from './identity-webhook.ts';
import * as intake from './intake.ts';
import * as jobChanges from './job-changes.ts';
import * as jobEvents from './job-events.ts';
import * as jobLifecycle from './job-lifecycle.ts';
import * as jobStats from './job-stats.ts';
import * as jobs from './jobs.ts';
import * as mcp from './mcp.ts';
import * as me from './me.ts';
import * as myExport from './my-export.ts';
import * as myPayments from './my-payments.ts';
import * as paymentWebhook from './payment-webhook.ts';
import * as proxies from './proxies.ts';
import * as publicStats from './public-stats.ts';
import * as rejected from './rejected.ts';
import * as sandbox from './sandbox.ts';
import * as sandboxPortal from './sandbox-portal.ts';
import * as sessions from './sessions.ts';
import * as shares from './shares.ts';
import * as subscriptions from './subscriptions.ts';
import * as v2Jobs from './v2-jobs.ts';
import * as v2Results from './v2-results.ts';
import * as v2Usage from './v2-usage.ts';
import * as webhookDeliveries from './webhook-deliveries.ts';
import * as webhooks from './webhooks.ts';
import * as workerLogs from './worker-logs.ts';

export const ALL_GROUPS: readonly Group[] = [
  forRobots.group,
  ...[jobs.group, jobEvents.group, jobLifecycle.group, jobStats.group, jobChanges.group, exports.group, shares.group],
  ...[files.group, rejected.group],
  ...[
    analysis.group,
    domains.group,
    me.group,
    myExport.group,
    credits.group,
    audit.group,
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
  ...[intake.group, identityWebhook.group],
  ...[adminGrowth.group, growthNotes.group, publicStats.group],
  ...[consolePages.group, consoleSession.group, consoleProvider.group],
  ...[v2Jobs.group, v2Results.group, v2Usage.group, webhooks.group, webhookDeliveries.group],
  mcp.group,
];

/** All routes, for documents and tests. Their handlers have no dependencies bound. */
export const ALL_ROUTES: readonly Route<never>[] = ALL_GROUPS.flatMap(({ routes }) => routes);
