// Every route of the service: the one table.
import type { Route } from '../route.ts';
import type { Services } from '../services.ts';
import * as analysis from './analysis.ts';
import * as apiKeys from './api-keys.ts';
import * as credits from './credits.ts';
import * as domains from './domains.ts';
import * as exports from './exports.ts';
import * as jobEvents from './job-events.ts';
import * as jobLifecycle from './job-lifecycle.ts';
import * as jobStats from './job-stats.ts';
import * as jobs from './jobs.ts';
import * as shares from './shares.ts';
import * as v2Jobs from './v2-jobs.ts';
import * as v2Usage from './v2-usage.ts';
import * as webhooks from './webhooks.ts';

export const ALL_ROUTES: readonly Route<Services>[] = [
  ...[jobs.upload, jobs.list, jobs.get, jobs.results, jobEvents.events],
  ...[jobLifecycle.pause, jobLifecycle.resume, jobLifecycle.cancel, jobLifecycle.remove, jobLifecycle.removeMany],
  ...[jobStats.stats, jobStats.filterOptions, jobStats.urlList],
  ...[exports.exportFile, exports.download, exports.signedDownload],
  ...[shares.create, shares.list, shares.revoke, shares.view],
  ...[analysis.checkDomains, analysis.analyzeFile],
  ...[domains.listBlocked, domains.block, domains.unblock, domains.health, domains.breakdown],
  ...[credits.balance, credits.transactions],
  ...[apiKeys.create, apiKeys.list, apiKeys.revoke],
  ...[v2Jobs.create, v2Jobs.wait, v2Jobs.get, v2Jobs.results, v2Jobs.cancel, v2Usage.usage],
  ...[webhooks.create, webhooks.list, webhooks.get, webhooks.remove, webhooks.deliveries, webhooks.resend],
];
