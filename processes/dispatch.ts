// Publishes the work of processing jobs. It keeps the queue shallow and gives owners turns, so that a small job does not wait for
// a large one. It finds work that the queue has lost by its age, and publishes it again. The cost of a pass depends on the
// changes since the last one and on the messages that it publishes, not on the number of waiting jobs.
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Message, Queue } from '../checkers/queue.ts';
import { type Alive, type InHand, WORK_SUBJECT, type Work, type WorkRange } from '../checkers/work.ts';
import { BEGINNING, jsonBytes, type Position } from '../events/event-store.ts';
import { isOfStore } from '../events/store-faults.ts';
import { EventFromLater } from '../events/unreadable.ts';
import type { UrlListing } from '../events/url-listing.ts';
import type { JobDocument } from '../readmodels/jobs.ts';
import type { LiveCollection } from '../readmodels/read-models.ts';
import { type HandedOut, MAX_HANDED_OUT_JOBS } from '../roles/role-signs.ts';
import { Flight, type Progress } from './flights.ts';
import { QueueDepth } from './queue-depth.ts';
import { Turns } from './turns.ts';
import { Window } from './window.ts';

/** A message joins small batches of a job, up to this many URLs. */
const URLS_A_MESSAGE = 100;
/** All owners' turns of a round share this many URLs, so that each owner's next turn comes soon; a turn has at least the minimum. */
const URLS_A_ROUND = 10_000;
const MIN_URLS_A_MESSAGE = 20;
/** Upper bounds of a message's size without its ranges, and of a range's without its URLs. */
const MESSAGE_BYTES = 1024;
const RANGE_BYTES = 64;
/** Documents in one read. */
const PAGE = 1000;
/** The interval between two looks whether the queue has lost messages. */
const LOSSES_LOOK_MS = 2_000;
/** Checkers tell every 10 s what they have in hand. */
const IN_HAND_MS = 15_000;
/** A job fails when its listing lacked URLs this many times. */
const MAX_UNLISTED = 3;

export interface DispatchOptions {
  jobs: Pick<LiveCollection<JobDocument>, 'find' | 'stream' | 'get'>;
  queue: Pick<Queue, 'depth' | 'publish' | 'losses' | 'max_body_bytes'>;
  listing: Pick<UrlListing, 'range'> & Partial<Pick<UrlListing, 'traceparentOf'>>;
  logger: Logger;
  /** Milliseconds that never go back. */
  monotonic: () => number;
  /** A batch counts as lost after this long without results and without a checker that has it in hand. */
  lost_after_ms: number;
  /** Fails a job whose listing is damaged. */
  fail: (job_id: string) => Promise<unknown>;
}

export interface Dispatcher {
  /**
   * Publishes work once. `has_moved` false: the read models are as in the last pass and are not read. `has_flipped`: they were
   * rebuilt, so all processing jobs are read. `more`: the full queue left some unpublished. Throws the stores' errors; the
   * next pass goes on.
   */
  pass(options?: { has_moved?: boolean; has_flipped?: boolean }): Promise<{ more: boolean }>;
  /** Takes a checker's report of its batches in hand, which are not lost. */
  hear(in_hand: InHand): void;
  /** Takes a checker's announcement of its slots, which the window follows. */
  hearAlive(alive: Alive): void;
  /** The work that is published and not done. */
  inFlight(): Omit<HandedOut, 'queue_depth'>;
}

export function openDispatcher(options: DispatchOptions): Dispatcher {
  const { jobs, queue, listing, logger, monotonic } = options;
  const nonce = randomUUID().slice(0, 8);
  const flights = new Map<string, Flight>();
  const turns = new Turns<Flight>();
  const queue_depth = new QueueDepth();
  const window = new Window();
  const held_by_owner = new Map<string, number>();
  let held = 0;
  /** Batches that are published and not done, with the time of their last heartbeat, the oldest first. `in_hand_at`: of a checker's. */
  const published = new Map<
    string,
    { job_id: string; batch: number; at: number; since: number; in_hand_at: number | null }
  >();
  const losses = { seen: null as number | null, looked_at: Number.NEGATIVE_INFINITY };
  /** Null before the processing jobs have been read. */
  let cursor: Position | null = null;

  const keyOf = (job_id: string, batch: number) => `${job_id}:${batch}`;
  function heardOf(job_id: string, batch: number, is_in_hand = false): void {
    const key = keyOf(job_id, batch);
    const at = monotonic();
    const since = published.get(key)?.since ?? at;
    published.delete(key);
    published.set(key, { job_id, batch, at, since, in_hand_at: is_in_hand ? at : null });
  }
  /** Runs `change` and adds its effect on the flight's held URLs to the sums. */
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

  /** Reads the jobs that have changed since the last pass. */
  async function follow(): Promise<void> {
    if (cursor === null) {
      const [newest] = await jobs.find({}, { sort: { position: -1 }, limit: 1 });
      const found = new Set<string>();
      for await (const job of jobs.stream({ status: 'processing' })) {
        found.add(job._id);
        note(job);
      }
      for (const flight of flights.values()) if (!found.has(flight.job._id)) drop(flight);
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
      counted(known, () => known.progressed(progress, (batch) => published.delete(keyOf(job._id, batch))));
    } else flight = new Flight(progress);
    flights.set(job._id, flight);
    queueUp(flight);
  }

  /** Gives the flight turns while it has unpublished ranges. A lost batch may end before it is published again. */
  function queueUp(flight: Flight): void {
    const { _id, owner_id } = flight.job;
    if (flight.next()) turns.add(owner_id, _id, flight);
    else turns.remove(owner_id, _id);
  }

  function findLost(): void {
    const lost_before = monotonic() - options.lost_after_ms;
    for (const [key, { job_id, batch, at }] of published) {
      if (at >= lost_before) return;
      lose(key, job_id, batch);
    }
  }

  function lose(key: string, job_id: string, batch: number): void {
    published.delete(key);
    const flight = flights.get(job_id);
    if (!flight) return;
    counted(flight, () => flight.lost(batch));
    flight.losses++;
    queueUp(flight);
  }

  /** When the queue has lost messages, all that no checker has in hand is published again. */
  async function findLosses(): Promise<void> {
    if (!queue.losses || monotonic() - losses.looked_at < LOSSES_LOOK_MS) return;
    losses.looked_at = monotonic();
    const found = await queue.losses();
    const is_new = losses.seen !== null && found > losses.seen;
    losses.seen = found;
    if (!is_new) return;
    logger.warn(
      { batches: published.size },
      'the queue has lost messages: what no checker has in hand is published again',
    );
    const in_hand_after = monotonic() - IN_HAND_MS;
    for (const [key, { job_id, batch, in_hand_at }] of [...published])
      if (batch >= 0 && (in_hand_at ?? Number.NEGATIVE_INFINITY) < in_hand_after) lose(key, job_id, batch);
  }

  /**
   * Returns the next message of the owner whose turn it is; null when the owner has none now. Of the window an owner may hold as many
   * URLs as are free, and a job as many as its owner has free: a single job gets a third, so that slow hosts always leave room for the
   * next job and the next owner.
   */
  async function nextMessage(): Promise<Message | null> {
    const owner_id = turns.nextOwner()!;
    const of_owner = held_by_owner.get(owner_id) ?? 0;
    const free = window.urls(monotonic()) - held;
    if (of_owner > 0 && of_owner >= free) return null;
    const flight = turns.nextJob(owner_id, (one) => one.held === 0 || one.held < free - of_owner);
    return flight ? messageOf(flight) : null;
  }

  /** Makes a message of the flight's next ranges, as many as fit. */
  async function messageOf(flight: Flight): Promise<Message | null> {
    const { _id: job_id, owner_id, revision, batch_size, position } = flight.job;
    const ranges: WorkRange[] = [];
    const turn = Math.max(MIN_URLS_A_MESSAGE, Math.ceil(URLS_A_ROUND / turns.owners));
    let urls_left = Math.min(URLS_A_MESSAGE, turn);
    let bytes_left = queue.max_body_bytes - MESSAGE_BYTES;
    let next = flight.next();
    for (; next && (ranges.length === 0 || next.to - next.from <= urls_left); next = flight.next()) {
      const { batch, from, to, is_begun } = next;
      let is_later = false;
      const urls = await listing.range(job_id, from, to).catch((error: unknown) => {
        is_later = error instanceof EventFromLater;
        if (ranges.length > 0) return null;
        if (isOfStore(error)) throw error;
        logger.error({ err: error, job_id }, 'the listing of a job cannot be read');
        return [];
      });
      if (urls === null) break;
      if (urls.length !== to - from) {
        await unlisted(flight, from, to, is_later);
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
      ranges.push({ batch, from_index: from, urls: taken, ...(is_begun && { is_begun }) });
      const range = next;
      counted(flight, () => flight.published(range, from + taken.length));
      heardOf(job_id, batch);
      urls_left -= taken.length;
      if (fitting >= 0) break;
    }
    if (!flight.next()) turns.remove(owner_id, job_id);
    if (ranges.length === 0) return null;
    flight.unlisted = 0;
    const again = flight.losses > 0 ? `:${nonce}${flight.losses}` : '';
    const last = ranges.at(-1)!;
    const id = `${job_id}:${ranges[0]!.from_index}-${last.from_index + last.urls.length}:${revision}${again}`;
    const traceparent = listing.traceparentOf?.(job_id);
    const work: Work = { owner_id, job_id, revision, batch_size, position, ranges };
    if (flight.job.has_options) work.has_options = true;
    return { id, body: traceparent === undefined ? work : { ...work, traceparent } };
  }

  /**
   * Handles a job whose listing lacks URLs, or whose URL fits no message. It drops a deleted job; it tries any other again after
   * `lost_after_ms`, and fails it after `MAX_UNLISTED` times, but not one whose listing is of a later version. Other jobs continue meanwhile.
   */
  async function unlisted(flight: Flight, from: number, to: number, is_later = false): Promise<void> {
    const { _id: job_id, owner_id } = flight.job;
    if (!(await jobs.get(job_id))) return drop(flight);
    logger.error({ job_id, from, to }, 'URLs of a job are not in its listing, or fit no message');
    turns.remove(owner_id, job_id);
    if (!is_later && ++flight.unlisted >= MAX_UNLISTED) await options.fail(job_id);
    else heardOf(job_id, -1);
  }

  return {
    async pass({ has_moved = true, has_flipped = false } = {}) {
      if (has_flipped) cursor = null;
      if (has_moved || cursor === null) await follow();
      findLost();
      await findLosses();
      const room = turns.owners > 0 ? queue_depth.room(await queue.depth(WORK_SUBJECT), monotonic()) : 0;
      const messages: Message[] = [];
      try {
        for (let idle = 0; messages.length < room && idle < turns.owners; ) {
          const { owners } = turns;
          const message = await nextMessage();
          idle = message || turns.owners < owners ? 0 : idle + 1;
          if (message) messages.push(message);
        }
      } finally {
        // Messages made before an outage of the log count as published, so the queue must get them.
        if (messages.length > 0) await publish(messages);
      }
      return { more: turns.owners > 0 && messages.length >= room };
    },
    hear({ jobs: in_hand }) {
      for (const { job_id, batches } of in_hand) {
        for (const batch of batches) if (published.has(keyOf(job_id, batch))) heardOf(job_id, batch, true);
      }
    },
    hearAlive: (alive) => window.hear(alive, monotonic()),
    inFlight() {
      // A job whose listing lacks URLs has the batch -1, and a dropped job's batches wait for `findLost`.
      const batches = [...published.values()].filter(({ job_id, batch }) => batch >= 0 && flights.has(job_id));
      const ids = [...new Set(batches.map(({ job_id }) => job_id))].slice(0, MAX_HANDED_OUT_JOBS);
      const urls_by_job = Object.fromEntries(ids.map((id) => [id, flights.get(id)!.held]));
      const oldest = batches.reduce<(typeof batches)[number] | null>((a, b) => (a && a.since <= b.since ? a : b), null);
      return {
        ...{ jobs: flights.size, batches: batches.length, urls: held, urls_by_job },
        oldest: oldest && { job_id: oldest.job_id, for_ms: Math.round(monotonic() - oldest.since) },
      };
    },
  };

  /** Publishes messages. When the queue refuses them, their batches count as lost. */
  async function publish(messages: readonly Message[]): Promise<void> {
    try {
      await queue.publish(WORK_SUBJECT, messages);
      queue_depth.published(messages.length);
    } catch (error) {
      for (const { body } of messages) {
        const { job_id, ranges } = body as Work;
        const flight = flights.get(job_id);
        if (!flight) continue;
        for (const { batch } of ranges) {
          published.delete(keyOf(job_id, batch));
          counted(flight, () => flight.lost(batch));
        }
        queueUp(flight);
      }
      throw error;
    }
  }
}

/** Copies the fields that a flight keeps of a job's document. */
function progressOf(job: JobDocument): Progress {
  const { _id, owner_id, revision, batch_size, total_urls, credits_allocated, position } = job;
  const { batches_done_before, batches_done, options } = job;
  return {
    ...{ _id, owner_id, revision, batch_size, total_urls, credits_allocated, position },
    ...{ batches_done_before, batches_done, has_options: options !== undefined },
  };
}
