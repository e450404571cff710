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
import { workMessage } from './work-message.ts';

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

/** Publishes the work of processing jobs, pass by pass. */
export class Dispatcher {
  readonly #options: DispatchOptions;
  readonly #queue: DispatchOptions['queue'];
  readonly #logger: Logger;
  readonly #now: () => number;
  readonly #nonce = randomUUID().slice(0, 8);
  readonly #flights = new Map<string, Flight>();
  readonly #members: Members;
  #targets = new Map<string, Target>();
  readonly #window = new Window();
  /** How many times all was published again, because nobody knew what had been published. */
  #resets = 0;
  readonly #published = new Publications();
  readonly #losses: LossWatch;
  /** Null before the processing jobs have been read. */
  #cursor: Position | null = null;

  constructor(options: DispatchOptions) {
    this.#options = options;
    this.#queue = options.queue;
    this.#logger = options.logger;
    this.#now = options.monotonic;
    this.#members = new Members(randomInt(2 ** 16), options.monotonic());
    this.#losses = new LossWatch(options.queue);
  }

  /**
   * Publishes work once. `has_moved` false: the read models are as in the last pass and are not read. `has_flipped`: they were
   * rebuilt, so all processing jobs are read. `more`: the full queue left some unpublished. Throws the stores' errors; the
   * next pass goes on.
   */
  async pass({ has_moved = true, has_flipped = false } = {}): Promise<{ more: boolean }> {
    this.#followMembers(this.#members.look(this.#now()));
    const view = this.#members.announcement(this.#now());
    if (view) this.#queue.broadcast(MEMBERS_SUBJECT, view).catch(this.#warn('the checkers do not hear of each other'));
    if (has_flipped) this.#cursor = null;
    if (has_moved || this.#cursor === null) await this.#follow();
    await this.#findLost();
    let more = false;
    const due = [...this.#targets.values()].filter(({ turns }) => turns.owners > 0);
    await Promise.all(due.map(async (target) => (target.waiting = await this.#queue.depth(target.subject))));
    for (const target of due) more = (await this.#fill(target)) || more;
    return { more };
  }

  /** Takes a checker's report of its batches in hand, which are not lost. */
  observeInHand({ checker_id, jobs: in_hand }: InHand): void {
    for (const { job_id, batches } of in_hand)
      for (const batch of batches) this.#published.inHand(job_id, batch, [checker_id, ANYONE], this.#now());
  }

  /** Takes a checker's announcement of itself and of its slots, which the window follows. */
  observeAlive(alive: Alive): void {
    this.#window.observe(alive, this.#now());
    this.#members.observe(alive, this.#now());
  }

  /** Takes what a pass has broadcast, when it comes back. */
  observeMembers(view: MembersView): void {
    this.#members.observeItself(view, this.#now());
  }

  /** The work that is published and not done. */
  inFlight(): WorkSign {
    const isKnown = (job_id: string) => this.#flights.has(job_id);
    const { batches, jobs: ids, oldest } = this.#published.summary(isKnown, MAX_HANDED_OUT_JOBS);
    const urls_by_job = Object.fromEntries(ids.map((id) => [id, this.#flights.get(id)!.held]));
    const urls = this.#window.held;
    const sent = [...this.#targets.values()].filter(({ id }) => urls > 0 && id !== ANYONE);
    const waiting = sent.reduce((sum, target) => sum + target.waiting, 0);
    return {
      ...{ jobs: this.#flights.size, batches, urls, urls_by_job, waiting, lost: this.#published.lost(isKnown) },
      oldest: oldest && { job_id: oldest.job_id, for_ms: Math.round(this.#now() - oldest.since) },
    };
  }

  /** Runs `change` and tells the window of its effect on the flight's held URLs. */
  #counted(flight: Flight, change: () => void): void {
    const before = flight.held;
    change();
    this.#window.hold(flight.job.owner_id, flight.held - before);
  }

  #drop(flight: Flight): void {
    this.#counted(flight, () => (flight.held = 0));
    this.#wait(flight);
    this.#flights.delete(flight.job._id);
  }

  /** Takes the flight's turns away. */
  #wait({ job: { _id, owner_id } }: Flight): void {
    for (const { turns } of this.#targets.values()) turns.remove(owner_id, _id);
  }

  /** The checkers have changed: work that is lost or has not been sent goes to those who have its hosts now. */
  #followMembers({ has_changed, gone, released, is_superseded }: MembersChange): void {
    if (is_superseded) {
      this.#logger.warn('another dispatcher has worked meanwhile: this one publishes again what is not done');
      for (const flight of this.#flights.values()) this.#drop(flight);
      this.#cursor = null;
      this.#resets++;
    }
    if (has_changed)
      this.#targets = new Map(this.#members.targets.map((id) => [id, this.#targets.get(id) ?? new Target(id)]));
    for (const id of gone) {
      this.#returned(id, () => true);
      this.#queue.drop(subjectOf(id)).catch(this.#warn('messages that nobody shall have stay in the queue'));
    }
    for (const [id, partitions] of released)
      this.#returned(id, (url) => partitions.has(this.#members.partitionOf(url)));
    if (!has_changed && gone.length === 0) return;
    for (const flight of this.#flights.values()) {
      if (has_changed) flight.sortAgain(this.#targetOf);
      this.#queueUp(flight);
    }
  }

  /** A checker will not do those of the URLs that were sent to it. */
  #returned(target: string, isReturned: (url: string) => boolean): void {
    for (const flight of this.#flights.values())
      for (const batch of flight.sentTo(target)) flight.lost(batch, target, isReturned);
  }

  /** Reads the jobs that have changed since the last pass. */
  async #follow(): Promise<void> {
    if (this.#cursor === null) {
      const [newest] = await this.#options.jobs.find({}, { sort: { position: -1 }, limit: 1 });
      const found = new Set<string>();
      for await (const job of this.#options.jobs.stream({ status: 'processing' })) {
        found.add(job._id);
        this.#note(job);
      }
      for (const flight of this.#flights.values()) if (!found.has(flight.job._id)) this.#drop(flight);
      this.#cursor = newest?.position ?? BEGINNING;
    }
    for (let page: JobDocument[]; ; ) {
      page = await this.#options.jobs.find({ position: { $gt: this.#cursor } }, { sort: { position: 1 }, limit: PAGE });
      for (const job of page) this.#note(job);
      this.#cursor = page.at(-1)?.position ?? this.#cursor;
      if (page.length < PAGE) return;
    }
  }

  #note(job: JobDocument): void {
    let flight = this.#flights.get(job._id);
    if (flight && (job.status !== 'processing' || flight.job.revision !== job.revision)) {
      this.#drop(flight);
      flight = undefined;
    }
    if (job.status !== 'processing') return;
    const progress = progressOf(job);
    if (flight) {
      const known = flight;
      const ended = (batch: number, sent_to: Iterable<string>) => {
        for (const target of sent_to) this.#published.delete(job._id, batch, target);
      };
      this.#counted(known, () => known.progressed(progress, ended));
    } else flight = new Flight(progress);
    this.#flights.set(job._id, flight);
    this.#queueUp(flight);
  }

  /** Gives the flight turns while it has unpublished URLs. Lost work may be done before it is published again. */
  #queueUp(flight: Flight): void {
    const { _id, owner_id } = flight.job;
    const has_next = flight.next() !== null;
    for (const { id, turns } of this.#targets.values()) {
      if (has_next || flight.waitsFor(id)) turns.add(owner_id, _id, flight);
      else turns.remove(owner_id, _id);
    }
  }

  async #findLost(): Promise<void> {
    // First what may fail: what is silent is forgotten as it is returned.
    const has_lost = await this.#losses.hasLost(this.#now());
    const lost = this.#published.silentSince(this.#now() - this.#options.lost_after_ms);
    if (has_lost) {
      this.#logger.warn('the queue has lost messages: what no checker has in hand is published again');
      lost.push(...this.#published.lostSince(this.#now() - IN_HAND_MS));
    }
    for (const { job_id, batch, target } of lost) {
      const flight = this.#flights.get(job_id);
      if (!flight) continue;
      flight.lost(batch, target);
      this.#queueUp(flight);
    }
  }

  /** Returns the next message to the target of the owner whose turn it is; null when the owner has none now. */
  async #nextMessage(target: Target): Promise<Message | null> {
    const owner_id = target.turns.nextOwner()!;
    const mayRead = (one: Flight) =>
      one.isNextReturned || this.#window.hasRoom({ owner_id, held: one.held }, this.#now());
    const flight = target.turns.nextJob(owner_id, (one) => one.waitsFor(target.id) || mayRead(one));
    if (!flight) return null;
    const share = Math.ceil(URLS_A_ROUND / target.turns.owners);
    const most_urls = Math.min(URLS_A_MESSAGE, Math.max(MIN_URLS_A_MESSAGE, share));
    while (flight.waiting(target.id) < most_urls && mayRead(flight)) {
      const range = flight.next();
      if (range === null) break;
      if (!(await this.#read(flight, range))) return null;
    }
    const ranges = takeRanges(flight, target, most_urls, this.#queue.max_body_bytes - MESSAGE_BYTES);
    if (ranges === null) {
      await this.#unlisted(flight, target.id);
      return null;
    }
    this.#queueUp(flight);
    return ranges.length === 0 ? null : this.#messageOf(flight, target, ranges);
  }

  /** Reads a range of the job's list. False when it lacks URLs, so that the job waits. */
  async #read(flight: Flight, range: Range): Promise<boolean> {
    const { _id: job_id } = flight.job;
    const { from, to } = range;
    let is_later = false;
    const urls = await this.#options.listing.range(job_id, from, to).catch((error: unknown) => {
      is_later = error instanceof EventFromLater;
      if (isOfStore(error)) throw error;
      this.#logger.error({ err: error, job_id }, 'the listing of a job cannot be read');
      return [];
    });
    if (urls.length === to - from) this.#counted(flight, () => flight.take(range, urls, this.#targetOf));
    else await this.#unlisted(flight, `${from}-${to}`, is_later);
    return urls.length === to - from;
  }

  #messageOf(flight: Flight, { id: target }: Target, ranges: WorkRange[]): Message {
    const job_id = flight.job._id;
    for (const { batch } of ranges) this.#published.heard(job_id, batch, target, this.#now());
    flight.unlisted = 0;
    const of_view = this.#members.targets.length > 1 ? `:${this.#members.view}` : '';
    const again = flight.losses + this.#resets > 0 ? `:${this.#nonce}${flight.losses}.${this.#resets}` : '';
    const view = target === ANYONE ? undefined : this.#members.view;
    const traceparent = this.#options.listing.traceparentOf?.(job_id);
    return workMessage(flight.job, { ranges, view, traceparent, suffix: `${of_view}${again}` });
  }

  /**
   * Handles a job whose listing lacks URLs, or whose URL fits no message. It drops a deleted job; it tries any other again after
   * `lost_after_ms`, and fails it after `MAX_UNLISTED` times, but not one whose listing is of a later version.
   * Other jobs continue meanwhile.
   */
  async #unlisted(flight: Flight, which: string, is_later = false): Promise<void> {
    const { _id: job_id } = flight.job;
    if (!(await this.#options.jobs.get(job_id))) return this.#drop(flight);
    this.#logger.error({ job_id, which }, 'URLs of a job are not in its listing, or fit no message');
    this.#wait(flight);
    // Before the command, which may fail: then the job is looked at again.
    this.#published.heard(job_id, -1, ANYONE, this.#now());
    if (!is_later && ++flight.unlisted >= MAX_UNLISTED) await this.#options.fail(job_id);
  }

  /** Publishes to the target as many messages as its queue has room for. Returns whether more are left. */
  async #fill(target: Target): Promise<boolean> {
    const { turns } = target;
    const room = target.depth.room(target.waiting, this.#now());
    const messages: Message[] = [];
    try {
      for (let idle = 0; messages.length < room && idle < turns.owners; ) {
        const { owners } = turns;
        const message = await this.#nextMessage(target);
        if (message) messages.push(message);
        idle = message || turns.owners < owners ? 0 : idle + 1;
      }
    } finally {
      // Messages made before an outage of the log count as published, so the queue must get them.
      if (messages.length > 0) await this.#publish(target, messages);
    }
    return turns.owners > 0 && messages.length >= room;
  }

  /** Publishes messages. When the queue refuses them, their batches count as lost. */
  async #publish(target: Target, messages: readonly Message[]): Promise<void> {
    try {
      await this.#queue.publish(target.subject, messages);
      target.depth.published(messages.length);
      target.waiting += messages.length;
    } catch (error) {
      for (const { body } of messages) {
        const { job_id, ranges } = body as Work;
        const flight = this.#flights.get(job_id);
        if (!flight) continue;
        for (const { batch } of ranges) {
          this.#published.delete(job_id, batch, target.id);
          flight.lost(batch, target.id);
        }
        this.#queueUp(flight);
      }
      throw error;
    }
  }

  readonly #targetOf = (url: string) => this.#members.targetOf(url);
  readonly #warn = (message: string) => (err: unknown) => this.#logger.warn({ err }, message);
}
