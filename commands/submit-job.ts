// Submitting a job: list its URLs, reserve its credits, then create it. A step that fails takes back those before it at once; where
// the process was killed, or the log is away, the sweeper finds them: a listing without a job is deleted, a reservation without
// a job event is released.
import type { EventStore, NewEvent, Position, RecordedEvent } from '../events/event-store.ts';
import { batchSize, type JobCreated, type JobSource, type UrlsEvent } from '../events/job.ts';
import { creditsStream, jobStream, urlsStream } from '../events/streams.ts';
import { type CommandContext, ConflictPersists, stamp } from './aggregate.ts';
import type { CreditsLedger } from './credits.ts';
import type { Jobs } from './job.ts';

/** A chunk of a listing is at most this many URLs and about this many bytes: an event store takes 1 MiB an append. */
const CHUNK_URLS = 1000;
const CHUNK_BYTES = 256 * 1024;

/** What is counted while the URLs are read; whole once the pages are through. */
export interface SubmissionCounts {
  duplicates_removed: number;
  invalid_urls_rejected: number;
  blocked_urls_skipped: number;
}

export interface Submission {
  job_id: string;
  owner_id: string;
  owner_email: string | null;
  source: JobSource;
  filename: string | null;
  blob_key: string | null;
  /** The URLs to check in order, unique, by pages of any size. What it throws ends the submission without a trace. */
  pages: AsyncIterable<readonly string[]>;
  counts(): SubmissionCounts;
  /** Whether a job without a credit is refused (`no_credits`) or made and paused at once. */
  needs_credits: boolean;
}

export type Submitted =
  | { ok: true; job: JobCreated; position: Position }
  | {
      ok: false;
      refused: { code: 'no_credits' | 'job_not_found' | 'illegal_transition' | 'reservation_voided'; message: string };
    };

export type SubmitJob = (submission: Submission, context: CommandContext) => Promise<Submitted>;

export function openSubmitJob(log: EventStore, jobs: Jobs, credits: CreditsLedger): SubmitJob {
  async function submit(submission: Submission, context: CommandContext): Promise<Submitted> {
    const { job_id, owner_id } = submission;
    if (submission.needs_credits && (await credits.aggregate.read(creditsStream(owner_id))).state.balance === 0) {
      return noCredits();
    }
    let total_urls = 0;
    // A submission that failed before its first URLs has left nothing. Another request may have taken the listing back already.
    const undo = async () => {
      if (total_urls === 0 && !(await isListed(log, job_id))) return null;
      return await takeBack({ log, jobs, credits }, { job_id, owner_id }, context);
    };
    try {
      total_urls = await list(log, submission, context);
      const made = await make(submission, total_urls, context);
      if (!made.ok) await undo();
      return made;
    } catch (error) {
      // Where the log cannot be told of it, this is left to the sweeper.
      const undone = await undo().catch(() => null);
      if (!undone?.created) throw error;
      return { ok: true, job: undone.job, position: undone.position };
    }
  }

  async function make(submission: Submission, total_urls: number, context: CommandContext): Promise<Submitted> {
    const { job_id, owner_id } = submission;
    const reservation_id = firstReservation(job_id);
    const reserve = { type: 'reserve' as const, reservation_id, job_id, up_to: total_urls };
    const reserved = await credits.run(owner_id, reserve, context);
    if (!reserved.ok) throw new Error(reserved.refused.message);
    const credits_allocated = reserved.state.reservations.get(reservation_id)?.amount ?? 0;
    if (credits_allocated === 0 && submission.needs_credits) return noCredits();
    const job: JobCreated = {
      job_id,
      owner_id,
      owner_email: submission.owner_email,
      source: submission.source,
      total_urls,
      batch_size: batchSize(total_urls),
      credits_allocated,
      reservation_id,
      ...submission.counts(),
      filename: submission.filename,
      blob_key: submission.blob_key,
    };
    const created = await jobs.run(job_id, { type: 'create', job }, context);
    return created.ok ? { ok: true, job, position: created.position } : created;
  }

  return submit;
}

export const firstReservation = (job_id: string) => `${job_id}:0`;

async function isListed(log: EventStore, job_id: string): Promise<boolean> {
  return (await Array.fromAsync(log.readStream(urlsStream(job_id), { limit: 1 }))).length > 0;
}

/**
 * Makes sure of a submission that ended without an answer. First the job's stream refuses the reservation for ever, then the credits
 * and the listing are taken back. When the job was created after all, it keeps them, and is told.
 */
export async function takeBack(
  { log, jobs, credits }: { log: EventStore; jobs: Jobs; credits: CreditsLedger },
  { job_id, owner_id }: { job_id: string; owner_id: string },
  context: CommandContext,
): Promise<{ created: false } | { created: true; job: JobCreated; created_at: number; position: Position }> {
  const reservation_id = firstReservation(job_id);
  const voided = await jobs.run(job_id, { type: 'voidReservation', reservation_id }, context);
  if (!voided.ok) throw new Error(voided.refused.message);
  if (voided.state.reservations.get(reservation_id) === 'used') {
    const [created] = await Array.fromAsync(log.readStream(jobStream(job_id), { limit: 1 }));
    const { data, metadata, position } = created as RecordedEvent<'JobCreated', JobCreated>;
    return { created: true, job: data, created_at: Date.parse(metadata.at), position };
  }
  await credits.run(owner_id, { type: 'release', reservation_id }, context);
  if (await isListed(log, job_id)) {
    await log.deleteStream(urlsStream(job_id));
    await jobs.run(job_id, { type: 'discardListing' }, context);
  }
  return { created: false };
}

const noCredits = () => ({
  ok: false as const,
  refused: {
    code: 'no_credits' as const,
    message: 'There are no credits left. Buy credits, then submit the job again.',
  },
});

/** Appends the listing chunk by chunk while it is read; the number of URLs. */
async function list(log: EventStore, submission: Submission, context: CommandContext): Promise<number> {
  const stream = urlsStream(submission.job_id);
  let listed = 0;
  let revision: number | 'no_stream' = 'no_stream';
  let chunk: string[] = [];
  let chunk_bytes = 0;

  async function flush(): Promise<void> {
    if (chunk.length === 0) return;
    const event: UrlsEvent = {
      type: 'UrlsListed',
      data: { job_id: submission.job_id, from_index: listed, urls: chunk },
    };
    const first = revision === 'no_stream' ? 0 : revision + 1;
    const events: NewEvent[] = stamp([event], context, stream, first);
    const result = await log.append(stream, revision, events);
    // It was taken for dead, and taken back.
    if (!result.ok)
      throw new ConflictPersists(`the listing of job ${submission.job_id} is not this request's any more`);
    revision = result.revision;
    listed += chunk.length;
    chunk = [];
    chunk_bytes = 0;
  }

  for await (const page of submission.pages) {
    for (const url of page) {
      // At most three bytes a UTF-16 unit.
      const size_bytes = url.length * 3;
      if (chunk.length === CHUNK_URLS || chunk_bytes + size_bytes > CHUNK_BYTES) await flush();
      chunk.push(url);
      chunk_bytes += size_bytes;
    }
  }
  await flush();
  if (listed === 0) throw new Error('a submission has at least one URL');
  return listed;
}
