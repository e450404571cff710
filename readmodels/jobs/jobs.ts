// The read model of jobs: one document for each job, with its progress.
import type { Position } from '../../events/event-store.ts';
import {
  type FailureReason,
  hasEnded,
  type JobSource,
  type JobStatus,
  type JobTable,
  type PauseReason,
} from '../../events/job.ts';
import { type Document, kept, type ReadModelSpec } from '../documents.ts';
import { type Done, leading } from './batch-progress.ts';

export interface JobDocument extends Document {
  owner_id: string;
  owner_email: string | null;
  status: JobStatus;
  total_urls: number;
  completed_urls: number;
  credits_allocated: number;
  credits_refunded: number;
  duplicates_removed: number;
  invalid_urls_rejected: number;
  blocked_urls_skipped: number;
  pause_reason: PauseReason | null;
  failure_reason: FailureReason | null;
  /** ISO 8601. */
  created_at: string;
  started_at: string | null;
  completed_at: string | null;
  source: JobSource;
  filename: string | null;
  blob_key: string | null;
  label?: string;
  /** The JSON of an object of texts. */
  metadata?: string;
  /** The JSON of the job's options, without the values of headers. */
  options?: string;
  /** The row of the first URL in the list, from 1; missing where the log has no rows. */
  first_row?: number;
  /** The table that the file is; missing for other lists. */
  table?: JobTable;
  batch_size: number;
  /** Every batch before this one is completely checked. */
  batches_done_before: number;
  /** From `batches_done_before` on: the URLs checked, by batch. */
  batches_done: { [batch: string]: Done };
  /** The revision of the job's last event. Work published under an older revision is void. */
  revision: number;
  /** The position of the last event that changed this document. A reader that follows changes continues after it. */
  position: Position;
  /** When the service stopped keeping the job's results; null while it keeps them. Missing in documents of an earlier version. */
  results_expired_at?: string | null;
  /** The results below this index are removed from the read models. Missing in documents of an earlier version. */
  purged_to?: number;
  /** When the job ended, from the last step that the processes owed it until its results expire; null otherwise. */
  results_kept_since?: string | null;
  /** Whether the log has the job's results counted by domain. */
  domains_recorded: boolean;
  /** The next step that the processes owe the job; null for none. */
  due: 'completion' | 'ceiling' | 'settlement' | 'domains' | null;
}

export const jobs: ReadModelSpec<JobDocument> = {
  name: 'jobs',
  ...kept('1.2 kB a job', 'when the job is deleted; all but a summary when its results expire', 'in_file'),
  fields: {
    owner_id: 'string',
    owner_email: 'string',
    status: 'string',
    created_at: 'string',
    label: 'string',
    failure_reason: 'string',
    due: 'string',
    results_kept_since: 'string',
    position: 'string',
  },
  indexes: [
    { fields: { owner_id: 1, created_at: -1 } },
    { fields: { owner_id: 1, status: 1, created_at: -1 } },
    { fields: { owner_id: 1, label: 1, created_at: -1 } },
    { fields: { owner_email: 1, created_at: -1 } },
    { fields: { status: 1, created_at: 1 } },
    { fields: { created_at: -1 } },
    { fields: { due: 1 } },
    { fields: { results_kept_since: 1 } },
    { fields: { position: 1 } },
  ],
};

/** The fields that settling a job needs. An ended job's count of checked URLs is final, because the log's order decided it. */
export const endedJob = ({ _id: job_id, owner_id, credits_allocated, completed_urls }: JobDocument) => ({
  job_id,
  owner_id,
  credits_allocated,
  completed_urls,
});

type OfList = Pick<JobDocument, 'first_row'>;

/** How many rows a URL is further in its list than when each URL had one row: what a result keeps of its row. */
export const rowShift = ({ first_row }: OfList, index: number, row: number | undefined): number =>
  first_row === undefined || row === undefined ? 0 : row - first_row - index;

/** The row of a result, or null where the log has no rows. */
export const rowOf = ({ first_row }: OfList, result: { index: number; row_shift?: number }): number | null =>
  first_row === undefined ? null : first_row + result.index + (result.row_shift ?? 0);

/**
 * Returns the index below which all results exist. URLs are checked in any order.
 * An ended job gets no more results, so that readers wait for none of its URLs.
 */
export function contiguousResults(job: JobDocument): number {
  const { status, batch_size, batches_done_before, batches_done, total_urls } = job;
  if (hasEnded(status)) return total_urls;
  return batches_done_before * batch_size + leading(batches_done[batches_done_before] ?? 0);
}
