// The read models of jobs, their results, their statistics and their purges. They are one projection, because the order of a
// job's events decides which results count.
import { endOf, indexesOf, namesUrls, unfold, urlsOf } from '../../events/checked-range.ts';
import { hasEnded, type JobCreated, type Summary } from '../../events/job.ts';
import { type JobOptions, readSealedJson, shownOptions } from '../../events/job-options.ts';
import { checksOf, idOf } from '../../events/streams.ts';
import { isTestUser } from '../../events/test-user.ts';
import type { EventTypeOf, LogEvent } from '../../events/vocabulary.ts';
import { isDone, withDone } from '../../readmodels/jobs/batch-progress.ts';
import { type JobDocument, jobs, rowShift } from '../../readmodels/jobs/jobs.ts';
import { type PurgeDocument, purges } from '../../readmodels/jobs/purges.ts';
import { resultIds, results, type StoredResult, toStored } from '../../readmodels/results/results.ts';
import { type OpenCollection, type Projection, projection } from '../projection.ts';
import type { Inserts } from '../projector/insert.ts';
import { readAll, writeChanged } from '../slices.ts';
import type { Checked, UrlsOf } from './checked-urls.ts';
import {
  type CheckedRange,
  type Counting,
  openCounting,
  removeDomains,
  removeStats,
  STATS_COLLECTIONS,
  summarize,
} from './stats.ts';

/** A page writes as many results before it makes more, so that a long page holds few of them. */
const RESULTS_AT_ONCE = 2000;

/** A deletion removes the results itself when there are no more than this: such a job needs no slices, and no events of them. */
const REMOVED_AT_ONCE = 1000;

/** The results that the deletions of one transaction remove, so that it is short. */
const REMOVED_IN_A_PART = 5000;

interface Page {
  open: OpenCollection;
  urls_of: UrlsOf;
  inserts: Inserts;
  documents: Map<string, JobDocument | null>;
  purges: Map<string, PurgeDocument | null>;
  /** Results that are not yet written. */
  results: StoredResult[];
  /** Results that are not yet counted. */
  counted: CheckedRange[];
  counting: Counting;
  summaries: Map<string, Summary>;
}

export const jobsProjection: Projection = projection({
  name: 'jobs',
  version: 11,
  collections: [jobs, results, purges, ...STATS_COLLECTIONS],
  covers: ['job', 'checks', 'domain_checks'],
  ignores: ['ReservationVoided', 'ListingDiscarded'],
  isHeavy: ({ type, data }) => type === 'ResultsPurged' && data.to_index - data.from_index > REMOVED_AT_ONCE,
  mayBeHeavy: ({ type }) => type === 'JobDeleted',
  async findHeavy(deletions, open) {
    const found = await readAll(await open(jobs), deletions.map(idOfJob));
    let removed = 0;
    return deletions.find((event) => (removed += removedWith(found.get(idOfJob(event)))) > REMOVED_IN_A_PART) ?? null;
  },
  async retract(event, open) {
    if (event.type !== 'URLChecked') return;
    const job = await (await open(jobs)).get(checksOf(event.stream).job_id);
    if (!job || !isUncounted(job, event)) return;
    const index = { $in: indexesOf(event.data) };
    await (await open(results)).write([{ deleteMany: { job_id: job._id, index } }]);
  },
  async begin(open, events, urls_of, inserts): Promise<Page> {
    const ids = [...new Set(events.map(jobIdOf))];
    const documents = new Map<string, JobDocument | null>(ids.map((id) => [id, null]));
    for (const document of await (await open(jobs)).getMany(ids)) documents.set(document._id, document);
    const removed = events.filter(({ type }) => type === 'ResultsPurged').map(jobIdOf);
    const counting = openCounting(open);
    return {
      ...{ open, urls_of, inserts, documents, counting },
      purges: await readAll(await open(purges), removed),
      results: [],
      counted: [],
      summaries: new Map(),
    };
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
      const purge = toPurge(job, event);
      page.purges.set(job._id, purge);
      // There are no results in a replay, when the purge has removed them from the log, and of a job that was never checked.
      if (job.completed_urls === 0) purge.purged_to = purge.urls;
      else if (removedWith(job) > 0) await removeResults(purge, purge.urls, page);
      // An expired job has a summary of none.
      if (job.completed_urls > 0 || job.results_expired_at) await removeStats(job._id, page.open);
    },
    async ResultsExpired(event, page) {
      const { completed_urls, started_at, summary } = event.data;
      // A replay may lack the results, so the event alone says what they were.
      const counted = { completed_urls, started_at, batches_done_before: 0, batches_done: {} };
      change(event, page, { ...counted, results_expired_at: event.metadata.at });
      const job = jobOf(event, page);
      if (!job) return;
      page.purges.set(job._id, toPurge(job, event));
      page.summaries.set(job._id, summary);
    },
    ResultsRemoved(event, page) {
      change(event, page, {});
      page.purges.set(idOf(event.stream), null);
    },
    async ResultsPurged(event, page) {
      const { to_index } = event.data;
      change(event, page, { purged_to: to_index });
      const purge = page.purges.get(idOf(event.stream));
      if (purge) await removeResults(purge, to_index, page);
    },
    JobPurged: ({ stream }, page) => void page.purges.set(idOf(stream), null),
    async URLChecked(event, page) {
      const job = jobOf(event, page);
      // A result after the job's end in the log does not count and costs nothing.
      if (!job || hasEnded(job.status)) return;
      if (!isUncounted(job, event)) throw new Error('the event does not tell of uncounted URLs of its batch');
      checked(job, event);
      const listed = page.urls_of(event);
      const rows = unfold(event.data, listed.urls);
      page.counted.push({ job_id: job._id, at: event.metadata.at, rows });
      const idOfResult = resultIds(job._id);
      for (const row of rows) {
        const shift = rowShift(job, row.index, listed.rows[row.index - event.data.from_index]);
        // A batch's stream has each URL once.
        const ref = listed.refs?.[row.index - event.data.from_index] ?? undefined;
        page.results.push(toStored(idOfResult(row.index), row, shift, ref));
      }
      if (page.results.length >= RESULTS_AT_ONCE) await writeResults(page);
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
  async end(page, open) {
    const { documents, counting, summaries } = page;
    await writeResults(page);
    await page.inserts.stored();
    await counting.save((job_id) => Boolean(documents.get(job_id)));
    for (const [job_id, summary] of summaries) if (documents.get(job_id)) await summarize(job_id, summary, open);
    for (const job of documents.values()) if (job) setNextStep(job);
    await writeChanged(await open(jobs), documents.keys(), documents);
    await writeChanged(await open(purges), page.purges.keys(), page.purges);
  },
});

/** Begins to write the results that the page holds, and counts them meanwhile. */
async function writeResults(page: Page): Promise<void> {
  const { documents, counted } = page;
  const made = page.results;
  page.results = [];
  page.counted = [];
  if (made.length > 0) await page.inserts.insert(results, made);
  await page.counting.count(counted.filter(({ job_id }) => documents.get(job_id)));
}

const idOfJob = ({ stream }: LogEvent) => idOf(stream);

/** The results that go with the deletion of a job itself. */
function removedWith(job: JobDocument | null | undefined): number {
  if (!job || job.completed_urls === 0) return 0;
  const left = job.credits_allocated - (job.purged_to ?? 0);
  return left <= REMOVED_AT_ONCE ? left : 0;
}

/** Removes the results of a purge up to `to_index`, unless they are. */
async function removeResults(purge: PurgeDocument, to_index: number, page: Page): Promise<void> {
  const { _id: job_id, purged_to: from_index } = purge;
  if (to_index <= from_index) return;
  await writeResults(page);
  await page.inserts.remove(results, { job_id, index: { $gte: from_index, $lt: to_index } });
  // A job has at most as many domains as results, so the last slice leaves none.
  await removeDomains(job_id, to_index - from_index, page.open);
  purge.purged_to = to_index;
}

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
  Object.assign(job, { revision: event.revision, ...changes });
}

type Ended = Pick<JobDocument, 'status'> & Partial<JobDocument>;

const end = (event: LogEvent<EventTypeOf<'job'>>, page: Page, changes: Ended): void =>
  change(event, page, { pause_reason: null, completed_at: event.metadata.at, ...changes });

/** From here on no read finds the results; the purge removes those of a large job slice by slice. */
function toPurge(job: JobDocument, event: LogEvent): PurgeDocument {
  const { _id, batch_size, blob_key, credits_allocated, purged_to = 0 } = job;
  return {
    _id,
    batch_size,
    blob_key,
    purged_to,
    urls: credits_allocated,
    is_deleted: event.type === 'JobDeleted',
    since: event.metadata.at,
  };
}

/** The processes count batches by these numbers, and would never come to an end by others. */
function assertCountable({ total_urls, credits_allocated, batch_size }: JobCreated): void {
  const are_counts = [total_urls, credits_allocated, batch_size].every((n) => Number.isSafeInteger(n) && n >= 0);
  if (!are_counts || batch_size === 0) throw new Error('the numbers of URLs, of credits and of a batch are no counts');
}

function created(event: LogEvent<'JobCreated'>): JobDocument {
  assertCountable(event.data);
  const { job_id, reservation_id: _, ceiling: _ceiling, ...data } = event.data;
  // How the list was read is a matter of reruns, which read it from the log.
  const { reading: _reading, column: _column, sheet: _sheet, rerun_of: _rerun_of, options, ...rest } = data;
  const { at } = event.metadata;
  return {
    _id: job_id,
    ...rest,
    ...optionsOf(options),
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
    revision: event.revision,
    position: event.position,
    results_expired_at: null,
    purged_to: 0,
    results_kept_since: null,
    domains_recorded: false,
    due: null,
  };
}

function optionsOf(sealed: string | undefined): Pick<JobDocument, 'options'> {
  const options = readSealedJson(sealed);
  return options === undefined ? {} : { options: JSON.stringify(shownOptions(options as JobOptions)) };
}

/** Whether an event, which may be damaged, tells only of URLs of its batch that no earlier event told of. */
function isUncounted(job: JobDocument, { data, stream }: Checked): boolean {
  const { batch_size, batches_done_before, batches_done } = job;
  const { batch } = checksOf(stream);
  const first = batch * batch_size;
  if (data.job_id !== job._id || batch < batches_done_before || !namesUrls(data)) return false;
  if (data.from_index < first || endOf(data) > first + batch_size) return false;
  const done = batches_done[batch] ?? 0;
  return indexesOf(data).every((index) => !isDone(done, index - first));
}

function checked(job: JobDocument, event: Checked): void {
  const { batches_done, batch_size } = job;
  const { batch } = checksOf(event.stream);
  const places = indexesOf(event.data).map((index) => index - batch * batch_size);
  batches_done[batch] = withDone(batches_done[batch] ?? 0, places);
  job.completed_urls += urlsOf(event.data);
  job.started_at ??= event.metadata.at;
  while (batches_done[job.batches_done_before] === sizeOfBatch(job, job.batches_done_before)) {
    delete batches_done[job.batches_done_before++];
  }
}

function sizeOfBatch(job: JobDocument, batch: number): number {
  return Math.min(job.batch_size, job.total_urls - batch * job.batch_size);
}

function setNextStep(job: JobDocument): void {
  job.due = nextStep(job);
  const is_kept = job.due === null && hasEnded(job.status) && !job.results_expired_at;
  job.results_kept_since = is_kept ? job.completed_at : null;
}

/** Returns the next step that the processes owe the job. */
function nextStep(job: JobDocument): JobDocument['due'] {
  if (!hasEnded(job.status)) {
    if (job.completed_urls === job.total_urls) return 'completion';
    return job.status === 'processing' && job.completed_urls === job.credits_allocated ? 'ceiling' : null;
  }
  // Jobs of test keys have no credits, and are in no statistics.
  if (isTestUser(job.owner_id)) return null;
  // The deletion of a failed job refunds it.
  const is_settled = job.status === 'failed' || job.completed_urls + job.credits_refunded >= job.credits_allocated;
  if (!is_settled) return 'settlement';
  return job.domains_recorded ? null : 'domains';
}
