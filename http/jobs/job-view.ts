// The view of a job in both APIs.
import { FAILURE_REASONS, JOB_SOURCES, JOB_STATUSES, type JobCreated, PAUSE_REASONS } from '../../events/job.ts';
import { readSealedJson, ShownOptions } from '../../events/job-options.ts';
import { Nullable, type Static, Type } from '../../events/schema.ts';
import { isTestUser } from '../../events/test-user.ts';
import type { JobDocument } from '../../readmodels/jobs/jobs.ts';
import type { Reply } from '../frame/route.ts';
import { Count, pick, Time } from '../frame/schemas.ts';
import type { InFlight } from './in-flight.ts';

export const MAX_LABEL_CHARS = 100;
const [MAX_ENTRIES, MAX_NAME_CHARS, MAX_VALUE_CHARS] = [50, 40, 500];

/** A client's own facts about a job. */
export const Metadata = Type.Record(
  Type.String({ pattern: `^[A-Za-z0-9_.-]{1,${MAX_NAME_CHARS}}$` }),
  Type.String({ maxLength: MAX_VALUE_CHARS }),
  {
    additionalProperties: false,
    maxProperties: MAX_ENTRIES,
    description: 'Your own facts about the job, texts by name, which answers repeat and nothing else reads.',
  },
);

export const JobView = Type.Object(
  {
    job_id: Type.String({
      minLength: 1,
      maxLength: 100,
      description: 'Names the job in paths. It is random, and no public list shows it.',
    }),
    status: Type.Enum(JOB_STATUSES, { $id: 'JobStatus', description: 'The last three are final.' }),
    total_urls: Count('URLs in the job.'),
    completed_urls: Count('URLs checked so far.'),
    test: Type.Boolean({ description: 'Whether a test key made the job, which then costs nothing.' }),
    credits_allocated: Count('Credits reserved for the job.'),
    credits_refunded: Count('Credits given back.'),
    duplicates_removed: Count('URLs left out because they came before in the list.'),
    invalid_urls_rejected: Count('URLs left out because they are not valid.'),
    blocked_urls_skipped: Count('URLs left out because their domain is on the blocklist.'),
    pause_reason: Nullable(
      Type.Enum(PAUSE_REASONS, {
        $id: 'PauseReason',
        description:
          'Why the job is paused. `credit_ceiling`: it waits for credits. `usage_limit`: the limit of your account is used up.',
      }),
    ),
    failure_reason: Nullable(Type.Enum(FAILURE_REASONS, { $id: 'FailureReason', description: 'Why the job failed.' })),
    created_at: Time('When the service accepted the job.'),
    started_at: Nullable(Time('When the service recorded the first results.')),
    completed_at: Nullable(Time('When the job ended.')),
    results_expired_at: Nullable(
      Time('When the service removed the results, because the job had ended long ago. The statistics stay.'),
    ),
    source: Type.Enum(JOB_SOURCES, { $id: 'JobSource', description: 'Where the URLs came from.' }),
    filename: Nullable(Type.String({ description: 'The name of the uploaded file; null without one.' })),
    label: Nullable(Type.String({ description: 'Your own words for the job; null without any.' })),
    metadata: Nullable(Metadata),
    options: Nullable(ShownOptions),
  },
  { $id: 'Job' },
);
export type JobView = Static<typeof JobView>;

export const jobExample: JobView = {
  job_id: '2f1c9f2e-5d0c-4b7b-9a43-0c5c5f4b7d11',
  status: 'processing',
  total_urls: 1000,
  completed_urls: 420,
  test: false,
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
  results_expired_at: null,
  source: 'upload',
  filename: 'urls.csv',
  label: null,
  metadata: null,
  options: null,
};

/** Fields that the submission fixes. */
const SUBMITTED = [
  ...(['total_urls', 'credits_allocated', 'duplicates_removed', 'invalid_urls_rejected'] as const),
  ...(['blocked_urls_skipped', 'source', 'filename'] as const),
] as const;
/** The fields that the document has as they are shown, in the order of the JSON. */
const SHOWN = [
  ...(['status', 'total_urls', 'completed_urls', 'credits_allocated', 'credits_refunded'] as const),
  ...(['duplicates_removed', 'invalid_urls_rejected', 'blocked_urls_skipped'] as const),
  ...(['pause_reason', 'failure_reason', 'created_at', 'started_at', 'completed_at', 'source', 'filename'] as const),
] as const;

/** A job of test keys has cost nothing. */
const ofTest = ({ owner_id, credits_allocated }: Pick<JobDocument, 'owner_id' | 'credits_allocated'>) =>
  isTestUser(owner_id) ? { test: true, credits_allocated: 0 } : { test: false, credits_allocated };

export const jobView = (job: JobDocument): JobView => ({
  ...{ job_id: job._id, ...pick(job, SHOWN) },
  ...ofTest(job),
  results_expired_at: job.results_expired_at ?? null,
  ...describedView(job),
});

type Described = Pick<JobView, 'label' | 'metadata' | 'options'>;

/** What the client said of the job: `metadata` and `options` are JSON, where there are any. */
export const describedView = ({
  label,
  metadata,
  options,
}: Pick<JobDocument, 'label' | 'metadata' | 'options'>): Described => ({
  label: label ?? null,
  metadata: (readSealedJson(metadata) as Described['metadata']) ?? null,
  options: (readSealedJson(options) as Described['options']) ?? null,
});

/** A job and what is known of its work now. */
export const JobStatusView = Type.Object(
  {
    ...JobView.properties,
    urls_in_flight: Nullable(
      Count(
        'URLs that were handed out to be checked and have no results yet, as of about a second ago. Null while no process hands out work.',
      ),
    ),
  },
  { $id: 'JobWithWork' },
);
export type JobStatusView = Static<typeof JobStatusView>;
export const jobStatusExample: JobStatusView = { ...jobExample, urls_in_flight: 400 };

export const jobStatusView = (job: JobDocument, inFlight: InFlight): JobStatusView => ({
  ...jobView(job),
  urls_in_flight: inFlight(job),
});

export function jobStatusReply(job: JobDocument, inFlight: InFlight): Reply {
  const body = jobStatusView(job, inFlight);
  return { body, unchanged: () => inFlight(job) === body.urls_in_flight };
}

/** The view of a job that was created just now and may not be in the read model yet, without what its client said of it. `now`: Unix milliseconds. */
export function newJobView(job: JobCreated, now: number): JobView {
  const paused = job.credits_allocated === 0;
  return {
    ...pick(job, ['job_id', ...SUBMITTED]),
    ...ofTest(job),
    status: paused ? 'paused' : 'processing',
    pause_reason: paused ? (job.ceiling ?? 'credit_ceiling') : null,
    ...{ completed_urls: 0, credits_refunded: 0, failure_reason: null },
    ...{ created_at: new Date(now).toISOString(), started_at: null, completed_at: null, results_expired_at: null },
    ...{ label: null, metadata: null, options: null },
  };
}
