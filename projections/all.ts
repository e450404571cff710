// Every projection of the service.
import { apiKeysProjection } from './api-keys.ts';
import { blockedDomainsProjection } from './blocked-domains.ts';
import { creditsProjection } from './credits.ts';
import { domainHealthProjection } from './domain-health.ts';
import { erasuresProjection } from './erasures.ts';
import { intakeProjection } from './intake.ts';
import { jobsProjection } from './jobs.ts';
import { mailsProjection } from './mails.ts';
import { pendingProjection } from './pending.ts';
import type { Projection } from './projection.ts';
import { sharesProjection } from './shares.ts';
import { subscriptionsProjection } from './subscriptions.ts';
import { usersProjection } from './users.ts';
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
  intakeProjection,
];
