// The checks that have begun and not ended, where each of them waits, and how they end: with an outcome, by an abort or by a hold.
import type { Outcome } from '../../events/checks.ts';
import { Bag } from './bag.ts';
import { type CheckInHand, SignalGroups } from './check-in-hand.ts';
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
  scheduler: Scheduler<CheckInHand>;
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
  readonly #checks = new Bag<CheckInHand>();
  readonly #backing_off = new Set<CheckInHand>();
  /** Held checks whose next request follows a redirect. */
  readonly #last_hops = new Set<CheckInHand>();
  readonly #groups = new SignalGroups(
    (check) => this.withdraw(check, abortError()),
    (check) => this.#hold(check),
  );

  /** Calls `ended` after each end of a check. */
  constructor(places: Places, ended: () => void) {
    this.#places = places;
    this.#ended = ended;
  }

  get size(): number {
    return this.#checks.size;
  }

  /** `signal` and `hold` end it, as `CheckOptions` says. */
  add(check: CheckInHand, signal?: AbortSignal, hold?: AbortSignal): void {
    this.#checks.add(check);
    this.#groups.join(check, signal, hold);
  }

  backOff(check: CheckInHand, until: number): void {
    check.state = 'backing_off';
    check.retry_at = until;
    this.#backing_off.add(check);
  }

  /** A held check may follow its redirect for a while. */
  allowLastHop(check: CheckInHand): void {
    this.#last_hops.add(check);
  }

  finish(check: CheckInHand, outcome: Outcome): void {
    this.#forget(check);
    check.waiter.resolve(outcome);
    this.#ended();
  }

  fail(check: CheckInHand, error: Error): void {
    this.#forget(check);
    check.waiter.reject(error);
    this.#ended();
  }

  /** Ends a check in any state with `error`. */
  withdraw(check: CheckInHand, error: Error): void {
    const { requests, scheduler, names, origins, siblings } = this.#places;
    if (check.state === 'done') return;
    if (check.state === 'asking') {
      requests.abandon(check);
      scheduler.release(check);
    } else if (check.state === 'queued') {
      scheduler.remove(check);
    } else if (check.state === 'resolving') {
      names.remove(check);
    } else if (check.state === 'backing_off') {
      this.#backing_off.delete(check);
    } else if (check.state === 'parked') {
      origins.remove(check);
    } else {
      siblings.remove(check);
    }
    this.fail(check, error);
  }

  withdrawAll(error: Error): void {
    for (const check of this.#checks.all) this.withdraw(check, error);
  }

  /** Ends the checks of URLs that wait for the machine with `NotStarted`: their queue gets them back. */
  giveBack(isStuck: (check: CheckInHand) => boolean): void {
    for (const check of this.#checks.all) {
      if (check.purpose === 'url' && isStuck(check)) this.withdraw(check, new NotStarted());
    }
  }

  /** Ends checks of hosts that have moved, as `Engine.release` says. */
  release(isMoved: (host: string) => boolean, now: boolean): number {
    let asking = 0;
    for (const check of this.#checks.all) {
      const { purpose, state, first } = check;
      // A queued probe ends with the last page that waits for it.
      if ((purpose === 'probe' && state !== 'asking') || !isMoved(first.hostname)) continue;
      if (now || state !== 'asking') this.withdraw(check, new Released());
      else asking++;
    }
    return asking;
  }

  /** The caller runs it regularly. `due` takes the checks whose back-off is over. */
  sweep(now: number, due: (check: CheckInHand) => void): void {
    for (const check of this.#backing_off) {
      if (check.retry_at > now) continue;
      this.#backing_off.delete(check);
      due(check);
    }
    for (const check of this.#last_hops) {
      if (check.state === 'done' || !check.follows) this.#last_hops.delete(check);
      else if (now - check.paused_at > LAST_HOP_MS) this.withdraw(check, new NotStarted());
    }
  }

  /** Ends a held check, unless its own request or that of its sibling is in flight. */
  #hold(check: CheckInHand): void {
    if (check.state === 'asking') return;
    if (check.follows) return void this.#last_hops.add(check);
    if (check.state === 'probing' && !this.#places.siblings.isQueued(check.probe!.folder)) return;
    this.withdraw(check, new NotStarted());
  }

  #forget(check: CheckInHand): void {
    check.state = 'done';
    this.#checks.delete(check);
    this.#places.origins.ended(check);
    this.#groups.leave(check);
  }
}
