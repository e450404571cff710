// Who gets work: a checker, or anyone who takes it. Each has a queue of its own, with owners' turns at it. And what was published to each.
import type { Queue } from '../checkers/queue.ts';
import { WORK_SUBJECT, type WorkRange, workSubjectOf } from '../checkers/work.ts';
import { jsonBytes } from '../events/event-store.ts';
import type { Flight } from './flights.ts';
import { ANYONE } from './members.ts';
import { OwnerTurns } from './owner-turns.ts';
import { QueueDepth } from './queue-depth.ts';

/** An upper bound of a range's size without its URLs. */
const RANGE_BYTES = 64;
const LOSSES_LOOK_MS = 2_000;

export const subjectOf = (target: string) => (target === ANYONE ? WORK_SUBJECT : workSubjectOf(target));

export class Target {
  readonly id: string;
  readonly subject: string;
  readonly turns = new OwnerTurns<Flight>();
  readonly depth = new QueueDepth();
  /** Messages that waited at the last look, and those published since. */
  waiting = 0;

  /** `id`: of a checker, or `ANYONE`. */
  constructor(id: string) {
    this.id = id;
    this.subject = subjectOf(id);
  }
}

/**
 * Takes URLs that wait for the target out of the flight: whole batches until there are `most_urls`, or less where they do not fit.
 * Null when not even the first URL fits.
 */
export function takeRanges(flight: Flight, { id }: Target, most_urls: number, most_bytes: number): WorkRange[] | null {
  const ranges: WorkRange[] = [];
  let urls = 0;
  let bytes = 0;
  const is_none = flight.send(id, ({ batch, index, url, is_begun }) => {
    const last = ranges.at(-1);
    if (urls >= most_urls && last?.batch !== batch) return false;
    const follows = last?.batch === batch && last.from_index + last.urls.length === index;
    bytes += jsonBytes(url) + 1 + (follows ? 0 : RANGE_BYTES);
    if (bytes > most_bytes) return false;
    if (follows) last.urls.push(url);
    else ranges.push({ batch, from_index: index, urls: [url], ...(is_begun && { is_begun }) });
    urls++;
    return true;
  });
  return is_none && flight.waitsFor(id) ? null : ranges;
}

/** Tells when the queue has lost messages since the last look, of which there is one each two seconds at the most. */
export class LossWatch {
  readonly #queue: Pick<Queue, 'losses'>;
  #seen: number | null = null;
  #looked_at = Number.NEGATIVE_INFINITY;

  constructor(queue: Pick<Queue, 'losses'>) {
    this.#queue = queue;
  }

  async hasLost(now: number): Promise<boolean> {
    if (!this.#queue.losses || now - this.#looked_at < LOSSES_LOOK_MS) return false;
    const found = await this.#queue.losses();
    // After the answer: the first pass that a queue answers again looks at once.
    this.#looked_at = now;
    const is_new = this.#seen !== null && found > this.#seen;
    this.#seen = found;
    return is_new;
  }
}

interface Publication {
  job_id: string;
  batch: number;
  target: string;
  /** The time of its last heartbeat. */
  at: number;
  since: number;
  /** When a checker last said that it has it in hand; null before. */
  in_hand_at: number | null;
}

/** What was published of each batch to each target and is not done. */
export class Publications {
  /** The one that was heard of longest ago is the first. */
  readonly #all = new Map<string, Publication>();
  /** The batches that the queue lost, by job, until they are published again or done. */
  readonly #lost = new Map<string, Set<number>>();
  #lost_batches = 0;

  /** The number of batches of jobs that are `known`, the first `most_jobs` of these jobs, and what was published first. */
  summary(isKnown: (job_id: string) => boolean, most_jobs: number) {
    // A job whose listing lacks URLs has the batch -1, and a dropped job's batches wait until they are silent.
    const all = [...this.#all.values()].filter(({ job_id, batch }) => batch >= 0 && isKnown(job_id));
    return {
      batches: new Set(all.map(({ job_id, batch }) => `${job_id}:${batch}`)).size,
      jobs: [...new Set(all.map(({ job_id }) => job_id))].slice(0, most_jobs),
      oldest: all.reduce<Publication | null>((a, b) => (a && a.since <= b.since ? a : b), null),
    };
  }

  /** What the queue lost: the batches that wait to be published again, and all of them. */
  lost(isKnown: (job_id: string) => boolean): { waiting: number; batches: number } {
    for (const [job_id, { size }] of this.#lost) if (size === 0 || !isKnown(job_id)) this.#lost.delete(job_id);
    const waiting = [...this.#lost.values()].reduce((sum, { size }) => sum + size, 0);
    return { waiting, batches: this.#lost_batches };
  }

  /** A checker has what was published to these targets in hand. */
  inHand(job_id: string, batch: number, targets: readonly string[], at: number): void {
    for (const target of targets) {
      if (this.#all.has(keyOf(job_id, batch, target))) this.heard(job_id, batch, target, at, true);
    }
  }

  heard(job_id: string, batch: number, target: string, at: number, is_in_hand = false): void {
    const key = keyOf(job_id, batch, target);
    const since = this.#all.get(key)?.since ?? at;
    // The batch -1 says that the job's listing lacks URLs: its work is not lost, it cannot be published.
    if (batch === -1) this.#lost.delete(job_id);
    else if (!is_in_hand) this.#lost.get(job_id)?.delete(batch);
    this.#all.delete(key);
    this.#all.set(key, { job_id, batch, target, at, since, in_hand_at: is_in_hand ? at : null });
  }

  delete(job_id: string, batch: number, target: string): void {
    this.#all.delete(keyOf(job_id, batch, target));
    this.#lost.get(job_id)?.delete(batch);
  }

  /** Removes and returns those that nobody was heard of since then. */
  silentSince(then: number): Publication[] {
    const silent: Publication[] = [];
    for (const [key, publication] of this.#all) {
      if (publication.at >= then) break;
      this.#all.delete(key);
      silent.push(publication);
    }
    return silent;
  }

  /** Removes and returns those that no checker has said to have in hand since then: the queue has lost them. */
  lostSince(then: number): Publication[] {
    const lost = [...this.#all.values()].filter(
      ({ batch, in_hand_at }) => batch >= 0 && (in_hand_at === null || in_hand_at < then),
    );
    for (const { job_id, batch, target } of lost) this.delete(job_id, batch, target);
    for (const { job_id, batch } of lost) this.#lost.set(job_id, (this.#lost.get(job_id) ?? new Set()).add(batch));
    this.#lost_batches += lost.length;
    return lost;
  }
}

const keyOf = (job_id: string, batch: number, target: string) => `${job_id}:${batch}:${target}`;
