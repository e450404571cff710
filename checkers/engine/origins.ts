// Admits requests by the pace of their host and the circuit of their origin. Checks of an origin whose circuit is open are
// parked here until a trial shows whether the origin answers.

import type { CheckInHand } from './check-in-hand.ts';
import { Circuits, failureOf, type OriginFailure } from './circuits.ts';
import type { Exchange } from './exchange.ts';
import { Hosts, throttlingOf } from './hosts.ts';

export interface OriginsOptions {
  /** Most requests in flight to one host name. */
  per_host: number;
  /** Least time between the starts of two requests to one host name. */
  gap_ms: number;
  retry_base_ms: number;
  /** In [0, 1). */
  random: () => number;
  /** Wall clock, in milliseconds, for dates in headers. */
  wall: () => number;
  /** Called each time that a host is slowed. */
  backedOff: () => void;
  limitChanged: (host: string) => void;
  /** Called when a parked check may send its request; `first`: before other checks of its host. */
  unparked: (check: CheckInHand, first: boolean) => void;
  /** Called when the failure of the trials decides a parked check. */
  givenUp: (check: CheckInHand, failure: OriginFailure) => void;
}

export class Origins {
  readonly hosts: Hosts;
  readonly #options: OriginsOptions;
  readonly #circuits: Circuits;
  readonly #parked = new Map<string, Set<CheckInHand>>();

  constructor(options: OriginsOptions) {
    const { per_host, gap_ms, retry_base_ms, random } = options;
    this.#options = options;
    this.hosts = new Hosts({ per_host, gap_ms, random });
    this.#circuits = new Circuits(retry_base_ms, random);
  }

  /**
   * Whether a check with a slot may send its request. 'parked': the caller releases the slot, and the check waits here.
   * A failure: the caller releases the slot and ends the check with it.
   */
  admit(check: CheckInHand, now: number): 'go' | 'parked' | OriginFailure {
    if (this.#circuits.size === 0 || check.is_trial) return 'go';
    const has_failed = check.purpose === 'probe' || (check.attempts > 0 && !check.follows);
    const admission = this.#circuits.admit(check.origin, now, { has_failed });
    if (admission === 'try') check.is_trial = true;
    if (admission === 'try' || admission === 'go') return 'go';
    if (admission !== 'wait') return admission;
    const parked = this.#parked.get(check.origin);
    if (parked === undefined) this.#parked.set(check.origin, new Set([check]));
    else parked.add(check);
    return 'parked';
  }

  /** Learns from an exchange. `host` and `origin` are those of the request; `check` may have moved on to a redirect. */
  learn(check: CheckInHand, host: string, origin: string, exchange: Exchange, now: number): void {
    const { is_trial, asked_at } = check;
    check.is_trial = false;
    const { status, headers } = exchange;
    const is_answer = exchange.failure === null;
    const throttling = is_answer ? throttlingOf(status, headers, check.protection, this.#options.wall) : null;
    // The fast path: a good answer while no host is throttled and no origin fails.
    if (is_answer && throttling === null && this.hosts.size === 0 && this.#circuits.size === 0) return;
    const failure = failureOf(exchange, throttling?.is_explicit === true, check.protection);
    if (failure !== null) {
      const counts = is_trial || check.attempts === 1;
      if (counts && this.#circuits.failed(origin, failure, now, is_trial)) this.#giveUp(origin, failure);
    } else if (this.#circuits.answered(origin)) {
      this.hosts.restart(host, now);
      this.#options.limitChanged(host);
    } else if (throttling === null && this.hosts.answered(host, asked_at)) {
      this.#options.limitChanged(host);
    }
    if (throttling !== null) {
      const is_news = this.hosts.slow(host, asked_at, now, throttling);
      if (is_news) this.#options.backedOff();
      this.#options.limitChanged(host);
    }
    this.#settle(origin, now);
  }

  /**
   * The caller runs it regularly: it releases hosts whose hold has passed, and lets circuits become half-open. `is_quiet`: the list is
   * done but for URLs that wait.
   */
  sweep(now: number, is_quiet: boolean): void {
    this.hosts.sweep(now, this.#options.limitChanged);
    for (const origin of this.#parked.keys()) this.#settle(origin, now, is_quiet);
  }

  /** Removes a parked check. */
  remove(check: CheckInHand): void {
    const parked = this.#parked.get(check.origin);
    if (parked?.delete(check) && parked.size === 0) this.#parked.delete(check.origin);
  }

  /** A check has ended: if it was the trial of its origin, another trial may start at once. */
  ended(check: CheckInHand): void {
    if (check.is_trial) this.#circuits.dropped(check.origin);
  }

  /** Sends a trial or releases the parked checks of an origin, as its circuit says. */
  #settle(origin: string, now: number, is_quiet = false): void {
    const parked = this.#parked.get(origin);
    if (parked === undefined) return;
    const admission = this.#circuits.admit(origin, now, { is_quiet });
    if (admission === 'try') {
      // A random one, since neighbouring URLs may share a fault that the origin does not have.
      const trial = [...parked][Math.floor(this.#options.random() * parked.size)]!;
      trial.is_trial = true;
      this.remove(trial);
      this.#options.unparked(trial, true);
      return;
    }
    if (admission !== 'go') return;
    this.#parked.delete(origin);
    for (const check of parked) this.#options.unparked(check, false);
  }

  #giveUp(origin: string, failure: OriginFailure): void {
    const parked = this.#parked.get(origin);
    this.#parked.delete(origin);
    for (const check of parked ?? []) this.#options.givenUp(check, failure);
  }
}
