// Publishes the work of processing jobs. The queue is kept shallow and owners take turns, so that a small job is not
// behind a large one; what the queue has lost is found by its age and published again.

import type { Logger } from 'pino';
import type { Message, Queue } from '../checkers/queue.ts';
import { WORK_SUBJECT, type Work } from '../checkers/work.ts';
import { BEGINNING } from '../events/event-store.ts';
import type { JobDocument } from '../readmodels/jobs.ts';
import type { LiveCollection } from '../readmodels/read-models.ts';
import type { UrlListing } from './url-listing.ts';

/** Messages that wait for a checker, over all jobs: enough that none is idle between two passes. */
const QUEUE_DEPTH = 64;
/** Batches of one job that are published and not done: what slow URLs hold up is bounded. */
const WINDOW_BATCHES = 512;
/** Jobs worked on at a time, the oldest first. */
const MAX_JOBS = 1000;

interface Flight {
  /** The lowest batch of which nothing has been published on this flight. */
  next: number;
  /** Of the job when it began to work: a pause makes void what is published before it, so that a resumption begins anew. */
  revision: number;
  /** In order of publishing, for those not done: batch to the range's end (an index in the job) and the time. */
  published: Map<number, { to: number; at: number }>;
}

export interface DispatchOptions {
  jobs: LiveCollection<JobDocument>;
  queue: Queue;
  listing: UrlListing;
  logger: Logger;
  now: () => number;
  /** After this long without its results a batch is taken for lost. */
  lost_after_ms: number;
}

export interface Dispatcher {
  /** One pass: says whether work was left because the queue was full. */
  pass(): Promise<{ more: boolean }>;
}

export function openDispatcher(options: DispatchOptions): Dispatcher {
  const { jobs, queue, listing, logger, now } = options;
  const flights = new Map<string, Flight>();
  /** Owners in the order of their turns: who was served last stands last. */
  let turns: string[] = [];

  /** What has happened to a job since the last pass. */
  function refresh(job: JobDocument): void {
    const { revision, batches_done_before: next } = job;
    let flight = flights.get(job._id);
    if (flight?.revision !== revision) flight = { next, revision, published: new Map() };
    flights.set(job._id, flight);
    for (const [batch, { to }] of flight.published) {
      if (doneUpTo(job, batch) < to) continue;
      flight.published.delete(batch);
      if (rangeOf(job, batch)) flight.next = Math.min(flight.next, batch);
    }
  }

  /** The job's next range as a message; null when it has none now. */
  async function nextMessage(job: JobDocument): Promise<Message | null> {
    const flight = flights.get(job._id)!;
    const lost = lostBatch(flight);
    const range = lost === null ? nextRange(job, flight) : rangeOf(job, lost);
    if (!range) return null;
    const { batch, from, to } = range;
    const urls = await listing.range(job._id, from, to);
    if (urls.length !== to - from) {
      // Deleted meanwhile, or damaged: it fails for want of progress, and holds nobody else up.
      logger.error({ job_id: job._id, from, to }, 'the listing of a job lacks URLs');
      return null;
    }
    const { owner_id, batch_size, revision } = job;
    const ranges = [{ batch, from_index: from, urls }];
    const work: Work = { owner_id, job_id: job._id, revision, batch_size, position: BEGINNING, ranges };
    const again = lost === null ? '' : `:${now()}`;
    flight.published.delete(batch);
    flight.published.set(batch, { to, at: now() });
    return { id: `${job._id}:${from}-${to}:${revision}${again}`, body: work };
  }

  function lostBatch(flight: Flight): number | null {
    const oldest = flight.published.entries().next().value;
    return oldest && now() - oldest[1].at > options.lost_after_ms ? oldest[0] : null;
  }

  /** The message of the first of an owner's jobs that has work; that job then stands last among them. */
  async function nextOf(theirs: JobDocument[]): Promise<Message | null> {
    for (const [n, job] of theirs.entries()) {
      const message = await nextMessage(job);
      if (!message) continue;
      theirs.push(...theirs.splice(n, 1));
      return message;
    }
    return null;
  }

  return {
    async pass() {
      const found = await jobs.find({ status: 'processing' }, { sort: { created_at: 1 }, limit: MAX_JOBS });
      const processing = new Set(found.map((job) => job._id));
      for (const job_id of flights.keys()) if (!processing.has(job_id)) flights.delete(job_id);
      const owned = Map.groupBy(found, (job) => job.owner_id);
      turns = [...turns.filter((owner) => owned.has(owner)), ...[...owned.keys()].filter((o) => !turns.includes(o))];
      for (const job of found) refresh(job);
      const messages: Message[] = [];
      const room = found.length > 0 ? QUEUE_DEPTH - (await queue.depth(WORK_SUBJECT)) : 0;
      let idle_owners = 0;
      while (messages.length < room && idle_owners < turns.length) {
        const owner = turns.shift()!;
        turns.push(owner);
        const message = await nextOf(owned.get(owner)!);
        idle_owners = message ? 0 : idle_owners + 1;
        if (message) messages.push(message);
      }
      if (messages.length > 0) await queue.publish(WORK_SUBJECT, messages);
      return { more: found.length > 0 && messages.length >= room };
    },
  };
}

interface Range {
  batch: number;
  from: number;
  to: number;
}

/** The next range that has not been published; null when there is none, or the window is full. */
function nextRange(job: JobDocument, flight: Flight): Range | null {
  if (flight.published.size >= WINDOW_BATCHES) return null;
  const batches = Math.ceil(job.credits_allocated / job.batch_size);
  for (; flight.next < batches; flight.next++) {
    if (flight.published.has(flight.next)) continue;
    const range = rangeOf(job, flight.next);
    if (range) return range;
  }
  return null;
}

/** What is missing of a batch and paid for; null when nothing is. */
function rangeOf(job: JobDocument, batch: number): Range | null {
  const from = doneUpTo(job, batch);
  const to = Math.min((batch + 1) * job.batch_size, job.credits_allocated);
  return from < to ? { batch, from, to } : null;
}

/** The index in the job up to which a batch is checked. */
function doneUpTo(job: JobDocument, batch: number): number {
  if (batch < job.batches_done_before) return Math.min((batch + 1) * job.batch_size, job.total_urls);
  return batch * job.batch_size + (job.batches_done[batch] ?? 0);
}
