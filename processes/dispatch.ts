// Publishes the work of processing jobs. The queue is kept shallow and owners take turns, so that a small job is not
// behind a large one; what the queue has lost is found by its age and published again. A pass costs as much as has changed
// since the last one and what it publishes, however many jobs wait.
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Message, Queue } from '../checkers/queue.ts';
import { type InHand, WORK_SUBJECT, type Work, type WorkRange } from '../checkers/work.ts';
import { BEGINNING, jsonBytes, type Position } from '../events/event-store.ts';
import type { JobDocument } from '../readmodels/jobs.ts';
import type { LiveCollection } from '../readmodels/read-models.ts';
import { Flight, type Progress } from './flights.ts';
import { Turns } from './turns.ts';
import type { UrlListing } from './url-listing.ts';

/** Messages that wait for a checker, over all jobs: enough that none is idle between two passes. */
const QUEUE_DEPTH = 64;
/** Small batches of a job go together, in messages of at most so many URLs. */
const URLS_A_MESSAGE = 100;
/** Where many owners have work, a turn of each is shorter, so that the others are not long in coming; but not too short. */
const URLS_A_ROUND = 10_000;
const MIN_URLS_A_MESSAGE = 20;
/** Of a message, all but its URLs. */
const MESSAGE_BYTES = 1024;
const RANGE_BYTES = 64;
/**
 * URLs that are published and not done, over all jobs. An owner may have as many as are free, and a job as many as the
 * owner has free: one alone gets a third, and however many of them are held up by slow hosts, there is room for the next.
 */
const HELD_URLS = 32_768;
/** Documents of one read. */
const PAGE = 1000;
/** A listing in which URLs were missing so often is damaged. */
const MAX_UNLISTED = 3;

export interface DispatchOptions {
  jobs: Pick<LiveCollection<JobDocument>, 'find' | 'stream' | 'get'>;
  queue: Pick<Queue, 'depth' | 'publish' | 'max_body_bytes'>;
  listing: UrlListing;
  logger: Logger;
  /** Milliseconds that never go back. */
  monotonic: () => number;
  /** After this long without its results, and without a checker that has it in hand, a batch is taken for lost. */
  lost_after_ms: number;
  /** Ends a job whose listing is not there any more. */
  fail: (job_id: string) => Promise<unknown>;
}

export interface Dispatcher {
  /** One pass: says whether work was left because the queue was full. */
  pass(): Promise<{ more: boolean }>;
  /** A checker says what it has in hand: that is not lost. */
  hear(in_hand: InHand): void;
}

export function openDispatcher(options: DispatchOptions): Dispatcher {
  const { jobs, queue, listing, logger, monotonic } = options;
  const nonce = randomUUID().slice(0, 8);
  const flights = new Map<string, Flight>();
  const turns = new Turns<Flight>();
  const held_by_owner = new Map<string, number>();
  let held = 0;
  /** What is published and not done, by job and batch, with when it was last heard of: the longest ago first. */
  const out = new Map<string, { job_id: string; batch: number; at: number }>();
  /** Null before the processing jobs have been read. */
  let cursor: Position | null = null;

  const keyOf = (job_id: string, batch: number) => `${job_id}:${batch}`;
  function heardOf(job_id: string, batch: number): void {
    const key = keyOf(job_id, batch);
    out.delete(key);
    out.set(key, { job_id, batch, at: monotonic() });
  }
  /** Does what changes how much a flight holds. */
  function counted(flight: Flight, change: () => void): void {
    const before = flight.held;
    change();
    const { owner_id } = flight.job;
    const of_owner = (held_by_owner.get(owner_id) ?? 0) + flight.held - before;
    held += flight.held - before;
    if (of_owner > 0) held_by_owner.set(owner_id, of_owner);
    else held_by_owner.delete(owner_id);
  }

  function drop(flight: Flight): void {
    const { _id, owner_id } = flight.job;
    counted(flight, () => (flight.held = 0));
    turns.remove(owner_id, _id);
    flights.delete(_id);
  }

  /** What has changed since the last pass. */
  async function follow(): Promise<void> {
    if (cursor === null) {
      const [newest] = await jobs.find({}, { sort: { position: -1 }, limit: 1 });
      for await (const job of jobs.stream({ status: 'processing' })) note(job);
      cursor = newest?.position ?? BEGINNING;
    }
    for (let page: JobDocument[]; ; ) {
      page = await jobs.find({ position: { $gt: cursor } }, { sort: { position: 1 }, limit: PAGE });
      for (const job of page) note(job);
      cursor = page.at(-1)?.position ?? cursor;
      if (page.length < PAGE) return;
    }
  }

  function note(job: JobDocument): void {
    let flight = flights.get(job._id);
    if (flight && (job.status !== 'processing' || flight.job.revision !== job.revision)) {
      drop(flight);
      flight = undefined;
    }
    if (job.status !== 'processing') return;
    const progress = progressOf(job);
    if (flight) {
      const known = flight;
      counted(known, () => known.progressed(progress, (batch) => out.delete(keyOf(job._id, batch))));
    } else flight = new Flight(progress);
    flights.set(job._id, flight);
    if (flight.next()) turns.add(job.owner_id, job._id, flight);
  }

  function findLost(): void {
    const longest_ago = monotonic() - options.lost_after_ms;
    for (const [key, { job_id, batch, at }] of out) {
      if (at >= longest_ago) return;
      out.delete(key);
      const flight = flights.get(job_id);
      if (!flight) continue;
      counted(flight, () => flight.lost(batch));
      flight.losses++;
      if (flight.next()) turns.add(flight.job.owner_id, job_id, flight);
    }
  }

  /** The message of the owner whose turn it is; null when it has none now. */
  async function nextMessage(): Promise<Message | null> {
    const owner_id = turns.nextOwner()!;
    const of_owner = held_by_owner.get(owner_id) ?? 0;
    const free = HELD_URLS - held;
    if (of_owner > 0 && of_owner >= free) return null;
    const flight = turns.nextJob(owner_id, (one) => one.held === 0 || one.held < free - of_owner);
    return flight ? messageOf(flight) : null;
  }

  /** Its next ranges, as many as a message takes. */
  async function messageOf(flight: Flight): Promise<Message | null> {
    const { _id: job_id, owner_id, revision, batch_size, position } = flight.job;
    const ranges: WorkRange[] = [];
    const turn = Math.max(MIN_URLS_A_MESSAGE, Math.ceil(URLS_A_ROUND / turns.owners));
    let urls_left = Math.min(URLS_A_MESSAGE, turn);
    let bytes_left = queue.max_body_bytes - MESSAGE_BYTES;
    let next = flight.next();
    for (; next && (ranges.length === 0 || next.to - next.from <= urls_left); next = flight.next()) {
      const { batch, from, to } = next;
      const urls = await listing.range(job_id, from, to).catch((error: unknown) => {
        if (ranges.length === 0) throw error;
        return null;
      });
      if (urls === null) break;
      if (urls.length !== to - from) {
        await unlisted(flight, from, to);
        return null;
      }
      bytes_left -= RANGE_BYTES;
      const fitting = urls.findIndex((url) => (bytes_left -= jsonBytes(url) + 1) < 0);
      if (fitting === 0 && ranges.length > 0) break;
      const taken = fitting < 0 ? urls : urls.slice(0, fitting);
      if (taken.length === 0) {
        await unlisted(flight, from, to);
        return null;
      }
      ranges.push({ batch, from_index: from, urls: taken });
      counted(flight, () => flight.published({ batch, from, to: from + taken.length }));
      heardOf(job_id, batch);
      urls_left -= taken.length;
      if (fitting >= 0) break;
    }
    if (!flight.next()) turns.remove(owner_id, job_id);
    flight.unlisted = 0;
    const again = flight.losses > 0 ? `:${nonce}${flight.losses}` : '';
    const last = ranges.at(-1)!;
    const id = `${job_id}:${ranges[0]!.from_index}-${last.from_index + last.urls.length}:${revision}${again}`;
    return { id, body: { owner_id, job_id, revision, batch_size, position, ranges } satisfies Work };
  }

  /**
   * The job was deleted meanwhile, its listing is damaged, or no message takes its URL: it is looked at again after a while,
   * and holds nobody else up.
   */
  async function unlisted(flight: Flight, from: number, to: number): Promise<void> {
    const { _id: job_id, owner_id } = flight.job;
    if (!(await jobs.get(job_id))) return drop(flight);
    logger.error({ job_id, from, to }, 'URLs of a job are not in its listing, or fit no message');
    turns.remove(owner_id, job_id);
    if (++flight.unlisted >= MAX_UNLISTED) await options.fail(job_id);
    else heardOf(job_id, -1);
  }

  return {
    async pass() {
      await follow();
      findLost();
      const room = turns.owners > 0 ? QUEUE_DEPTH - (await queue.depth(WORK_SUBJECT)) : 0;
      const messages: Message[] = [];
      try {
        for (let idle = 0; messages.length < room && idle < turns.owners; ) {
          const { owners } = turns;
          const message = await nextMessage();
          idle = message || turns.owners < owners ? 0 : idle + 1;
          if (message) messages.push(message);
        }
      } finally {
        // What was made before the log went away is counted as published.
        if (messages.length > 0) await publish(messages);
      }
      return { more: turns.owners > 0 && messages.length >= room };
    },
    hear({ jobs: in_hand }) {
      for (const { job_id, batches } of in_hand) {
        for (const batch of batches) if (out.has(keyOf(job_id, batch))) heardOf(job_id, batch);
      }
    },
  };

  /** What could not be published is as if it were lost. */
  async function publish(messages: readonly Message[]): Promise<void> {
    try {
      await queue.publish(WORK_SUBJECT, messages);
    } catch (error) {
      for (const { body } of messages) {
        const { job_id, ranges } = body as Work;
        const flight = flights.get(job_id);
        if (!flight) continue;
        for (const { batch } of ranges) {
          out.delete(keyOf(job_id, batch));
          counted(flight, () => flight.lost(batch));
        }
        if (flight.next()) turns.add(flight.job.owner_id, job_id, flight);
      }
      throw error;
    }
  }
}

/** All that is kept of a document. */
function progressOf(job: JobDocument): Progress {
  const { _id, owner_id, revision, batch_size, total_urls, credits_allocated, position } = job;
  const { batches_done_before, batches_done } = job;
  return {
    ...{ _id, owner_id, revision, batch_size, total_urls, credits_allocated, position },
    ...{ batches_done_before, batches_done },
  };
}
