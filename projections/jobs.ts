// The read models of jobs, their results, their statistics and their purges. They are one projection, because the order of a
// job's events decides which results count.
import { endOf, unfold, urlsOf } from '../events/checked-range.ts';
import { hasEnded } from '../events/job.ts';
import { checksOf, idOf } from '../events/streams.ts';
import type { EventTypeOf, LogEvent } from '../events/vocabulary.ts';
import type { Write } from '../readmodels/documents.ts';
import { type JobDocument, jobs, rowShift } from '../readmodels/jobs.ts';
import { type PurgeDocument, purges } from '../readmodels/purges.ts';
import { resultIds, results, type StoredResult, toStored } from '../readmodels/results.ts';
import type { Checked, UrlsOf } from './checked-urls.ts';
import { type OpenCollection, type Projection, projection } from './projection.ts';
import { writeAll } from './slices.ts';
import { type CheckedRange, countResults, removeDomains, removeStats, STATS_COLLECTIONS } from './stats.ts';

interface Page {
  open: OpenCollection;
  urls_of: UrlsOf;
  documents: Map<string, JobDocument | null>;
  result_writes: Write<StoredResult>[];
  counted: CheckedRange[];
  /** The last event of each job that is progress. The log's order decides, because the clocks of machines differ. */
  progress: Map<JobDocument, LogEvent>;
}

export const jobsProjection: Projection = projection({
  name: 'jobs',
  version: 7,
  collections: [jobs, results, purges, ...STATS_COLLECTIONS],
  covers: ['job', 'checks', 'domain_checks'],
  ignores: ['ReservationVoided', 'ListingDiscarded'],
  isHeavy: ({ type }) => type === 'ResultsPurged',
  async begin(open, events, urls_of): Promise<Page> {
    const ids = [...new Set(events.map(jobIdOf))];
    const documents = new Map<string, JobDocument | null>(ids.map((id) => [id, null]));
    for (const document of await (await open(jobs)).getMany(ids)) documents.set(document._id, document);
    return { open, urls_of, documents, result_writes: [], counted: [], progress: new Map() };
  },
  on: {
    JobCreated: (event, { documents }) => documents.set(event.data.job_id, created(event)),
    JobPaused: (event, page) => change(event, page, { status: 'paused', pause_reason: event.data.reason }),
    JobResumed(event, page) {
      const { credits_allocated } = event.data;
      change(event, page, { status: 'processing', pause_reason: null, credits_allocated });
    },
    JobCancelled: (event, page) => end(event, page, { status: 'cancelled' }),
    JobCompleted: (event, page) => end(event, page, { status: 'completed' }),
    JobFailed: (event, page) => end(event, page, { status: 'failed', failure_reason: event.data.reason }),
    async JobDeleted(event, page) {
      const job = jobOf(event, page);
      if (!job) return;
      page.documents.set(job._id, null);
      await (await page.open(purges)).write([{ replace: toPurge(job, event) }]);
      await removeStats(job._id, page.open);
    },
    async ResultsPurged({ stream, data: { from_index, to_index } }, { open, result_writes }) {
      const job_id = idOf(stream);
      result_writes.push({ deleteMany: { job_id, index: { $gte: from_index, $lt: to_index } } });
      // A job has at most as many domains as results, so the last slice leaves none.
      await removeDomains(job_id, to_index - from_index, open);
      await (await open(purges)).write([{ update: job_id, set: { $set: { purged_to: to_index } } }]);
    },
    async JobPurged({ stream }, { open }) {
      await (await open(purges)).write([{ delete: idOf(stream) }]);
    },
    URLChecked(event, page) {
      const job = jobOf(event, page);
      // A result after the job's end in the log does not count and costs nothing.
      if (!job || hasEnded(job.status)) return;
      checked(job, event);
      const listed = page.urls_of(event);
      const rows = unfold(event.data, listed.urls);
      page.counted.push({ job_id: job._id, at: event.metadata.at, rows });
      const idOfResult = resultIds(job._id);
      for (const [at, row] of rows.entries()) {
        const shift = rowShift(job, row.index, listed.rows[at]);
        page.result_writes.push({ replace: toStored(idOfResult(row.index), row, shift) });
      }
      page.progress.set(job, event);
    },
    CreditsRefunded(event, page) {
      const job = jobOf(event, page);
      // A release returns a reservation that the job never used.
      if (job && event.data.transaction_type === 'refund') job.credits_refunded += event.data.amount;
    },
    DomainsChecked(event, page) {
      const job = jobOf(event, page);
      if (job) job.domains_recorded = event.data.last;
    },
  },
  async end({ documents, result_writes, counted, progress }, open) {
    await writeAll(await open(results), result_writes);
    await countResults(
      counted.filter(({ job_id }) => documents.get(job_id)),
      open,
    );
    for (const [job, { metadata }] of progress) job.progress_at = metadata.at;
    for (const job of documents.values()) if (job) job.due = nextStep(job);
    await (await open(jobs)).write(
      [...documents].map(([id, document]) => (document ? { replace: document } : { delete: id })),
    );
  },
});

function jobIdOf({ type, data, stream }: LogEvent): string {
  if (type === 'URLChecked') return checksOf(stream).job_id;
  return type === 'CreditsRefunded' ? data.reference_id : idOf(stream);
}

/** Returns the event's job, with its position moved to the event; null when there is none. */
function jobOf(event: LogEvent, { documents }: Page): JobDocument | null {
  const job = documents.get(jobIdOf(event)) ?? null;
  if (job) job.position = event.position;
  return job;
}

function change(event: LogEvent<EventTypeOf<'job'>>, page: Page, changes: Partial<JobDocument>): void {
  const job = jobOf(event, page);
  if (!job) return;
  page.progress.set(job, event);
  Object.assign(job, { revision: event.revision, ...changes });
}

type Ended = Pick<JobDocument, 'status'> & Partial<JobDocument>;

const end = (event: LogEvent<EventTypeOf<'job'>>, page: Page, changes: Ended): void =>
  change(event, page, { pause_reason: null, completed_at: event.metadata.at, ...changes });

/** The job's document is deleted at once, so no read finds its results; the purge removes these slice by slice. */
function toPurge(job: JobDocument, event: LogEvent): PurgeDocument {
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

function created(event: LogEvent<'JobCreated'>): JobDocument {
  const { job_id, reservation_id: _, ceiling: _ceiling, ...rest } = event.data;
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

function checked(job: JobDocument, event: Checked): void {
  const { batch } = checksOf(event.stream);
  // The log holds a batch's ranges in order, so the end of the last one says how many URLs are done.
  job.batches_done[batch] = endOf(event.data) - batch * job.batch_size;
  job.completed_urls += urlsOf(event.data);
  job.started_at ??= event.metadata.at;
  while (job.batches_done[job.batches_done_before] === sizeOfBatch(job, job.batches_done_before)) {
    delete job.batches_done[job.batches_done_before++];
  }
}

function sizeOfBatch(job: JobDocument, batch: number): number {
  return Math.min(job.batch_size, job.total_urls - batch * job.batch_size);
}

/** Returns the next step that the processes owe the job. */
function nextStep(job: JobDocument): JobDocument['due'] {
  if (!hasEnded(job.status)) {
    if (job.completed_urls === job.total_urls) return 'completion';
    return job.status === 'processing' && job.completed_urls === job.credits_allocated ? 'ceiling' : null;
  }
  // The deletion of a failed job refunds it.
  const is_settled = job.status === 'failed' || job.completed_urls + job.credits_refunded >= job.credits_allocated;
  if (!is_settled) return 'settlement';
  return job.domains_recorded ? null : 'domains';
}
