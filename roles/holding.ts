// Runs the work of a lease for as long as this process holds it and can do it. A holder whose work stands lets go, so that a process that
// stands by can do it; nobody takes a lease whose work it could not do. Decision 88 says why.
import type { Logger } from 'pino';
import { atMost, pause } from '../time/pause.ts';
import { DependencyFault } from './dependencies.ts';
import type { LeaseKeeper } from './leases.ts';

/** `standing_by`: another process does the role's work; `waiting`: the role cannot work, and gives a reason. */
export type RoleState = 'working' | 'standing_by' | 'waiting';
export type ReportState = (state: RoleState, reason?: string) => void;

/** What a run tells of its work. */
export interface Work {
  /** A pass succeeded. */
  done(): void;
  /** A pass failed, and will be tried again. */
  failed(reason: string): void;
}

export interface HoldingOptions {
  ttl_ms?: number;
  /** Why this process cannot do the work now, in words for operators; null: it can. Default: it always can. */
  unable?: () => Promise<string | null>;
  /** Milliseconds that never go back. */
  monotonic?: () => number;
  say?: ReportState;
  logger?: Pick<Logger, 'warn'>;
}

/** A standby on another machine works within 10 s of its holder's end: this, two looks at the lease, and its own start. */
const LEASE_MS = 6_000;
const RETRY_MS = 500;
const FIRST_LOOK_MS = 10;
/** A holder without an answer for this long says that its work stands. It asks six times in a lease, so that one late answer is no alarm. */
const UNANSWERED_MS = 2_500;
/** A holder whose work stands for this long gives its lease up: some ten seconds after the last answer. */
const STANDS_MS = 8_000;
/** It then leaves the lease to the others for this long, in which each of them looks at it several times. */
const STAND_BACK_MS = 2_000;

/**
 * Runs `run` while this process holds the lease, and again whenever `run` returns. Its signal aborts when the lease was not renewed in
 * time, and when the work has stood for some 10 s: because `unable` has a reason, or because passes fail. Stands by otherwise, also while
 * the store is away. Throws the errors of `run`.
 * @example await whileHeld(leases, 'projector', signal, (held, work) => project(held, work.done), { say, logger });
 */
export function whileHeld(
  leases: LeaseKeeper,
  name: string,
  signal: AbortSignal,
  run: (signal: AbortSignal, work: Work) => Promise<void>,
  options: HoldingOptions = {},
): Promise<void> {
  return new Holding(leases, name, options).keep(signal, run);
}

class Holding {
  readonly #leases: LeaseKeeper;
  readonly #name: string;
  readonly #options: HoldingOptions;
  readonly #ttl_ms: number;
  readonly #now: () => number;
  #is_holder = false;
  #is_away = false;
  /** When the last renewal that succeeded was asked for. */
  #renewed_at = 0;
  #stands_back_until = Number.NEGATIVE_INFINITY;
  /** When `unable` last answered that nothing is amiss, and what it says since. */
  #able_at = 0;
  #unable_because: string | null = null;
  #passes_fail = false;
  readonly #work: Work = {
    done: () => {
      this.#passes_fail = false;
      // A pass may end after the lease was given up.
      if (this.#is_holder && this.#isAble()) this.#say('working');
    },
    failed: (reason) => {
      this.#passes_fail = true;
      this.#say('waiting', reason);
    },
  };

  constructor(leases: LeaseKeeper, name: string, options: HoldingOptions) {
    this.#leases = leases;
    this.#name = name;
    this.#options = options;
    this.#ttl_ms = options.ttl_ms ?? LEASE_MS;
    this.#now = options.monotonic ?? (() => performance.now());
  }

  async keep(signal: AbortSignal, run: (signal: AbortSignal, work: Work) => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      if (await this.#take(signal)) await this.#hold(signal, run);
    }
    // While the store is away the lease runs out by itself.
    if (this.#is_holder) await this.#release();
  }

  /** Takes the lease, or renews it between two runs. Waits a moment before it returns false. */
  async #take(signal: AbortSignal): Promise<boolean> {
    if (!this.#is_holder && !(await this.#mayTake(signal))) return false;
    const asked_at = this.#now();
    const held = await this.#leases.hold(this.#name, this.#ttl_ms).catch((error: unknown) => {
      if (!this.#is_away)
        this.#options.logger?.warn(
          { err: error, lease: this.#name },
          'a lease cannot be taken: the role waits for its store',
        );
      return null;
    });
    this.#is_away = held === null;
    const was_holder = this.#is_holder;
    // When the answer took longer than the lease lasts, another process may hold it by now.
    this.#is_holder = held === true && this.#now() - asked_at < this.#ttl_ms;
    if (!this.#is_holder) {
      if (this.#is_away) this.#say('waiting', 'the store of documents does not answer');
      else this.#say('standing_by');
      await pause(RETRY_MS, signal);
      return false;
    }
    this.#renewed_at = asked_at;
    if (!was_holder) {
      this.#passes_fail = false;
      this.#say('waiting', 'it takes the work over');
    }
    return true;
  }

  /** Whether this process could do the work. At a start the stores are there within milliseconds. */
  async #mayTake(signal: AbortSignal): Promise<boolean> {
    for (let looks = 0; !signal.aborted; looks++) {
      const reason = await this.#look();
      if (reason === null) break;
      this.#say('waiting', reason);
      await pause(Math.min(FIRST_LOOK_MS * 2 ** looks, RETRY_MS), signal);
    }
    const left_ms = this.#stands_back_until - this.#now();
    if (left_ms > 0) await pause(left_ms, signal);
    return !signal.aborted;
  }

  async #hold(signal: AbortSignal, run: (signal: AbortSignal, work: Work) => Promise<void>): Promise<void> {
    const lost = new AbortController();
    let is_over = false;
    const ttl_ms = this.#ttl_ms;
    /** After a slow answer the next renewal waits for no turn of the timer. */
    const isDue = () => this.#now() - this.#renewed_at >= ttl_ms / 6;
    let renewing: Promise<void> | null = null;
    const renew = async () => {
      let still: boolean | null;
      do {
        const renewed_at = this.#now();
        // A failed renewal is tried again for as long as the lease lasts.
        still = await this.#leases.hold(this.#name, ttl_ms).catch(() => null);
        if (still) this.#renewed_at = renewed_at;
        else if (still === false) lost.abort();
      } while (still && !is_over && isDue());
    };
    const beginRenewal = () => (renewing ??= renew().finally(() => (renewing = null)));
    let giving_up: Promise<void> | null = null;
    let [stood_ms, looked_at] = [0, this.#now()];
    const renewal = setInterval(() => {
      // The run ends a moment before another process may take the lease.
      if (this.#now() - this.#renewed_at >= (ttl_ms * 5) / 6) lost.abort();
      void this.#look();
      const is_able = this.#isAble();
      if (!is_able) this.#say('waiting', this.#unable_because ?? 'a store does not answer');
      // A process that slept has not heard the answers meanwhile: that says nothing of its work.
      const passed_ms = Math.min(this.#now() - looked_at, ttl_ms / 3);
      stood_ms = is_able && !this.#passes_fail ? 0 : stood_ms + passed_ms;
      looked_at = this.#now();
      if (stood_ms >= STANDS_MS) {
        is_over = true;
        clearInterval(renewal);
        lost.abort();
        giving_up = this.#giveUp(renewing);
      } else beginRenewal();
    }, ttl_ms / 6);
    if (isDue()) beginRenewal();
    try {
      await run(AbortSignal.any([signal, lost.signal]), this.#work);
    } finally {
      is_over = true;
      clearInterval(renewal);
      // A renewal under way would take the released lease again, so we wait for it, for a bounded time.
      await atMost(RETRY_MS, renewing);
      await giving_up;
    }
  }

  /** Two holders at once do no harm: the next one need not wait until the last call of this one has ended. */
  async #giveUp(renewing: Promise<void> | null): Promise<void> {
    const reason = this.#unable_because ?? 'its passes fail';
    this.#options.logger?.warn({ lease: this.#name, reason }, 'the work has stalled: this process releases its lease');
    this.#is_holder = false;
    this.#stands_back_until = this.#now() + STAND_BACK_MS;
    await atMost(RETRY_MS, renewing);
    await this.#release();
  }

  async #release(): Promise<void> {
    await atMost(
      RETRY_MS,
      this.#leases.release(this.#name).catch(() => {}),
    );
  }

  async #look(): Promise<string | null> {
    const reason = (await this.#options.unable?.()) ?? null;
    if (reason === null) this.#able_at = this.#now();
    this.#unable_because = reason;
    return reason;
  }

  #isAble(): boolean {
    return !this.#options.unable || this.#now() - this.#able_at < UNANSWERED_MS;
  }

  #say(state: RoleState, reason?: string): void {
    this.#options.say?.(state, reason);
  }
}

/** A store has this long for an answer. */
const ANSWER_MS = 2_000;

/**
 * Makes the `unable` of a holder that needs these stores, by their names. A `DependencyFault` of one has its
 * own words.
 */
export function unlessAnswering(
  stores: Readonly<Record<string, () => Promise<unknown>>>,
): () => Promise<string | null> {
  const looks = Object.entries(stores).map(([name, ask]) => async () => {
    const answer = ask().then(
      () => null,
      (error: unknown) => (error instanceof DependencyFault ? error.message : `${name} does not answer`),
    );
    const outcome = await atMost(ANSWER_MS, answer);
    return outcome === undefined ? `${name} does not answer` : outcome;
  });
  return async () => (await Promise.all(looks.map((look) => look()))).find((reason) => reason !== null) ?? null;
}
