// Every projection of the service.
import { apiKeysProjection } from './api-keys.ts';
import { creditsProjection } from './credits.ts';
import { jobsProjection } from './jobs.ts';
import { pendingProjection } from './pending.ts';
import type { Projection } from './projection.ts';

export const ALL_PROJECTIONS: readonly Projection[] = [
  jobsProjection,
  creditsProjection,
  apiKeysProjection,
  pendingProjection,
];
