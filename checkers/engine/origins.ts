// What hosts and origins let through: how fast a host is asked, and whether an origin's circuit is closed. Checks of an
// origin whose circuit is open are parked here until a trial says whether the origin answers.
import { Circuits, failureOf, type OriginFailure } from './circuits.ts';
import type { Exchange } from './exchange.ts';
import { Hosts, throttlingOf } from './hosts.ts';
import type { Job } from './job.ts';

export interface OriginsOptions {
  /** Requests in flight to one host name. */
  per_host: number;
  /** Between the starts of two requests to one host name. */
  gap_ms: number;
  retry_base_ms: number;
  /** In [0, 1). */
  random: () => number;
  /** Milliseconds of the wall clock, for dates in headers. */
  wall: () => number;
  /** The host's limit is another now. */
  limitChanged: (host: string) => void;
  /** A parked check may ask its origin; `first`: before the others of its host. */
  unparked: (job: Job, first: boolean) => void;
  /** A parked check is not to ask: its trials' failure stands for it. */
  givenUp: (job: Job, failure: OriginFailure) => void;
}

export class Origins {
  readonly hosts: Hosts;
  readonly #options: OriginsOptions;
  readonly #circuits: Circuits;
  readonly #parked = new Map<string, Set<Job>>();

  constructor(options: OriginsOptions) {
    const { per_host, gap_ms, retry_base_ms, random } = options;
    this.#options = options;
    this.hosts = new Hosts({ per_host, gap_ms, random });
    this.#circuits = new Circuits(retry_base_ms, random);
  }

  /**
   * Whether a check that has its slot may send its request. 'parked': it gives its slot back and waits here.
   * A failure: it gives its slot back, and this is its outcome.
   */
  admit(job: Job, now: number): 'go' | 'parked' | OriginFailure {
    if (this.#circuits.size === 0 || job.is_trial) return 'go';
    const admission = this.#circuits.admit(job.origin, now);
    if (admission === 'try') job.is_trial = true;
    if (admission === 'try' || admission === 'go') return 'go';
    if (admission !== 'wait') return admission;
    const parked = this.#parked.get(job.origin);
    if (parked === undefined) this.#parked.set(job.origin, new Set([job]));
    else parked.add(job);
    return 'parked';
  }

  /** Reads what an exchange says of `host` and `origin`, which `job` had when it was asked. */
  learn(job: Job, host: string, origin: string, exchange: Exchange, now: number): void {
    const { is_trial, asked_at } = job;
    job.is_trial = false;
    const { status, headers } = exchange;
    const is_answer = exchange.failure === null;
    const throttling = is_answer ? throttlingOf(status, headers, job.protection, this.#options.wall) : null;
    // Nearly always: an answer, and no trouble with any host.
    if (is_answer && throttling === null && this.hosts.size === 0 && this.#circuits.size === 0) return;
    const failure = failureOf(exchange, throttling?.is_explicit === true, job.protection);
    if (failure !== null) {
      if (is_trial || job.attempts === 1) this.#circuits.failed(origin, failure, now, is_trial);
    } else if (this.#circuits.answered(origin)) {
      this.hosts.restart(host, now);
      this.#options.limitChanged(host);
    } else if (throttling === null && this.hosts.answered(host, asked_at)) {
      this.#options.limitChanged(host);
    }
    if (throttling !== null) {
      const is_news = this.hosts.slow(host, asked_at, now, throttling);
      const { retry_after_ms } = throttling;
      if (is_news && retry_after_ms !== null) this.hosts.peers?.held(host, retry_after_ms);
      this.#options.limitChanged(host);
    }
    this.#settle(origin, now);
  }

  /** To be called regularly: hosts whose wait is over are asked again, and circuits become half-open. */
  sweep(now: number): void {
    this.hosts.sweep(now, this.#options.limitChanged);
    for (const origin of this.#parked.keys()) this.#settle(origin, now);
  }

  /** Takes a parked check out. */
  remove(job: Job): void {
    const parked = this.#parked.get(job.origin);
    if (parked?.delete(job) && parked.size === 0) this.#parked.delete(job.origin);
  }

  /** A check has ended: if it was the trial of its origin, another may begin at once. */
  ended(job: Job): void {
    if (job.is_trial) this.#circuits.dropped(job.origin);
  }

  /** Decides what becomes of the checks that are parked for an origin. */
  #settle(origin: string, now: number): void {
    const parked = this.#parked.get(origin);
    if (parked === undefined) return;
    const admission = this.#circuits.admit(origin, now);
    if (admission === 'wait') return;
    if (admission === 'try') {
      // Any of them: neighbours in a list may share a fault that is theirs alone.
      const trial = [...parked][Math.floor(this.#options.random() * parked.size)]!;
      trial.is_trial = true;
      this.remove(trial);
      this.#options.unparked(trial, true);
      return;
    }
    this.#parked.delete(origin);
    for (const job of parked) {
      if (admission === 'go') this.#options.unparked(job, false);
      else this.#options.givenUp(job, admission);
    }
  }
}
