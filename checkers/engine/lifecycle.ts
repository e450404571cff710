// The life of every check in the engine. Each is in one state:
//
//               ┌──── a redirect, or the same request once more ────┐
//               ▼                                                   │
//   check() ─▶ queued ──── a slot of its host ────▶ asking ─────────┤
//               ▲  ▲                │                 ▲             ├─▶ backing_off ── its time comes ──▶ queued
//               │  │      the origin's circuit        │             ├─▶ probing ── its folder answers ──▶ done
//               │  │             is open            slot            └─▶ done
//               │  │                ▼                 │
//               │  └─ closed ──── parked ─ half-open ─┘   a failed trial gives all that are parked its failure ──▶ done
//
// Before it is queued it is `resolving`, unless the name of its host is known or a connection to its origin is open.
// A hold ends every check that is not asking, with `NotStarted`; an abort ends every check. The sweep looks at all checks
// many times a second and enforces their time limits, so that no request needs a timer of its own.
import { Capacity } from './capacity.ts';
import type { CheckRules, Step } from './check.ts';
import { ChecksInHand } from './checks-in-hand.ts';
import type { Exchange } from './exchange.ts';
import { PageMemory } from './fingerprints.ts';
import type { Job } from './job.ts';
import { Names } from './names.ts';
import { Origins } from './origins.ts';
import { Paces } from './paces.ts';
import { countAnswer, shouldTryAnotherProxy } from './proxied.ts';
import { Requests } from './requests.ts';
import type { Vetted } from './resolver.ts';
import { RETRY_BASE_MS } from './retries.ts';
import { Scheduler } from './scheduler.ts';
import { Siblings } from './siblings.ts';
import { type Remaining, Sweeps, sweepInterval } from './sweeps.ts';
import { abortError, type EngineParts, type EngineSettings, type HostOwnership, NotStarted } from './types.ts';
import { checkerFault } from './without-answer.ts';

/**
 * The limit on checks in the engine, absolute and as a multiple of the slots; the larger one counts. It exceeds what a job
 * can have published at a time, so that a job's slow hosts do not keep other jobs out. A check takes little more than 1 KB.
 */
const MIN_BACKLOG = 65_536;
const SLOTS_IN_BACKLOG = 16;
/** The wait before a name that the machine had no room to look up is looked up again. */
const SHORTAGE_WAIT_MS = 100;

export class Lifecycle {
  /** The rules of every check. */
  readonly rules: CheckRules;
  readonly origins: Origins;
  readonly siblings: Siblings;
  readonly #parts: EngineParts;
  readonly #now: () => number;
  readonly #scheduler: Scheduler<Job>;
  readonly #names: Names;
  readonly #requests: Requests;
  readonly #sweeps: Sweeps;
  readonly #jobs: ChecksInHand;
  readonly #capacity: Capacity;
  readonly #paces = new Paces();
  #ownership: HostOwnership | null = null;
  #is_waking = false;
  #is_closed = false;

  /** `now`: a monotonic clock, in milliseconds. */
  constructor(settings: EngineSettings, parts: EngineParts, now: () => number) {
    const { per_host, host_gap_ms = 0, timeout_ms, retries } = settings;
    const { random = Math.random, retry_base_ms = RETRY_BASE_MS } = parts;
    this.#parts = parts;
    this.#now = now;
    this.#capacity = new Capacity(settings, parts, now);
    this.rules = { timeout_ms, retries, retry_base_ms, random, wall: Date.now, pages: new PageMemory() };
    this.origins = new Origins({
      per_host,
      gap_ms: host_gap_ms,
      retry_base_ms,
      random,
      wall: this.rules.wall,
      backedOff: () => parts.backedOff?.(),
      limitChanged: (host) => this.limitChanged(host),
      unparked: (job, first) => this.#enqueue(job, first),
      givenUp: (job, failure) => this.#jobs.finish(job, job.givenUp(failure)),
    });
    this.#scheduler = new Scheduler(this.#capacity.concurrency, (host) => this.origins.hosts.limitOf(host));
    const ended = (job: Job, exchange: Exchange): void => {
      this.#ended(job, exchange);
      // If it is the turn of a check of the same origin, its request goes on the same connection at once.
      if (!this.#is_closed) this.#askNext(this.#requests.continues);
    };
    this.#requests = new Requests(settings, parts, now, ended, (reason) => {
      this.#capacity.namesAway(reason);
      this.#wake();
    });
    this.#names = new Names(this.#requests.resolver, (job, vetted) => this.#resolved(job, vetted));
    this.siblings = new Siblings({
      rules: this.rules,
      send: (probe) => {
        this.#jobs.add(probe);
        this.#enqueue(probe, true);
      },
      cancel: (probe) => this.#jobs.withdraw(probe, new NotStarted()),
    });
    const { origins, siblings } = this;
    const places = { requests: this.#requests, scheduler: this.#scheduler, names: this.#names, origins, siblings };
    this.#jobs = new ChecksInHand(places, () => this.#wake());
    this.#sweeps = new Sweeps(sweepInterval(timeout_ms, host_gap_ms), now, (at, late_ms) => this.#sweep(at, late_ms));
  }

  /** Number of further checks that could start now. */
  get free(): number {
    const { room, is_starved, concurrency } = this.#capacity;
    if (this.#is_closed || is_starved) return 0;
    const slots = room.limit - this.#scheduler.running - this.#scheduler.startable - this.#names.waiting;
    const backlog = Math.max(MIN_BACKLOG, SLOTS_IN_BACKLOG * concurrency);
    return Math.max(0, Math.min(slots, backlog - this.#jobs.size));
  }

  /** Whether no name server answers. Checks whose names are not known then end with `NotStarted`, and all others go on. */
  get areNamesAway(): boolean {
    return this.#capacity.are_names_away;
  }

  /** Number of checks without a slot. */
  get backlog(): number {
    return this.#jobs.size - this.#scheduler.running;
  }

  get running(): number {
    return this.#scheduler.running;
  }

  get isClosed(): boolean {
    return this.#is_closed;
  }

  /** Starts a check. `signal` and `hold` end it, as `CheckOptions` says. */
  begin(job: Job, signal: AbortSignal | undefined, hold: AbortSignal | undefined): void {
    this.#jobs.add(job, signal, hold);
    this.#enqueue(job, false);
  }

  /** The limit of one host has changed, or without `host` the limits of all. */
  limitChanged(host?: string): void {
    for (const name of host === undefined ? this.#scheduler.hosts : [host]) this.#scheduler.limitChanged(name);
    this.#wake();
  }

  /** The hosts that are for this checker to ask have changed; null: all are. */
  share(ownership: HostOwnership | null): void {
    this.#ownership = ownership;
    this.origins.hosts.owns = ownership && ((host) => ownership.owns(host));
    this.limitChanged();
  }

  /** Ends checks of hosts that have moved, as `Engine.release` says. */
  release(isMoved: (host: string) => boolean, now: boolean): number {
    return this.#jobs.release(isMoved, now);
  }

  /** Aborts every check; resolves when every socket is closed. */
  async close(): Promise<void> {
    this.#is_closed = true;
    this.siblings.close();
    this.#jobs.withdrawAll(abortError());
    this.#sweeps.stop();
    await this.#requests.close();
  }

  #enqueue(job: Job, first: boolean): void {
    if (this.#requests.knows(job)) {
      job.state = 'queued';
      this.#scheduler.add(job, first);
    } else {
      job.state = 'resolving';
      this.#names.add(job, first);
    }
    this.#wake();
  }

  /** The name of a check's host has been looked up. */
  #resolved(job: Job, vetted: Vetted): void {
    if (job.state !== 'resolving') return;
    const now = this.#now();
    if (vetted.ok) {
      job.state = 'queued';
      this.#scheduler.add(job, job.follows);
      this.#wake();
    } else if (vetted.code === 'shortage') {
      this.#capacity.room.failed(now, this.#scheduler.running, now);
      this.#backOff(job, SHORTAGE_WAIT_MS);
    } else {
      job.started(now);
      job.follows = false;
      this.#take(job, job.stepAfter(vetted.code, now));
    }
  }

  /** Starts queued checks in a microtask, because undici's callbacks must not enter another of its clients. */
  #wake(): void {
    if (this.#is_waking) return;
    this.#is_waking = true;
    queueMicrotask(this.#start);
  }

  readonly #start = (): void => {
    this.#is_waking = false;
    if (this.#is_closed) return;
    this.#names.start();
    while (this.#askNext());
    if (this.#jobs.size > 0) this.#sweeps.start();
  };

  /** Sends the request of the check whose turn it is, if there is one and `fits` says that it may. Returns whether it did. */
  #askNext(fits?: (job: Job) => boolean): boolean {
    while (this.#requests.ready && this.#ownership?.mayAsk() !== false) {
      const now = this.#now();
      if (this.#capacity.room.isShort && !this.#capacity.room.mayStart(this.#scheduler.running, now)) return false;
      const job = this.#scheduler.next(fits);
      if (job === undefined) return false;
      if (!this.#requests.knows(job)) {
        // What was known of its host has expired.
        this.#scheduler.release(job);
        this.#enqueue(job, true);
        continue;
      }
      const admission = this.origins.admit(job, now);
      if (admission === 'go') {
        this.#ask(job, now);
        return true;
      }
      this.#scheduler.release(job);
      if (admission === 'parked') job.state = 'parked';
      else this.#jobs.finish(job, job.givenUp(admission));
    }
    return false;
  }

  #ask(job: Job, now: number): void {
    job.state = 'asking';
    job.started(now);
    job.follows = false;
    job.asked_at = now;
    if (this.origins.hosts.started(job.host, now)) this.#scheduler.limitChanged(job.host);
    const gap_ms = job.granted?.host_gap_ms ?? 0;
    if (gap_ms > 0) this.#paces.hold(this.#scheduler.pace(job), now + gap_ms);
    this.#requests.send(job, now, job.proxy_tries?.proxies);
  }

  /** An exchange has ended: the check releases its slot and decides its next step. */
  #ended(job: Job, exchange: Exchange): void {
    this.#scheduler.release(job);
    if (exchange.is_shortage) {
      this.#capacity.room.failed(job.asked_at, this.#scheduler.running, this.#now());
      this.#askAgain(job, job.asked_at);
      return;
    }
    if (this.#capacity.room.isShort) this.#capacity.room.succeeded(this.#now());
    const second_look = job.look === 'first' ? exchange.second_look : null;
    if (exchange.failedOnUsedConnection || second_look !== null) {
      if (second_look !== null) job.look = second_look;
      this.#askAgain(job, this.#now());
      return;
    }
    if (shouldTryAnotherProxy(this.#parts.proxies, job, exchange)) return void this.#askAgain(job, job.asked_at);
    // The step may lead to another host.
    const { host, origin } = job;
    let step: Step;
    this.#parts.working?.enter(job.on_behalf_of ?? job.first.href);
    try {
      step = job.step(exchange, this.#now());
      this.origins.learn(job, host, origin, exchange, this.#now());
      countAnswer(this.#parts.proxies, job, exchange);
    } catch (defect) {
      // undici would take an exception for a failure of the request, and the check would never end.
      this.#endWithDefect(job, defect as Error);
      return;
    } finally {
      this.#parts.working?.leave();
    }
    this.#take(job, step);
  }

  #take(job: Job, step: Step): void {
    if (step === 'hop') {
      job.paused(this.#now());
      job.follows = true;
      if (job.isHeld) this.#jobs.allowLastHop(job);
      this.#enqueue(job, true);
    } else if (step === 'probe') {
      this.#compare(job);
    } else if ('retry_after_ms' in step) {
      this.#backOff(job, step.retry_after_ms);
    } else {
      this.#jobs.finish(job, step);
    }
  }

  /** Sends a request again within the same attempt, whose clock stands still from `paused_at` on. */
  #askAgain(job: Job, paused_at: number): void {
    job.paused(paused_at);
    if (job.isHeld) this.#jobs.fail(job, new NotStarted());
    else this.#enqueue(job, true);
  }

  #backOff(job: Job, wait_ms: number): void {
    if (job.isHeld) return void this.#jobs.fail(job, new NotStarted());
    this.#jobs.backOff(job, this.#now() + wait_ms);
    this.#wake();
  }

  /** Compares a suspect page with a sibling URL that cannot exist. */
  #compare(job: Job): void {
    job.state = 'probing';
    const is_asked = this.siblings.compare(job, (outcome) => {
      if (job.state === 'probing') this.#jobs.finish(job, outcome);
    });
    if (!is_asked) this.#jobs.fail(job, new NotStarted());
  }

  /** The engine threw over an answer: only that URL ends with `checker_fault`. */
  #endWithDefect(job: Job, defect: Error): void {
    this.#parts.defect?.(defect, job.first.href);
    if (job.purpose === 'probe') this.#jobs.fail(job, defect);
    else this.#jobs.finish(job, checkerFault(job.attempts));
  }

  /** Nothing is left of the list but requests that get no answer, and what waits. */
  get #isQuiet(): boolean {
    const { running, startable } = this.#scheduler;
    return startable === 0 && this.#names.waiting === 0 && running <= this.#requests.silent;
  }

  #sweep(now: number, late_ms: number): Remaining {
    this.#requests.sweep(now);
    this.#jobs.sweep(now, (job) => this.#enqueue(job, false));
    this.origins.sweep(now, this.#isQuiet);
    this.#paces.sweep(now, (lane) => this.#scheduler.resume(lane));
    // The queue gets back what waits for the machine.
    if (this.#capacity.becomesStarved(now)) this.#jobs.giveBack((job) => job.state !== 'asking');
    else if (this.#capacity.are_names_away) this.#jobs.giveBack((job) => job.state === 'resolving');
    const is_busy = this.#capacity.look(this.#scheduler.running, this.#requests.silent, late_ms);
    this.#scheduler.concurrency = this.#capacity.concurrency;
    this.#scheduler.sweep(is_busy);
    this.#names.sweep();
    // A slow host may have got another connection, and a proxy may be usable again.
    this.#wake();
    if (this.#jobs.size > 0 || this.#capacity.is_starved || this.#capacity.are_names_away) return 'work';
    return this.#requests.idle > 0 ? 'idle' : 'nothing';
  }
}
