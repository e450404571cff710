// The streams `job-{jobId}` (what happened to a job) and `urls-{jobId}` (what it is made of).
import { type Static, Type } from 'typebox';
import { Nullable } from './nullable.ts';

const Count = Type.Integer({ minimum: 0 });
const NullableText = Nullable(Type.String());

export const JOB_SOURCES = ['upload', 'api', 'rerun'] as const;
export const PAUSE_REASONS = ['owner', 'credit_ceiling'] as const;
export const FAILURE_REASONS = ['no_progress', 'batch_undeliverable'] as const;

export type JobSource = (typeof JOB_SOURCES)[number];
export type PauseReason = (typeof PAUSE_REASONS)[number];
export type FailureReason = (typeof FAILURE_REASONS)[number];

export const JobCreated = Type.Object({
  job_id: Type.String(),
  owner_id: Type.String(),
  owner_email: NullableText,
  source: Type.Enum(JOB_SOURCES),
  total_urls: Type.Integer({ minimum: 1 }),
  /** How many URLs one `checks` stream holds; see `batchSize`. */
  batch_size: Type.Integer({ minimum: 1, maximum: 100 }),
  credits_allocated: Count,
  reservation_id: Type.String(),
  duplicates_removed: Count,
  invalid_urls_rejected: Count,
  blocked_urls_skipped: Count,
  filename: NullableText,
  /** Where the uploaded file is kept; null when there was none. */
  blob_key: NullableText,
});
export const JobPaused = Type.Object({ reason: Type.Enum(PAUSE_REASONS) });
export const JobResumed = Type.Object({
  credits_added: Count,
  credits_allocated: Count,
  reservation_id: NullableText,
});
export const JobCancelled = Type.Object({});
/** Whole enough to tell others of it when the job is gone. Only the oldest are without the last two. */
export const JobCompleted = Type.Object({
  completed_urls: Count,
  broken_urls: Type.Optional(Count),
  owner_id: Type.Optional(Type.String()),
});
export const JobFailed = Type.Object({ reason: Type.Enum(FAILURE_REASONS) });
/** What it was charged and given back is settled by now. */
export const JobDeleted = Type.Object({});
/** Of a deleted job: the read models drop the results from `from_index` up to and without `to_index`. */
export const ResultsPurged = Type.Object({ from_index: Count, to_index: Count });
/** Nothing is left of a deleted job but this stream and the ledger's entries. */
export const JobPurged = Type.Object({});
/** The job event that should have used the reservation never came, and from here on it cannot come. */
export const ReservationVoided = Type.Object({ reservation_id: Type.String() });

/** The listing of a job that can no longer be created has been deleted. */
export const ListingDiscarded = Type.Object({});

export const UrlsListed = Type.Object({
  job_id: Type.String(),
  /** Of the first of `urls` in the job. */
  from_index: Count,
  urls: Type.Array(Type.String(), { minItems: 1, maxItems: 1000 }),
});

export type JobCreated = Static<typeof JobCreated>;
export type JobCompleted = Static<typeof JobCompleted>;
export type ResultsPurged = Static<typeof ResultsPurged>;
export type UrlsListed = Static<typeof UrlsListed>;

export type JobEvent =
  | { type: 'JobCreated'; data: JobCreated }
  | { type: 'JobPaused'; data: Static<typeof JobPaused> }
  | { type: 'JobResumed'; data: Static<typeof JobResumed> }
  | { type: 'JobCancelled'; data: Static<typeof JobCancelled> }
  | { type: 'JobCompleted'; data: JobCompleted }
  | { type: 'JobFailed'; data: Static<typeof JobFailed> }
  | { type: 'JobDeleted'; data: Static<typeof JobDeleted> }
  | { type: 'ResultsPurged'; data: ResultsPurged }
  | { type: 'JobPurged'; data: Static<typeof JobPurged> }
  | { type: 'ReservationVoided'; data: Static<typeof ReservationVoided> }
  | { type: 'ListingDiscarded'; data: Static<typeof ListingDiscarded> };

export type UrlsEvent = { type: 'UrlsListed'; data: UrlsListed };

/** A job is checked in about twenty batches or more, of 10 to 100 URLs each: every batch is a stream, and costs as one. */
export function batchSize(total_urls: number): number {
  return Math.min(100, Math.max(10, Math.floor(total_urls / 20)));
}
