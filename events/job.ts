// The streams `job-{jobId}` (what happened to a job) and `urls-{jobId}` (its URLs).

import { Counts } from './domain-checks.ts';
import { type DataOf, type EventsOf, event } from './event-spec.ts';
import { personal } from './personal.ts';
import { Nullable, type Static, Type } from './schema.ts';
import { withoutPassword } from './without-password.ts';

/** The longest name of a client's own for a URL. */
export const MAX_REF_CHARS = 200;

const Count = Type.Integer({ minimum: 0 });
const NullableText = Nullable(Type.String());

/** The statuses of a job, and whether the job has ended in each. Checkers check no URL of an ended job. */
const ENDED = { processing: false, paused: false, completed: true, cancelled: true, failed: true };
export type JobStatus = keyof typeof ENDED;
export const JOB_STATUSES = Object.keys(ENDED) as readonly JobStatus[];
export const hasEnded = (status: JobStatus): boolean => ENDED[status];

export const JOB_SOURCES = ['upload', 'api', 'rerun'] as const;
/** Why a job got fewer credits than it has URLs: the balance, or the limit that an administrator set. */
const CEILINGS = ['credit_ceiling', 'usage_limit'] as const;
export const PAUSE_REASONS = ['owner', ...CEILINGS] as const;
export const FAILURE_REASONS = ['no_progress', 'batch_undeliverable'] as const;

export type JobSource = (typeof JOB_SOURCES)[number];
export type Ceiling = (typeof CEILINGS)[number];
export type PauseReason = (typeof PAUSE_REASONS)[number];
export type FailureReason = (typeof FAILURE_REASONS)[number];

/** Where the rows and columns of an uploaded table are, so that the file can be read again as it was read first. */
const Table = Type.Object({
  format: Type.Enum(['csv', 'xlsx', 'ods'] as const),
  /** The delimiter of a text file; null when each line is one cell, and for a workbook. */
  delimiter: NullableText,
  /** The encoding of a text file, as TextDecoder names it; older events lack it, and the bytes tell. */
  encoding: Type.Optional(Type.String()),
  /** Whether quotes are those of cells, as in older events, or mere characters. */
  has_quotes: Type.Optional(Type.Boolean()),
  /** The number of the sheet in a workbook, or of the text file among the parts of a ZIP archive, from 0; null for any other text file. */
  sheet: Nullable(Count),
  /** The index of the column with the URLs, from 0. */
  column: Count,
  /** The row of the header, from 1; null without one. */
  header_row: Nullable(Type.Integer({ minimum: 1 })),
  /** Columns of the widest row. */
  width: Type.Integer({ minimum: 1 }),
});
export type JobTable = Static<typeof Table>;

/** What a webhook needs. Events of earlier versions lack these fields, and make no webhook. */
const subject = { owner_id: Type.Optional(Type.String()), total_urls: Type.Optional(Count) };

/** The most domains that a summary names: as many as `filter-options` lists. */
export const MAX_DOMAINS_SUMMARIZED = 1000;
const Milliseconds = Nullable(Count);

/** What is kept of the results of an ended job when they are removed: all that its statistics show. */
const Summary = Type.Object({
  checked_urls: Count,
  broken_urls: Count,
  soft_404_urls: Count,
  redirected_urls: Count,
  status_codes: Counts,
  verdicts: Counts,
  error_codes: Counts,
  /** The domains with the most URLs, in this order. */
  domains: Type.Array(Type.Object({ domain: Type.String(), count: Count, broken: Count }), {
    maxItems: MAX_DOMAINS_SUMMARIZED,
  }),
  domains_total: Count,
  response_times: Type.Object({
    count: Count,
    sum_ms: Count,
    min_ms: Milliseconds,
    max_ms: Milliseconds,
    percentiles: Type.Array(Type.Object({ percent: Count, ms: Milliseconds })),
    histogram: Type.Array(Type.Object({ below_ms: Count, count: Count })),
  }),
});
export type Summary = Static<typeof Summary>;

export const JOB_EVENTS = {
  JobCreated: event({
    job_id: Type.String(),
    owner_id: Type.String(),
    owner_email: personal(NullableText, 'user'),
    source: Type.Enum(JOB_SOURCES),
    total_urls: Type.Integer({ minimum: 1 }),
    /** Number of URLs in one `checks` stream; see `batchSize`. */
    batch_size: Type.Integer({ minimum: 1, maximum: 100 }),
    credits_allocated: Count,
    reservation_id: Type.String(),
    /** Absent for `credit_ceiling`. */
    ceiling: Type.Optional(Type.Enum(CEILINGS)),
    duplicates_removed: Count,
    invalid_urls_rejected: Count,
    blocked_urls_skipped: Count,
    filename: personal(NullableText, 'job'),
    /** Key of the uploaded file in the blob store; null for a job without a file. */
    blob_key: NullableText,
    /** The row of the first URL, from 1: of a file, or the place in a list. Older events lack it, and their `UrlsListed` lack `rows`. */
    first_row: Type.Optional(Type.Integer({ minimum: 1 })),
    /** The table that the file is. Lists, older events and files without rows and columns have none. */
    table: Type.Optional(Table),
    /** How the client wanted its list read, where not by default. */
    reading: Type.Optional(
      Type.Object({
        auto_add_prefix: Type.Optional(Type.Boolean()),
        skip_blocked: Type.Optional(Type.Boolean()),
        skip_invalid: Type.Optional(Type.Boolean()),
      }),
    ),
    /** The column and the sheet that the client named. */
    column: Type.Optional(personal(Type.String(), 'job')),
    /** The encoding that the client named. */
    encoding: Type.Optional(Type.String()),
    sheet: Type.Optional(personal(Type.String(), 'job')),
    /** The failed job that an administrator ran again. */
    rerun_of: Type.Optional(Type.String()),
    /** The client's own words for the job. */
    label: Type.Optional(personal(Type.String(), 'job')),
    /** The client's own facts about the job: the JSON of an object of texts. */
    metadata: Type.Optional(personal(Type.String(), 'job')),
    /** How the client wants the URLs asked for, where not as by default: the JSON of `JobOptions`. */
    options: Type.Optional(personal(Type.String(), 'job')),
  }),
  JobPaused: event({ reason: Type.Enum(PAUSE_REASONS), credits_allocated: Type.Optional(Count), ...subject }),
  JobResumed: event({
    credits_added: Count,
    credits_allocated: Count,
    reservation_id: NullableText,
    ceiling: Type.Optional(Type.Enum(CEILINGS)),
  }),
  JobCancelled: event(subject),
  /** Carries all that a webhook needs after the job's deletion. Only the oldest events lack the optional fields. */
  JobCompleted: event({
    completed_urls: Count,
    broken_urls: Type.Optional(Count),
    owner_id: Type.Optional(Type.String()),
    /** Absent from events of before the trials. */
    source: Type.Optional(Type.Enum(JOB_SOURCES)),
  }),
  JobFailed: event({ reason: Type.Enum(FAILURE_REASONS), ...subject }),
  /**
   * The results of an ended job are older than the service keeps results. From here on nobody reads them, and they are removed; the
   * read models take these counts, because the log may have the results no longer.
   */
  ResultsExpired: event({ completed_urls: Count, started_at: NullableText, summary: Summary }),
  /** The results, the listing and the file of an expired job are removed. */
  ResultsRemoved: event({}),
  /** The owner deleted the job. Its charges and refunds were settled before. */
  JobDeleted: event({}),
  /** The read models drop the results of a deleted or expired job from `from_index` (inclusive) to `to_index` (exclusive). */
  ResultsPurged: event({ from_index: Count, to_index: Count }),
  /** The purge has removed everything of a deleted job but this stream and the ledger's entries. */
  JobPurged: event({}),
  /** The sweeper voided a reservation that no job event used: the job's stream refuses such an event from now on. */
  ReservationVoided: event({ reservation_id: Type.String() }),
  /** The sweeper deleted the URL listing of a job that can no longer be created. */
  ListingDiscarded: event({}),
};

export const URLS_EVENTS = {
  UrlsListed: event(
    {
      job_id: Type.String(),
      /** Index in the job of the first of `urls`. */
      from_index: Count,
      urls: Type.Array(Type.String(), { minItems: 1, maxItems: 1000 }),
      /** The rows of the URLs, from 1, in the form of `foldRows`. */
      rows: Type.Optional(Type.Array(Type.Integer(), { minItems: 1, maxItems: 2000 })),
      /** The client's own name for each URL, null for none; absent where no URL has one. */
      refs: Type.Optional(
        Type.Array(Nullable(Type.String({ maxLength: MAX_REF_CHARS })), { minItems: 1, maxItems: 1000 }),
      ),
    },
    // The URLs of version 1 may have passwords.
    (v1) => ({ ...(v1 as { urls: string[] }), urls: (v1 as { urls: string[] }).urls.map(withoutPassword) }),
  ),
};

export type JobCreated = DataOf<typeof JOB_EVENTS.JobCreated>;
export type ResultsExpired = DataOf<typeof JOB_EVENTS.ResultsExpired>;
export type UrlsListed = DataOf<typeof URLS_EVENTS.UrlsListed>;

export type JobEvent = EventsOf<typeof JOB_EVENTS>;

export type UrlsEvent = EventsOf<typeof URLS_EVENTS>;

/**
 * URLs in a batch: 10 to 100, so that a job has about twenty batches or more. Every batch costs a stream of its own.
 * @example [60, 800, 1_000_000].map(batchSize) // [10, 40, 100]
 */
export function batchSize(total_urls: number): number {
  return Math.min(100, Math.max(10, Math.floor(total_urls / 20)));
}
