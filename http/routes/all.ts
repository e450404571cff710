// The list of route groups, in the order of the documents.
import type { Group } from '../group.ts';
import type { Route } from '../route.ts';
import * as analysis from './analysis.ts';
import * as apiKeys from './api-keys.ts';
import * as billing from './billing.ts';
import * as credits from './credits.ts';
import * as domains from './domains.ts';
import * as exports from './exports.ts';
import * as identityWebhook from './identity-webhook.ts';
import * as intake from './intake.ts';
import * as jobEvents from './job-events.ts';
import * as jobLifecycle from './job-lifecycle.ts';
import * as jobStats from './job-stats.ts';
import * as jobs from './jobs.ts';
import * as me from './me.ts';
import * as myExport from './my-export.ts';
import * as paymentWebhook from './payment-webhook.ts';
import * as rejected from './rejected.ts';
import * as sandbox from './sandbox.ts';
import * as sandboxPortal from './sandbox-portal.ts';
import * as shares from './shares.ts';
import * as v2Jobs from './v2-jobs.ts';
import * as v2Results from './v2-results.ts';
import * as v2Usage from './v2-usage.ts';
import * as webhookDeliveries from './webhook-deliveries.ts';
import * as webhooks from './webhooks.ts';

export const ALL_GROUPS: readonly Group[] = [
  ...[jobs.group, jobEvents.group, jobLifecycle.group, jobStats.group, exports.group, shares.group],
  rejected.group,
  ...[analysis.group, domains.group, me.group, myExport.group, credits.group, apiKeys.group],
  ...[billing.group, paymentWebhook.group, sandbox.group, sandboxPortal.group],
  ...[intake.group, identityWebhook.group],
  ...[v2Jobs.group, v2Results.group, v2Usage.group, webhooks.group, webhookDeliveries.group],
];

/** All routes, for documents and tests. Their handlers have no dependencies bound. */
export const ALL_ROUTES: readonly Route<never>[] = ALL_GROUPS.flatMap(({ routes }) => routes);
