// Submits a job: lists its URLs and reserves its credits, then creates it. When a step fails, the command undoes the earlier
// ones at once. After a crash or an outage of the log the sweeper undoes them: it deletes a listing without a job, and
// releases a reservation without a job event. Decision 109 says why.
import type { EventStore, NewEvent, Position } from '../../events/event-store.ts';
import {
  batchSize,
  type Ceiling,
  type JobCreated,
  type JobSource,
  type JobTable,
  type UrlsEvent,
  type UrlsListed,
} from '../../events/job.ts';
import { foldRows } from '../../events/listed-rows.ts';
import { creditsStream, urlsStream } from '../../events/streams.ts';
import { isTestUser } from '../../events/test-user.ts';
import { type CommandContext, ConflictPersists, notRefused, stamp } from '../aggregate.ts';
import {
  type Credits,
  type CreditsLedger,
  type CreditsRefusal,
  type LimitedKey,
  refusedBy,
} from '../ledger/credits.ts';
import { creationOf, type Jobs } from './job.ts';
import { discardListing, firstReservation, releaseUnused } from './reservations.ts';

/** A chunk of a listing has at most this many URLs and about this many bytes. */
const CHUNK_URLS = 1000;
const CHUNK_BYTES = 256 * 1024;
/** The most bytes of the chunks of one append, which takes at most 1 MiB with ids and metadata. */
const APPEND_BYTES = 3 * CHUNK_BYTES;

/** Intake counts these while the URLs are read; they are complete after the last page. */
export interface SubmissionCounts {
  duplicates_removed: number;
  invalid_urls_rejected: number;
  blocked_urls_skipped: number;
}

/** URLs in order, and the row of each: of a file, from 1, or the place in a list. Without rows the job's results know none. */
export interface UrlPage {
  urls: readonly string[];
  rows?: readonly number[];
  /** The clients' own names for the URLs, where some have any. */
  refs?: readonly (string | null)[];
}

export interface Submission {
  job_id: string;
  owner_id: string;
  owner_email: string | null;
  source: JobSource;
  filename: string | null;
  blob_key: string | null;
  /** The unique URLs in order, in pages of any size. An error of theirs ends the submission, which then undoes its steps. */
  pages: AsyncIterable<UrlPage>;
  counts(): SubmissionCounts;
  /** The table that the file is; complete after the last page. */
  table?(): JobTable | null;
  /** True: a job without a credit is refused as `no_credits`. False: it is created and paused at once. */
  needs_credits: boolean;
  /** The API key with a limit of credits that submits it. */
  key?: LimitedKey;
  /** What the job's first event says besides. */
  more?: Pick<JobCreated, 'reading' | 'column' | 'sheet' | 'encoding' | 'rerun_of' | 'label' | 'metadata' | 'options'>;
}

export type Submitted =
  | { ok: true; job: JobCreated; position: Position }
  | {
      ok: false;
      refused: {
        code:
          | 'no_credits'
          | 'usage_limit'
          | CreditsRefusal['code']
          | 'job_not_found'
          | 'illegal_transition'
          | 'reservation_voided';
        message: string;
        details?: object;
      };
    };

export type SubmitJob = (submission: Submission, context: CommandContext) => Promise<Submitted>;

export function openSubmitJob(log: EventStore, jobs: Jobs, credits: CreditsLedger): SubmitJob {
  async function submit(submission: Submission, context: CommandContext): Promise<Submitted> {
    const { job_id, owner_id } = submission;
    const lacking = await lackOf(submission);
    if (lacking) return { ok: false, refused: lacking };
    const listing = openListing(log, job_id, context);
    let total_urls = 0;
    // A submission that failed before its first URLs has left nothing to undo.
    const undo = async () => {
      await listing.settled();
      if (total_urls === 0 && !(await isListed(log, job_id))) return null;
      return await takeBack({ log, jobs, credits }, { job_id, owner_id }, context);
    };
    const dropListing = async () => {
      const reservation_id = firstReservation(job_id);
      notRefused(await jobs.run(job_id, { type: 'voidReservation', reservation_id }, context));
      await discardListing({ log, jobs }, job_id, context);
    };
    try {
      for await (const chunk of chunksOf(submission.pages)) await listing.add(chunk);
      total_urls = listing.read_urls;
      if (total_urls === 0) throw new Error('a submission has at least one URL');
      // The two steps are independent. When one fails, the other ends before both are undone.
      const [listed, reserved] = await Promise.allSettled([listing.end(), reserve(submission, total_urls, context)]);
      if (listed.status === 'rejected') throw listed.reason;
      if (reserved.status === 'rejected') throw reserved.reason;
      const { first_row } = listing;
      const { value } = reserved;
      const made =
        'refused' in value
          ? { ok: false as const, refused: value.refused }
          : await make(submission, { total_urls, first_row }, value, context);
      // A release of what was not reserved would search the whole ledger for it.
      const has_reserved = !('refused' in value) && value.amount > 0;
      if (!made.ok) await (has_reserved ? undo() : dropListing());
      return made;
    } catch (error) {
      // While the log is away the undo fails too, and the sweeper does it later.
      const undone = await undo().catch(() => null);
      if (!undone?.created) throw error;
      return { ok: true, job: undone.job, position: undone.position };
    }
  }

  /** A first look, before the URLs are listed; the reservation decides. */
  async function lackOf({ owner_id, needs_credits, key }: Submission) {
    if (isTestUser(owner_id)) return undefined;
    const stream = creditsStream(owner_id);
    const lackIn = (state: Readonly<Credits>) =>
      needs_credits && state.balance === 0 ? NO_CREDITS : key && refusedBy(key, state, 1);
    return lackIn(await credits.aggregate.peek(stream)) && lackIn((await credits.aggregate.read(stream)).state);
  }

  /** Returns the number of credits reserved, and why it is less than `up_to`. */
  async function reserve(
    { job_id, owner_id, key }: Submission,
    up_to: number,
    context: CommandContext,
  ): Promise<{ amount: number; ceiling: Ceiling | null } | { refused: CreditsRefusal }> {
    if (isTestUser(owner_id)) return { amount: up_to, ceiling: null };
    const reservation_id = firstReservation(job_id);
    const command = { type: 'reserve', reservation_id, job_id, up_to, ...(key && { key }) } as const;
    const reserved = await credits.run(owner_id, command, context);
    if (!reserved.ok) return reserved;
    const amount = reserved.state.reservations.get(reservation_id)?.amount ?? 0;
    return { amount, ceiling: amount < up_to ? reserved.ceiling : null };
  }

  async function make(
    submission: Submission,
    listed: Pick<JobCreated, 'total_urls' | 'first_row'>,
    { amount: credits_allocated, ceiling }: { amount: number; ceiling: Ceiling | null },
    context: CommandContext,
  ): Promise<Submitted> {
    const { job_id, owner_id } = submission;
    if (credits_allocated === 0 && submission.needs_credits) {
      return ceiling === 'usage_limit' ? limitReached() : noCredits();
    }
    const { total_urls, first_row } = listed;
    const table = submission.table?.() ?? null;
    const job: JobCreated = {
      job_id,
      owner_id,
      owner_email: submission.owner_email,
      source: submission.source,
      total_urls,
      batch_size: batchSize(total_urls),
      credits_allocated,
      reservation_id: firstReservation(job_id),
      ...(ceiling === 'usage_limit' && { ceiling }),
      ...submission.counts(),
      filename: submission.filename,
      blob_key: submission.blob_key,
      ...(first_row === undefined ? {} : { first_row }),
      ...(table === null ? {} : { table }),
      ...submission.more,
    };
    const created = await jobs.run(job_id, { type: 'create', job }, context);
    return created.ok ? { ok: true, job, position: created.position } : created;
  }

  return submit;
}

async function isListed(log: EventStore, job_id: string): Promise<boolean> {
  return (await Array.fromAsync(log.readStream(urlsStream(job_id), { limit: 1 }))).length > 0;
}

/**
 * Ends a submission that got no answer. First the job's stream voids the reservation, so that the job can no longer be
 * created; then the credits are released and the listing is deleted. When the job was created after all, it keeps both and is
 * returned. Running it twice is safe.
 */
export async function takeBack(
  { log, jobs, credits }: { log: EventStore; jobs: Jobs; credits: CreditsLedger },
  { job_id, owner_id }: { job_id: string; owner_id: string },
  context: CommandContext,
): Promise<{ created: false } | { created: true; job: JobCreated; created_at: number; position: Position }> {
  const reserved = { reservation_id: firstReservation(job_id), job_id, user_id: owner_id };
  if ((await releaseUnused({ jobs, credits }, reserved, context)) === null) {
    const { data, metadata, position } = await creationOf(log, job_id);
    return { created: true, job: data, created_at: Date.parse(metadata.at), position };
  }
  if (await isListed(log, job_id)) await discardListing({ log, jobs }, job_id, context);
  return { created: false };
}

export const NO_CREDITS = {
  code: 'no_credits' as const,
  message: 'There are no credits left. Buy credits, then submit the job again.',
};
const noCredits = () => ({ ok: false as const, refused: NO_CREDITS });

export const LIMIT_REACHED = {
  code: 'usage_limit' as const,
  message: 'The limit of your account for this period is used up. Wait for the next period, or ask for a higher limit.',
};
const limitReached = () => ({ ok: false as const, refused: LIMIT_REACHED });

/** Appends a listing while its URLs are read. The chunks that are read during one append go into the next one together. */
function openListing(log: EventStore, job_id: string, context: CommandContext) {
  const stream = urlsStream(job_id);
  let revision: number | 'no_stream' = 'no_stream';
  let waiting: UrlsEvent[] = [];
  let waiting_bytes = 0;
  let appending: Promise<void> | null = null;

  async function append(): Promise<void> {
    const first = revision === 'no_stream' ? 0 : revision + 1;
    const events: NewEvent[] = stamp(waiting, context, stream, first);
    waiting = [];
    waiting_bytes = 0;
    const result = await log.append(stream, revision, events);
    // The sweeper or a request with the same key took this request for dead and deleted the listing.
    if (!result.ok) throw new ConflictPersists(`the listing of job ${job_id} no longer belongs to this request`);
    revision = result.revision;
    appending = null;
  }

  const listing = {
    read_urls: 0,
    /** The row of the first URL; undefined when the pages have no rows. */
    first_row: undefined as number | undefined,
    /** Waits for an append where the chunk does not fit into the next one. Throws what an earlier append threw. */
    async add({ urls, rows, refs, size_bytes }: Chunk): Promise<void> {
      if (waiting.length > 0) {
        if (waiting_bytes + size_bytes > APPEND_BYTES) await appending;
        if (appending === null) {
          appending = append();
          // `add`, `end` and `settled` await it.
          appending.catch(() => {});
        }
      }
      if (listing.read_urls === 0) listing.first_row = rows[0];
      const data: UrlsListed = { job_id, from_index: listing.read_urls, urls };
      if (listing.first_row !== undefined) data.rows = foldRows(rows);
      if (refs.some((ref) => ref !== null)) data.refs = refs;
      waiting.push({ type: 'UrlsListed', data });
      waiting_bytes += size_bytes;
      listing.read_urls += urls.length;
    },
    /** Appends the chunks that still wait, of which the last one always does. */
    async end(): Promise<void> {
      await appending;
      await append();
    },
    /** Resolves when no append is in flight, however it ended. */
    async settled(): Promise<void> {
      await appending?.catch(() => {});
    },
  };
  return listing;
}

interface Chunk {
  urls: string[];
  rows: number[];
  /** Empty where no URL has one. */
  refs: (string | null)[];
  size_bytes: number;
}

/** Characters of one byte each in JSON. Others have at most three for each UTF-16 unit. */
const OF_ONE_BYTE = /^[ !#-[\]-~]*$/;
/** The most bytes of a URL in an event: besides, quotes, commas and the row have few. */
const mostBytes = (url: string) => url.length * (OF_ONE_BYTE.test(url) ? 1 : 3) + 24;

async function* chunksOf(pages: Submission['pages']): AsyncGenerator<Chunk> {
  const empty = (): Chunk => ({ urls: [], rows: [], refs: [], size_bytes: 0 });
  let chunk = empty();
  for await (const { urls, rows, refs } of pages) {
    for (const [at, url] of urls.entries()) {
      const ref = refs?.[at] ?? null;
      const size_bytes = mostBytes(url) + (ref === null ? 0 : mostBytes(ref));
      if (chunk.urls.length > 0 && chunk.size_bytes + size_bytes > CHUNK_BYTES) {
        yield chunk;
        chunk = empty();
      }
      chunk.urls.push(url);
      if (rows) chunk.rows.push(rows[at]!);
      // A listing's pages may begin to have names in the middle of a chunk.
      if (ref !== null && chunk.refs.length === 0) chunk.refs = chunk.urls.slice(1).map(() => null);
      if (ref !== null || chunk.refs.length > 0) chunk.refs.push(ref);
      chunk.size_bytes += size_bytes;
      if (chunk.urls.length < CHUNK_URLS) continue;
      yield chunk;
      chunk = empty();
    }
  }
  if (chunk.urls.length > 0) yield chunk;
}
