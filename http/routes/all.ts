// Every route of the service: the one table.
import type { Route } from '../route.ts';
import type { Services } from '../services.ts';
import * as apiKeys from './api-keys.ts';
import * as credits from './credits.ts';
import * as jobs from './jobs.ts';
import * as v2Jobs from './v2-jobs.ts';

export const ALL_ROUTES: readonly Route<Services>[] = [
  ...[jobs.upload, jobs.list, jobs.get, jobs.results],
  ...[credits.balance, credits.transactions],
  ...[apiKeys.create, apiKeys.list, apiKeys.revoke],
  ...[v2Jobs.create, v2Jobs.get, v2Jobs.results],
];
