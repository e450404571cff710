// The read models of jobs, of their results, of what is counted over these, and of what is left of deleted jobs: one
// projection, because the order of a job's events decides which results count.

import type { URLChecked } from '../events/checks.ts';
import type { CreditsRefunded } from '../events/credits.ts';
import type { DomainsChecked } from '../events/domain-checks.ts';
import type { RecordedEvent } from '../events/event-store.ts';
import type { JobCreated, JobEvent, ResultsPurged } from '../events/job.ts';
import { checksOf, idOf } from '../events/streams.ts';
import type { Write } from '../readmodels/documents.ts';
import { type JobDocument, jobs } from '../readmodels/jobs.ts';
import { type PurgeDocument, purges } from '../readmodels/purges.ts';
import { type ResultDocument, resultId, results } from '../readmodels/results.ts';
import type { OpenCollection, Projection } from './projection.ts';
import { countResults, removeDomains, removeStats, STATS_COLLECTIONS } from './stats.ts';

export const jobsProjection: Projection = {
  name: 'jobs',
  version: 5,
  types: [
    'JobCreated',
    'JobPaused',
    'JobResumed',
    'JobCancelled',
    'JobCompleted',
    'JobFailed',
    'JobDeleted',
    'ResultsPurged',
    'JobPurged',
    'URLChecked',
    'CreditsRefunded',
    'DomainsChecked',
  ],
  collections: [jobs, results, purges, ...STATS_COLLECTIONS],
  isHeavy: ({ type }) => type === 'ResultsPurged',
  async apply(events, open) {
    const job_documents = await open(jobs);
    const result_documents = await open(results);
    const ids = [...new Set(events.map(jobIdOf))];
    const documents = new Map<string, JobDocument | null>(ids.map((id) => [id, null]));
    for (const document of await job_documents.getMany(ids)) documents.set(document._id, document);
    const result_writes: Write<ResultDocument>[] = [];
    const counted: Checked[] = [];
    /** The last event of each job that counts as progress, by the log: clocks of several machines disagree. */
    const progress = new Map<JobDocument, RecordedEvent>();

    for (const event of events) {
      const id = jobIdOf(event);
      const job = documents.get(id) ?? null;
      if (job) job.position = event.position;
      if (event.type === 'ResultsPurged') {
        result_writes.push(removalOf(id, event.data as ResultsPurged));
        await purged(id, event.data as ResultsPurged, open);
      } else if (event.type === 'JobPurged') await (await open(purges)).write([{ delete: id }]);
      else if (event.type === 'JobCreated') documents.set(id, created(event.data as JobCreated, event));
      else if (!job) continue;
      else if (event.type === 'JobDeleted') {
        documents.set(id, null);
        await (await open(purges)).write([{ replace: toPurge(job, event) }]);
        await removeStats(id, open);
      } else if (event.type === 'URLChecked') {
        if (!counts(job)) continue;
        counted.push(event as Checked);
        result_writes.push({ replace: checked(job, event as Checked) });
        progress.set(job, event);
      } else if (event.type === 'CreditsRefunded') refunded(job, event.data as CreditsRefunded);
      else if (event.type === 'DomainsChecked') job.domains_recorded = (event.data as DomainsChecked).last;
      else {
        progress.set(job, event);
        changed(job, event);
      }
    }
    await result_documents.write(result_writes);
    await countResults(
      counted.filter(({ data }) => documents.get(data.job_id)),
      open,
    );
    for (const [job, { metadata }] of progress) job.progress_at = metadata.at;
    for (const job of documents.values()) if (job) job.due = due(job);
    await job_documents.write(
      [...documents].map(([id, document]) => (document ? { replace: document } : { delete: id })),
    );
  },
};

type Checked = RecordedEvent<string, URLChecked>;

function jobIdOf(event: RecordedEvent): string {
  if (event.type === 'URLChecked') return checksOf(event.stream).job_id;
  if (event.type === 'CreditsRefunded') return (event.data as CreditsRefunded).reference_id;
  return idOf(event.stream);
}

/** The job is gone at once, and with it the way to its results; these follow slice by slice. */
function toPurge(job: JobDocument, event: RecordedEvent): PurgeDocument {
  const { _id, batch_size, blob_key, credits_allocated } = job;
  return {
    _id,
    batch_size,
    blob_key,
    purged_to: 0,
    urls: credits_allocated,
    since: event.metadata.at,
  };
}

async function purged(job_id: string, { from_index, to_index }: ResultsPurged, open: OpenCollection): Promise<void> {
  // As many domains as results: there are not more of them, so that none is left after the last slice.
  await removeDomains(job_id, to_index - from_index, open);
  await (await open(purges)).write([{ update: job_id, set: { $set: { purged_to: to_index } } }]);
}

const removalOf = (job_id: string, { from_index, to_index }: ResultsPurged): Write<ResultDocument> => ({
  deleteMany: { job_id, index: { $gte: from_index, $lt: to_index } },
});

/** A result that comes after the job has ended in the log is nobody's and is charged to nobody. */
const counts = (job: JobDocument) => job.status === 'processing' || job.status === 'paused';

function created(data: JobCreated, event: RecordedEvent): JobDocument {
  const { job_id, reservation_id: _, ...rest } = data;
  const { at } = event.metadata;
  return {
    _id: job_id,
    ...rest,
    status: 'processing',
    completed_urls: 0,
    credits_refunded: 0,
    pause_reason: null,
    failure_reason: null,
    created_at: at,
    started_at: null,
    completed_at: null,
    batches_done_before: 0,
    batches_done: {},
    progress_at: at,
    revision: event.revision,
    position: event.position,
    domains_recorded: false,
    due: null,
  };
}

function checked(job: JobDocument, event: Checked): ResultDocument {
  const { batch } = checksOf(event.stream);
  // The log holds a batch's events in order, so the last revision says how many URLs are done.
  job.batches_done[batch] = event.revision + 1;
  job.completed_urls++;
  job.started_at ??= event.metadata.at;
  while (job.batches_done[job.batches_done_before] === sizeOfBatch(job, job.batches_done_before)) {
    delete job.batches_done[job.batches_done_before++];
  }
  return { _id: resultId(job._id, event.data.index), ...event.data };
}

function sizeOfBatch(job: JobDocument, batch: number): number {
  return Math.min(job.batch_size, job.total_urls - batch * job.batch_size);
}

/** What a sweeper released was never the job's. */
function refunded(job: JobDocument, data: CreditsRefunded): void {
  if (data.transaction_type === 'refund') job.credits_refunded += data.amount;
}

function due(job: JobDocument): JobDocument['due'] {
  if (job.status === 'processing' || job.status === 'paused') {
    if (job.completed_urls === job.total_urls) return 'completion';
    return job.status === 'processing' && job.completed_urls === job.credits_allocated ? 'ceiling' : null;
  }
  // A failed job is refunded when it is deleted.
  const is_settled = job.status === 'failed' || job.completed_urls + job.credits_refunded >= job.credits_allocated;
  if (!is_settled) return 'settlement';
  return job.domains_recorded ? null : 'domains';
}

function changed(job: JobDocument, event: RecordedEvent): void {
  const { type, data } = event as unknown as JobEvent;
  const { at } = event.metadata;
  job.revision = event.revision;
  if (type === 'JobPaused') {
    job.status = 'paused';
    job.pause_reason = data.reason;
  } else if (type === 'JobResumed') {
    job.status = 'processing';
    job.pause_reason = null;
    job.credits_allocated = data.credits_allocated;
  } else {
    job.pause_reason = null;
    job.completed_at = at;
    if (type === 'JobCompleted') job.status = 'completed';
    if (type === 'JobCancelled') job.status = 'cancelled';
    if (type === 'JobFailed') {
      job.status = 'failed';
      job.failure_reason = data.reason;
    }
  }
}
