// Publishes the work of processing jobs, each URL to the checker that has its host. It keeps the queue shallow and gives owners turns, so that
// a small job does not wait for a large one. It finds work that the queue or a checker has lost, and publishes it again. The cost of a pass
// depends on the changes since the last one and on the messages that it publishes, not on the number of waiting jobs.
import { randomInt, randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Message, Queue } from '../checkers/queue.ts';
import {
  type Alive,
  type InHand,
  MEMBERS_SUBJECT,
  type Members as MembersView,
  type Work,
  type WorkRange,
} from '../checkers/work.ts';
import { BEGINNING, type Position } from '../events/event-store.ts';
import { isOfStore } from '../events/store-faults.ts';
import { EventFromLater } from '../events/unreadable.ts';
import type { UrlListing } from '../events/url-listing.ts';
import type { JobDocument } from '../readmodels/jobs/jobs.ts';
import type { LiveCollection } from '../readmodels/read-models.ts';
import { MAX_HANDED_OUT_JOBS, type WorkSign } from '../roles/role-signs.ts';
import { Flight, progressOf, type Range } from './flights.ts';
import { ANYONE, Members, type MembersChange } from './members.ts';
import { LossWatch, Publications, subjectOf, Target, takeRanges } from './targets.ts';
import { Window } from './window.ts';

/** A message has about this many URLs of one job. */
const URLS_A_MESSAGE = 100;
/** All owners' turns of a round share this many URLs, so that each owner's next turn comes soon; a turn has at least the minimum. */
const URLS_A_ROUND = 10_000;
const MIN_URLS_A_MESSAGE = 20;
const MESSAGE_BYTES = 1024; // at the most, without its ranges
/** Documents in one read. */
const PAGE = 1000;
/** Checkers tell every 10 s what they have in hand. */
const IN_HAND_MS = 15_000;
/** A job fails when its listing lacked URLs this many times. */
const MAX_UNLISTED = 3;

export interface DispatchOptions {
  jobs: Pick<LiveCollection<JobDocument>, 'find' | 'stream' | 'get'>;
  queue: Pick<Queue, 'depth' | 'publish' | 'drop' | 'broadcast' | 'losses' | 'max_body_bytes'>;
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
  /** Takes a checker's announcement of itself and of its slots, which the window follows. */
  hearAlive(alive: Alive): void;
  /** Takes what a pass has broadcast, when it comes back. */
  hearMembers(members: MembersView): void;
  /** The work that is published and not done. */
  inFlight(): WorkSign;
}

export function openDispatcher(options: DispatchOptions): Dispatcher {
  const { jobs, queue, listing, logger, monotonic } = options;
  const nonce = randomUUID().slice(0, 8);
  const flights = new Map<string, Flight>();
  const members = new Members(randomInt(2 ** 16), monotonic());
  let targets = new Map<string, Target>();
  const window = new Window();
  /** How many times all was published again, because nobody knew what had been published. */
  let resets = 0;
  const published = new Publications();
  const losses = new LossWatch(queue);
  let cursor: Position | null = null; // before the processing jobs have been read
  const targetOf = (url: string) => members.targetOf(url);
  const warn = (message: string) => (err: unknown) => logger.warn({ err }, message);

  /** Runs `change` and tells the window of its effect on the flight's held URLs. */
  function counted(flight: Flight, change: () => void): void {
    const before = flight.held;
    change();
    window.hold(flight.job.owner_id, flight.held - before);
  }

  function drop(flight: Flight): void {
    counted(flight, () => (flight.held = 0));
    wait(flight);
    flights.delete(flight.job._id);
  }

  /** Takes the flight's turns away. */
  function wait({ job: { _id, owner_id } }: Flight): void {
    for (const { turns } of targets.values()) turns.remove(owner_id, _id);
  }

  /** The checkers have changed: work that is lost or has not been sent goes to those who have its hosts now. */
  function followMembers({ has_changed, gone, released, is_superseded }: MembersChange): void {
    if (is_superseded) {
      logger.warn('another dispatcher has worked meanwhile: this one publishes again what is not done');
      for (const flight of flights.values()) drop(flight);
      cursor = null;
      resets++;
    }
    if (has_changed) targets = new Map(members.targets.map((id) => [id, targets.get(id) ?? new Target(id)]));
    for (const id of gone) {
      returned(id, () => true);
      queue.drop(subjectOf(id)).catch(warn('messages that nobody shall have stay in the queue'));
    }
    for (const [id, partitions] of released) returned(id, (url) => partitions.has(members.partitionOf(url)));
    if (!has_changed && gone.length === 0) return;
    for (const flight of flights.values()) {
      if (has_changed) flight.sortAgain(targetOf);
      queueUp(flight);
    }
  }

  /** A checker will not do those of the URLs that were sent to it. */
  function returned(target: string, isReturned: (url: string) => boolean): void {
    for (const flight of flights.values()) {
      for (const batch of flight.sentTo(target)) flight.lost(batch, target, isReturned);
    }
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
      const ended = (batch: number, sent_to: Iterable<string>) => {
        for (const target of sent_to) published.delete(job._id, batch, target);
      };
      counted(known, () => known.progressed(progress, ended));
    } else flight = new Flight(progress);
    flights.set(job._id, flight);
    queueUp(flight);
  }

  /** Gives the flight turns while it has unpublished URLs. Lost work may be done before it is published again. */
  function queueUp(flight: Flight): void {
    const { _id, owner_id } = flight.job;
    const has_next = flight.next() !== null;
    for (const { id, turns } of targets.values()) {
      if (has_next || flight.waitsFor(id)) turns.add(owner_id, _id, flight);
      else turns.remove(owner_id, _id);
    }
  }

  async function findLost(): Promise<void> {
    // First what may fail: what is silent is forgotten as it is returned.
    const has_lost = await losses.hasLost(monotonic());
    const lost = published.silentSince(monotonic() - options.lost_after_ms);
    if (has_lost) {
      logger.warn('the queue has lost messages: what no checker has in hand is published again');
      lost.push(...published.notInHandSince(monotonic() - IN_HAND_MS));
    }
    for (const { job_id, batch, target } of lost) {
      const flight = flights.get(job_id);
      if (!flight) continue;
      flight.lost(batch, target);
      queueUp(flight);
    }
  }

  /** Returns the next message to the target of the owner whose turn it is; null when the owner has none now. */
  async function nextMessage(target: Target): Promise<Message | null> {
    const owner_id = target.turns.nextOwner()!;
    const mayRead = (one: Flight) => one.isNextReturned || window.hasRoom({ owner_id, held: one.held }, monotonic());
    const flight = target.turns.nextJob(owner_id, (one) => one.waitsFor(target.id) || mayRead(one));
    if (!flight) return null;
    const turn = Math.max(MIN_URLS_A_MESSAGE, Math.ceil(URLS_A_ROUND / target.turns.owners));
    const most_urls = Math.min(URLS_A_MESSAGE, turn);
    while (flight.waiting(target.id) < most_urls && mayRead(flight)) {
      const range = flight.next();
      if (range === null) break;
      if (!(await read(flight, range))) return null;
    }
    const ranges = takeRanges(flight, target, most_urls, queue.max_body_bytes - MESSAGE_BYTES);
    if (ranges === null) {
      await unlisted(flight, target.id);
      return null;
    }
    queueUp(flight);
    return ranges.length === 0 ? null : messageOf(flight, target, ranges);
  }

  /** Reads a range of the job's list. False when it lacks URLs, so that the job waits. */
  async function read(flight: Flight, range: Range): Promise<boolean> {
    const { _id: job_id } = flight.job;
    const { from, to } = range;
    let is_later = false;
    const urls = await listing.range(job_id, from, to).catch((error: unknown) => {
      is_later = error instanceof EventFromLater;
      if (isOfStore(error)) throw error;
      logger.error({ err: error, job_id }, 'the listing of a job cannot be read');
      return [];
    });
    if (urls.length === to - from) counted(flight, () => flight.take(range, urls, targetOf));
    else await unlisted(flight, `${from}-${to}`, is_later);
    return urls.length === to - from;
  }

  function messageOf(flight: Flight, { id: target }: Target, ranges: WorkRange[]): Message {
    const { _id: job_id, owner_id, revision, batch_size, position } = flight.job;
    for (const { batch } of ranges) published.heard(job_id, batch, target, monotonic());
    flight.unlisted = 0;
    const [first, last] = [ranges[0]!, ranges.at(-1)!];
    const of_view = members.targets.length > 1 ? `:${members.view}` : '';
    const again = flight.losses + resets > 0 ? `:${nonce}${flight.losses}.${resets}` : '';
    const id = `${job_id}:${first.from_index}-${last.from_index + last.urls.length}:${revision}${of_view}${again}`;
    const work: Work = { owner_id, job_id, revision, batch_size, position, ranges };
    const traceparent = listing.traceparentOf?.(job_id);
    if (traceparent !== undefined) work.traceparent = traceparent;
    if (flight.job.has_options) work.has_options = true;
    if (target !== ANYONE) work.view = members.view;
    return { id, body: work };
  }

  /**
   * Handles a job whose listing lacks URLs, or whose URL fits no message. It drops a deleted job; it tries any other again after
   * `lost_after_ms`, and fails it after `MAX_UNLISTED` times, but not one whose listing is of a later version.
   * Other jobs continue meanwhile.
   */
  async function unlisted(flight: Flight, which: string, is_later = false): Promise<void> {
    const { _id: job_id } = flight.job;
    if (!(await jobs.get(job_id))) return drop(flight);
    logger.error({ job_id, which }, 'URLs of a job are not in its listing, or fit no message');
    wait(flight);
    // Before the command, which may fail: then the job is looked at again.
    published.heard(job_id, -1, ANYONE, monotonic());
    if (!is_later && ++flight.unlisted >= MAX_UNLISTED) await options.fail(job_id);
  }

  /** Publishes to the target as many messages as its queue has room for. Returns whether more are left. */
  async function fill(target: Target): Promise<boolean> {
    const { turns } = target;
    const room = target.depth.room(target.waiting, monotonic());
    const messages: Message[] = [];
    try {
      for (let idle = 0; messages.length < room && idle < turns.owners; ) {
        const { owners } = turns;
        const message = await nextMessage(target);
        if (message) messages.push(message);
        idle = message || turns.owners < owners ? 0 : idle + 1;
      }
    } finally {
      // Messages made before an outage of the log count as published, so the queue must get them.
      if (messages.length > 0) await publish(target, messages);
    }
    return turns.owners > 0 && messages.length >= room;
  }

  return {
    async pass({ has_moved = true, has_flipped = false } = {}) {
      followMembers(members.look(monotonic()));
      const view = members.announcement(monotonic());
      if (view) queue.broadcast(MEMBERS_SUBJECT, view).catch(warn('the checkers do not hear of each other'));
      if (has_flipped) cursor = null;
      if (has_moved || cursor === null) await follow();
      await findLost();
      let more = false;
      const due = [...targets.values()].filter(({ turns }) => turns.owners > 0);
      await Promise.all(due.map(async (target) => (target.waiting = await queue.depth(target.subject))));
      for (const target of due) more = (await fill(target)) || more;
      return { more };
    },
    hear({ checker_id, jobs: in_hand }) {
      for (const { job_id, batches } of in_hand)
        for (const batch of batches) published.inHand(job_id, batch, [checker_id, ANYONE], monotonic());
    },
    hearAlive(alive) {
      window.hear(alive, monotonic());
      members.hear(alive, monotonic());
    },
    hearMembers: (view) => members.heardItself(view, monotonic()),
    inFlight() {
      const { batches, jobs: ids, oldest } = published.summary((job_id) => flights.has(job_id), MAX_HANDED_OUT_JOBS);
      const urls_by_job = Object.fromEntries(ids.map((id) => [id, flights.get(id)!.held]));
      const waiting = [...targets.values()].reduce((sum, { id, waiting }) => sum + (id === ANYONE ? 0 : waiting), 0);
      return {
        ...{ jobs: flights.size, batches, urls: window.held, urls_by_job, waiting: window.held === 0 ? 0 : waiting },
        oldest: oldest && { job_id: oldest.job_id, for_ms: Math.round(monotonic() - oldest.since) },
      };
    },
  };

  /** Publishes messages. When the queue refuses them, their batches count as lost. */
  async function publish(target: Target, messages: readonly Message[]): Promise<void> {
    try {
      await queue.publish(target.subject, messages);
      target.depth.published(messages.length);
      target.waiting += messages.length;
    } catch (error) {
      for (const { body } of messages) {
        const { job_id, ranges } = body as Work;
        const flight = flights.get(job_id);
        if (!flight) continue;
        for (const { batch } of ranges) {
          published.delete(job_id, batch, target.id);
          flight.lost(batch, target.id);
        }
        queueUp(flight);
      }
      throw error;
    }
  }
}
