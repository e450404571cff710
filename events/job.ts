// The streams `job-{jobId}` (what happened to a job) and `urls-{jobId}` (what it is made of).
import { Type } from 'typebox';
import { type DataOf, type EventsOf, event } from './event-spec.ts';
import { Nullable } from './nullable.ts';

const Count = Type.Integer({ minimum: 0 });
const NullableText = Nullable(Type.String());

/** Where a job can stand, and whether it has ended there: nothing more of it is checked. */
const ENDED = { processing: false, paused: false, completed: true, cancelled: true, failed: true };
export type JobStatus = keyof typeof ENDED;
export const JOB_STATUSES = Object.keys(ENDED) as readonly JobStatus[];
export const hasEnded = (status: JobStatus): boolean => ENDED[status];

export const JOB_SOURCES = ['upload', 'api', 'rerun'] as const;
export const PAUSE_REASONS = ['owner', 'credit_ceiling'] as const;
export const FAILURE_REASONS = ['no_progress', 'batch_undeliverable'] as const;

export type JobSource = (typeof JOB_SOURCES)[number];
export type PauseReason = (typeof PAUSE_REASONS)[number];
export type FailureReason = (typeof FAILURE_REASONS)[number];

export const JOB_EVENTS = {
  JobCreated: event({
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
  }),
  JobPaused: event({ reason: Type.Enum(PAUSE_REASONS) }),
  JobResumed: event({
    credits_added: Count,
    credits_allocated: Count,
    reservation_id: NullableText,
  }),
  JobCancelled: event({}),
  /** Whole enough to tell others of it when the job is gone. Only the oldest are without the last two. */
  JobCompleted: event({
    completed_urls: Count,
    broken_urls: Type.Optional(Count),
    owner_id: Type.Optional(Type.String()),
  }),
  JobFailed: event({ reason: Type.Enum(FAILURE_REASONS) }),
  /** What it was charged and given back is settled by now. */
  JobDeleted: event({}),
  /** Of a deleted job: the read models drop the results from `from_index` up to and without `to_index`. */
  ResultsPurged: event({ from_index: Count, to_index: Count }),
  /** Nothing is left of a deleted job but this stream and the ledger's entries. */
  JobPurged: event({}),
  /** The job event that should have used the reservation never came, and from here on it cannot come. */
  ReservationVoided: event({ reservation_id: Type.String() }),
  /** The listing of a job that can no longer be created has been deleted. */
  ListingDiscarded: event({}),
};

export const URLS_EVENTS = {
  UrlsListed: event({
    job_id: Type.String(),
    /** Of the first of `urls` in the job. */
    from_index: Count,
    urls: Type.Array(Type.String(), { minItems: 1, maxItems: 1000 }),
  }),
};

export type JobCreated = DataOf<typeof JOB_EVENTS.JobCreated>;
export type JobCompleted = DataOf<typeof JOB_EVENTS.JobCompleted>;
export type ResultsPurged = DataOf<typeof JOB_EVENTS.ResultsPurged>;
export type UrlsListed = DataOf<typeof URLS_EVENTS.UrlsListed>;

export type JobEvent = EventsOf<typeof JOB_EVENTS>;

export type UrlsEvent = EventsOf<typeof URLS_EVENTS>;

/** A job is checked in about twenty batches or more, of 10 to 100 URLs each: every batch is a stream, and costs as one. */
export function batchSize(total_urls: number): number {
  return Math.min(100, Math.max(10, Math.floor(total_urls / 20)));
}
