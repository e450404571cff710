// The read model of jobs: one document a job, with its progress.
import type { Position } from '../events/event-store.ts';
import { type FailureReason, hasEnded, type JobSource, type JobStatus, type PauseReason } from '../events/job.ts';
import type { Collection, CollectionSpec, Document, Filter } from './documents.ts';

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
  batch_size: number;
  /** Every batch before this one is checked whole. */
  batches_done_before: number;
  /** Batches after it of which some URLs are checked: batch to how many. */
  batches_done: { [batch: string]: number };
  /** Of the last URL checked or the last change of state, ISO 8601. */
  progress_at: string;
  /** Of the last event of the job's stream: what was published before a pause is told from what came after. */
  revision: number;
  /** Of the last event that changed this document: whoever follows the changes goes on after the last one seen. */
  position: Position;
  /** Whether what it found of domains is in the log for good. */
  domains_recorded: boolean;
  /** What a process has to do about it next. */
  due: 'completion' | 'ceiling' | 'settlement' | 'domains' | null;
}

export const jobs: CollectionSpec<JobDocument> = {
  name: 'jobs',
  fields: {
    owner_id: 'string',
    owner_email: 'string',
    status: 'string',
    created_at: 'string',
    progress_at: 'string',
    due: 'string',
    position: 'string',
  },
  indexes: [
    { fields: { owner_id: 1, created_at: -1 } },
    { fields: { owner_email: 1, created_at: -1 } },
    { fields: { status: 1, created_at: 1 } },
    { fields: { status: 1, progress_at: 1 } },
    { fields: { due: 1 } },
    { fields: { position: 1 } },
  ],
};

/**
 * What settling a job needs to know. A job that has ended keeps its count of checked URLs: the order of the log decided it.
 */
export const endedJob = ({ _id: job_id, owner_id, credits_allocated, completed_urls }: JobDocument) => ({
  job_id,
  owner_id,
  credits_allocated,
  completed_urls,
});

export interface JobsPage {
  items: JobDocument[];
  total: number;
}

/** The newest first. */
export async function jobsPage(
  collection: Pick<Collection<JobDocument>, 'find' | 'count'>,
  of: { owner_id?: string; owner_email?: string; status?: JobStatus },
  page: { limit: number; offset: number },
): Promise<JobsPage> {
  const filter: Filter = { ...of };
  const [items, total] = await Promise.all([
    collection.find(filter, { sort: { created_at: -1 }, skip: page.offset, limit: page.limit }),
    collection.count(filter),
  ]);
  return { items, total };
}

/**
 * The results of all URLs with a lower index are there, whatever order the batches are checked in: within a batch they
 * come in order. Of a job that has ended nothing more comes, so that there is nothing to wait for.
 */
export function contiguousResults(job: JobDocument): number {
  const { status, batch_size, batches_done_before, batches_done, total_urls } = job;
  if (hasEnded(status)) return total_urls;
  return batches_done_before * batch_size + (batches_done[batches_done_before] ?? 0);
}
