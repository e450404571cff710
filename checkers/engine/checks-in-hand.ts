// The checks that have begun and not ended, where each of them waits, and how they end: with an outcome, by an abort or by a hold.
import type { Outcome } from '../../events/checks.ts';
import { Bag } from './bag.ts';
import { type Job, SignalGroups } from './job.ts';
import type { Names } from './names.ts';
import type { Origins } from './origins.ts';
import type { Requests } from './requests.ts';
import type { Scheduler } from './scheduler.ts';
import type { Siblings } from './siblings.ts';
import { abortError, NotStarted, Released } from './types.ts';

/** Where checks wait, by their state. */
export interface Places {
  /** `asking`. */
  requests: Requests;
  /** `queued` and `asking`. */
  scheduler: Scheduler<Job>;
  /** `resolving`. */
  names: Names;
  /** `parked`. */
  origins: Origins;
  /** `probing`. */
  siblings: Siblings;
}

/** A held check that cannot follow its redirect within this time ends with `NotStarted`. */
const LAST_HOP_MS = 1_000;

export class ChecksInHand {
  readonly #places: Places;
  readonly #ended: () => void;
  readonly #jobs = new Bag<Job>();
  readonly #backing_off = new Set<Job>();
  /** Held checks whose next request follows a redirect. */
  readonly #last_hops = new Set<Job>();
  readonly #groups = new SignalGroups(
    (job) => this.withdraw(job, abortError()),
    (job) => this.#hold(job),
  );

  /** Calls `ended` after each end of a check. */
  constructor(places: Places, ended: () => void) {
    this.#places = places;
    this.#ended = ended;
  }

  get size(): number {
    return this.#jobs.size;
  }

  /** `signal` and `hold` end it, as `CheckOptions` says. */
  add(job: Job, signal?: AbortSignal, hold?: AbortSignal): void {
    this.#jobs.add(job);
    this.#groups.join(job, signal, hold);
  }

  backOff(job: Job, until: number): void {
    job.state = 'backing_off';
    job.retry_at = until;
    this.#backing_off.add(job);
  }

  /** A held check may follow its redirect for a while. */
  allowLastHop(job: Job): void {
    this.#last_hops.add(job);
  }

  finish(job: Job, outcome: Outcome): void {
    this.#forget(job);
    job.waiter.resolve(outcome);
    this.#ended();
  }

  fail(job: Job, error: Error): void {
    this.#forget(job);
    job.waiter.reject(error);
    this.#ended();
  }

  /** Ends a check in any state with `error`. */
  withdraw(job: Job, error: Error): void {
    const { requests, scheduler, names, origins, siblings } = this.#places;
    if (job.state === 'done') return;
    if (job.state === 'asking') {
      requests.abandon(job);
      scheduler.release(job);
    } else if (job.state === 'queued') {
      scheduler.remove(job);
    } else if (job.state === 'resolving') {
      names.remove(job);
    } else if (job.state === 'backing_off') {
      this.#backing_off.delete(job);
    } else if (job.state === 'parked') {
      origins.remove(job);
    } else {
      siblings.remove(job);
    }
    this.fail(job, error);
  }

  withdrawAll(error: Error): void {
    for (const job of this.#jobs.all) this.withdraw(job, error);
  }

  /** Ends the checks of URLs that wait for the machine with `NotStarted`: their queue gets them back. */
  giveBack(isStuck: (job: Job) => boolean): void {
    for (const job of this.#jobs.all) {
      if (job.purpose === 'url' && isStuck(job)) this.withdraw(job, new NotStarted());
    }
  }

  /** Ends checks of hosts that have moved, as `Engine.release` says. */
  release(isMoved: (host: string) => boolean, now: boolean): number {
    let asking = 0;
    for (const job of this.#jobs.all) {
      const { purpose, state, first } = job;
      // A queued probe ends with the last page that waits for it.
      if ((purpose === 'probe' && state !== 'asking') || !isMoved(first.hostname)) continue;
      if (now || state !== 'asking') this.withdraw(job, new Released());
      else asking++;
    }
    return asking;
  }

  /** The caller runs it regularly. `due` takes the checks whose back-off is over. */
  sweep(now: number, due: (job: Job) => void): void {
    for (const job of this.#backing_off) {
      if (job.retry_at > now) continue;
      this.#backing_off.delete(job);
      due(job);
    }
    for (const job of this.#last_hops) {
      if (job.state === 'done' || !job.follows) this.#last_hops.delete(job);
      else if (now - job.paused_at > LAST_HOP_MS) this.withdraw(job, new NotStarted());
    }
  }

  /** Ends a held check, unless its own request or that of its sibling is in flight. */
  #hold(job: Job): void {
    if (job.state === 'asking') return;
    if (job.follows) return void this.#last_hops.add(job);
    if (job.state === 'probing' && !this.#places.siblings.isQueued(job.probe!.folder)) return;
    this.withdraw(job, new NotStarted());
  }

  #forget(job: Job): void {
    job.state = 'done';
    this.#jobs.delete(job);
    this.#places.origins.ended(job);
    this.#groups.leave(job);
  }
}
