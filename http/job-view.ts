// How clients see a job, in both APIs.

import { FAILURE_REASONS, JOB_SOURCES, JOB_STATUSES, type JobCreated, PAUSE_REASONS } from '../events/job.ts';
import { Nullable } from '../events/nullable.ts';
import { type Static, Type } from '../events/schema.ts';
import type { JobDocument } from '../readmodels/jobs.ts';
import { Count, pick, Time } from './schemas.ts';

export const JobView = Type.Object(
  {
    job_id: Type.String({ description: 'Names it in paths; random, and listed nowhere.' }),
    status: Type.Enum(JOB_STATUSES, { description: 'The last three are final.' }),
    total_urls: Count('URLs in the job.'),
    completed_urls: Count('URLs checked so far.'),
    credits_allocated: Count('Credits reserved for the job.'),
    credits_refunded: Count('Credits given back.'),
    duplicates_removed: Count('URLs that were there before.'),
    invalid_urls_rejected: Count('URLs that cannot be checked.'),
    blocked_urls_skipped: Count('URLs of domains on the blocklist.'),
    pause_reason: Nullable(
      Type.Enum(PAUSE_REASONS, { description: 'Of a paused job. `credit_ceiling`: it waits for credits.' }),
    ),
    failure_reason: Nullable(Type.Enum(FAILURE_REASONS, { description: 'Of a failed job.' })),
    created_at: Time('When it was submitted.'),
    started_at: Nullable(Time('When its first URL was checked.')),
    completed_at: Nullable(Time('When it ended.')),
    source: Type.Enum(JOB_SOURCES, { description: 'How it came.' }),
  },
  { $id: 'Job' },
);
export type JobView = Static<typeof JobView>;

export const jobExample: JobView = {
  job_id: '2f1c9f2e-5d0c-4b7b-9a43-0c5c5f4b7d11',
  status: 'processing',
  total_urls: 1000,
  completed_urls: 420,
  credits_allocated: 1000,
  credits_refunded: 0,
  duplicates_removed: 12,
  invalid_urls_rejected: 3,
  blocked_urls_skipped: 0,
  pause_reason: null,
  failure_reason: null,
  created_at: '2026-01-31T09:00:00.000Z',
  started_at: '2026-01-31T09:00:00.200Z',
  completed_at: null,
  source: 'upload',
};

/** Of the job as it was submitted. */
const SUBMITTED = [
  ...(['total_urls', 'credits_allocated', 'duplicates_removed', 'invalid_urls_rejected'] as const),
  ...(['blocked_urls_skipped', 'source'] as const),
] as const;
/** In the order in which clients read them. */
const SHOWN = [
  ...(['status', 'total_urls', 'completed_urls', 'credits_allocated', 'credits_refunded'] as const),
  ...(['duplicates_removed', 'invalid_urls_rejected', 'blocked_urls_skipped'] as const),
  ...(['pause_reason', 'failure_reason', 'created_at', 'started_at', 'completed_at', 'source'] as const),
] as const;

export const jobView = (job: JobDocument): JobView => ({ job_id: job._id, ...pick(job, SHOWN) });

/** A job as it is when it has just been made: the read model need not have seen it yet. */
export function newJobView(job: JobCreated, now: number): JobView {
  const paused = job.credits_allocated === 0;
  return {
    ...pick(job, ['job_id', ...SUBMITTED]),
    status: paused ? 'paused' : 'processing',
    pause_reason: paused ? 'credit_ceiling' : null,
    ...{ completed_urls: 0, credits_refunded: 0, failure_reason: null },
    ...{ created_at: new Date(now).toISOString(), started_at: null, completed_at: null },
  };
}
