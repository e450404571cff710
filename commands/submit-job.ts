// Submitting a job: list its URLs and reserve its credits, then create it. A step that fails takes back those before it at once; where
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
    if (submission.needs_credits && !(await mayHaveCredits(owner_id))) return noCredits();
    let total_urls = 0;
    // A submission that failed before its first URLs has left nothing. Another request may have taken the listing back already.
    const undo = async () => {
      if (total_urls === 0 && !(await isListed(log, job_id))) return null;
      return await takeBack({ log, jobs, credits }, { job_id, owner_id }, context);
    };
    try {
      const listing = openListing(log, job_id, context);
      const last = await listing.allButTheLast(submission.pages);
      total_urls = listing.listed + last.length;
      // Neither needs the other. When one fails, both are over before they are taken back.
      const [listed, reserved] = await Promise.allSettled([
        listing.append(last),
        reserve(submission, total_urls, context),
      ]);
      if (listed.status === 'rejected') throw listed.reason;
      if (reserved.status === 'rejected') throw reserved.reason;
      const made = await make(submission, total_urls, reserved.value, context);
      if (!made.ok) await undo();
      return made;
    } catch (error) {
      // Where the log cannot be told of it, this is left to the sweeper.
      const undone = await undo().catch(() => null);
      if (!undone?.created) throw error;
      return { ok: true, job: undone.job, position: undone.position };
    }
  }

  /** Before anything is listed. What is reserved then decides. */
  async function mayHaveCredits(owner_id: string): Promise<boolean> {
    const stream = creditsStream(owner_id);
    if ((await credits.aggregate.peek(stream)).balance > 0) return true;
    return (await credits.aggregate.read(stream)).state.balance > 0;
  }

  /** The number of credits that the job has. */
  async function reserve({ job_id, owner_id }: Submission, up_to: number, context: CommandContext): Promise<number> {
    const reservation_id = firstReservation(job_id);
    const reserved = await credits.run(owner_id, { type: 'reserve', reservation_id, job_id, up_to }, context);
    if (!reserved.ok) throw new Error(reserved.refused.message);
    return reserved.state.reservations.get(reservation_id)?.amount ?? 0;
  }

  async function make(
    submission: Submission,
    total_urls: number,
    credits_allocated: number,
    context: CommandContext,
  ): Promise<Submitted> {
    const { job_id, owner_id } = submission;
    if (credits_allocated === 0 && submission.needs_credits) return noCredits();
    const job: JobCreated = {
      job_id,
      owner_id,
      owner_email: submission.owner_email,
      source: submission.source,
      total_urls,
      batch_size: batchSize(total_urls),
      credits_allocated,
      reservation_id: firstReservation(job_id),
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

/** Appends a listing chunk by chunk while its URLs are read. */
function openListing(log: EventStore, job_id: string, context: CommandContext) {
  const stream = urlsStream(job_id);
  let revision: number | 'no_stream' = 'no_stream';
  const listing = {
    listed: 0,
    /** The chunk that is left when all pages are read. */
    async allButTheLast(pages: Submission['pages']): Promise<string[]> {
      let last: string[] = [];
      for await (const chunk of chunksOf(pages)) {
        if (last.length > 0) await listing.append(last);
        last = chunk;
      }
      if (last.length === 0) throw new Error('a submission has at least one URL');
      return last;
    },
    async append(urls: string[]): Promise<void> {
      const event: UrlsEvent = { type: 'UrlsListed', data: { job_id, from_index: listing.listed, urls } };
      const first = revision === 'no_stream' ? 0 : revision + 1;
      const events: NewEvent[] = stamp([event], context, stream, first);
      const result = await log.append(stream, revision, events);
      // It was taken for dead, and taken back.
      if (!result.ok) throw new ConflictPersists(`the listing of job ${job_id} is not this request's any more`);
      revision = result.revision;
      listing.listed += urls.length;
    },
  };
  return listing;
}

async function* chunksOf(pages: Submission['pages']): AsyncGenerator<string[]> {
  let chunk: string[] = [];
  let chunk_bytes = 0;
  for await (const page of pages) {
    for (const url of page) {
      // At most three bytes a UTF-16 unit.
      const size_bytes = url.length * 3;
      if (chunk.length === CHUNK_URLS || (chunk.length > 0 && chunk_bytes + size_bytes > CHUNK_BYTES)) {
        yield chunk;
        chunk = [];
        chunk_bytes = 0;
      }
      chunk.push(url);
      chunk_bytes += size_bytes;
    }
  }
  if (chunk.length > 0) yield chunk;
}
