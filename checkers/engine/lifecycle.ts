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
import type { Outcome } from '../../events/checks.ts';
import { mostInFlight } from '../../net/open-files.ts';
import { Bag } from './bag.ts';
import { type CheckRules, checkerFault, type Step } from './check.ts';
import { GIVEN_UP_BASES, type OriginFailure } from './circuits.ts';
import { canOpenFile } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { PageMemory } from './fingerprints.ts';
import { type Job, SignalGroups } from './job.ts';
import { DEFAULT_SETTINGS } from './limits.ts';
import { watchMemory } from './memory.ts';
import { Names } from './names.ts';
import { Origins } from './origins.ts';
import { countAnswer, shouldTryAnotherProxy } from './proxied.ts';
import { Requests } from './requests.ts';
import type { Vetted } from './resolver.ts';
import { RETRY_BASE_MS } from './retries.ts';
import { Room } from './room.ts';
import { Scheduler } from './scheduler.ts';
import { Siblings } from './siblings.ts';
import { type Remaining, Sweeps, sweepInterval } from './sweeps.ts';
import { watchThread } from './thread-load.ts';
import { abortError, type EngineParts, type EngineSettings, NotStarted } from './types.ts';
import { Width } from './width.ts';

/**
 * The limit on checks in the engine, absolute and as a multiple of the slots; the larger one counts. It exceeds what a job
 * can have published at a time, so that a job's slow hosts do not keep other jobs out. A check takes little more than 1 KB.
 */
const MIN_BACKLOG = 65_536;
const SLOTS_IN_BACKLOG = 16;
/** A held check that cannot follow its redirect within this time ends with `NotStarted`. */
const LAST_HOP_MS = 1_000;
/** The wait before a name that the machine had no room to look up is looked up again. */
const SHORTAGE_WAIT_MS = 100;
const STARVED = 'the machine lacks files, memory or ports for requests';

export class Lifecycle {
  /** The rules of every check. */
  readonly rules: CheckRules;
  readonly origins: Origins;
  readonly siblings: Siblings;
  /** Null when a setting fixes the number of slots. */
  readonly #width: Width | null;
  readonly #parts: EngineParts;
  readonly #now: () => number;
  readonly #scheduler: Scheduler<Job>;
  readonly #names: Names;
  readonly #requests: Requests;
  readonly #sweeps: Sweeps;
  readonly #busy: () => boolean;
  readonly #isShortOfMemory: () => boolean;

  readonly #jobs = new Bag<Job>();
  readonly #groups = new SignalGroups(
    (job) => this.#withdraw(job, abortError()),
    (job) => this.#hold(job),
  );
  readonly #backing_off = new Set<Job>();
  /** Held checks whose next request follows a redirect. */
  readonly #last_hops = new Set<Job>();
  /** Limits the requests to those for which this machine has files, memory and ports. */
  readonly #room: Room;
  /** Why no name can be looked up; null while names can. */
  #dns_away: string | null = null;
  #is_waking = false;
  #is_closed = false;

  /** `now`: a monotonic clock, in milliseconds. */
  constructor(settings: EngineSettings, parts: EngineParts, now: () => number) {
    const { per_host, host_gap_ms = 0, timeout_ms, retries } = settings;
    const { random = Math.random, retry_base_ms = RETRY_BASE_MS } = parts;
    this.#parts = parts;
    this.#now = now;
    this.#busy = parts.busy ?? watchThread();
    this.#isShortOfMemory = watchMemory(now);
    this.#width =
      settings.concurrency === undefined ? new Width(mostInFlight({ ...DEFAULT_SETTINGS, ...settings })) : null;
    const concurrency = settings.concurrency ?? this.#width!.limit;
    this.#room = new Room(concurrency);
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
      givenUp: (job, failure) => this.#giveUp(job, failure),
    });
    this.#scheduler = new Scheduler(concurrency, (host) => this.origins.hosts.limitOf(host));
    const ended = (job: Job, exchange: Exchange): void => {
      this.#ended(job, exchange);
      // If it is the turn of a check of the same origin, its request goes on the same connection at once.
      if (!this.#is_closed) this.#askNext(this.#requests.continues);
    };
    this.#requests = new Requests(settings, parts, now, ended, (reason) => this.#dnsAway(reason));
    this.#names = new Names(this.#requests.resolver, (job, vetted) => this.#resolved(job, vetted));
    this.siblings = new Siblings({
      rules: this.rules,
      send: (probe) => {
        this.#jobs.add(probe);
        this.#enqueue(probe, true);
      },
      cancel: (probe) => this.#withdraw(probe, new NotStarted()),
    });
    this.#sweeps = new Sweeps(sweepInterval(timeout_ms, host_gap_ms), now, (at, late_ms) => this.#sweep(at, late_ms));
  }

  /** Number of further checks that could start now. */
  get free(): number {
    if (this.#is_closed || this.#room.is_starved || this.#dns_away !== null) return 0;
    const slots = this.#room.limit - this.#scheduler.running - this.#scheduler.startable - this.#names.waiting;
    const backlog = Math.max(MIN_BACKLOG, SLOTS_IN_BACKLOG * this.#room.concurrency);
    return Math.max(0, Math.min(slots, backlog - this.#jobs.size));
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
    this.#jobs.add(job);
    this.#groups.join(job, signal, hold);
    this.#enqueue(job, false);
  }

  /** The limit of one host has changed, or without `host` the limits of all. */
  limitChanged(host?: string): void {
    for (const name of host === undefined ? this.#scheduler.hosts : [host]) this.#scheduler.limitChanged(name);
    this.#wake();
  }

  /** Aborts every check; resolves when every socket is closed. */
  async close(): Promise<void> {
    this.#is_closed = true;
    this.siblings.close();
    for (const job of this.#jobs.all) this.#withdraw(job, abortError());
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
      this.#room.failed(now, this.#scheduler.running, now);
      this.#backOff(job, SHORTAGE_WAIT_MS);
    } else {
      job.started(now);
      job.follows = false;
      this.#take(job, job.stepAfter(vetted.code, now));
    }
  }

  /** No name server answers, or with null one does again: the machine's fault, so it decides no URL. */
  #dnsAway(reason: string | null): void {
    this.#dns_away = reason;
    this.#tellStarved();
    if (reason === null) this.#wake();
    else this.#giveBack((job) => job.state === 'resolving');
  }

  #tellStarved(): void {
    this.#parts.starved?.(this.#room.is_starved ? STARVED : this.#dns_away);
  }

  #giveBack(isStuck: (job: Job) => boolean): void {
    for (const job of this.#jobs.all) {
      if (job.purpose === 'url' && isStuck(job)) this.#withdraw(job, new NotStarted());
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
    while (this.#requests.ready) {
      const now = this.#now();
      if (this.#room.isShort && !this.#room.mayStart(this.#scheduler.running, now)) return false;
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
      else this.#giveUp(job, admission);
    }
    return false;
  }

  #ask(job: Job, now: number): void {
    job.state = 'asking';
    job.started(now);
    job.follows = false;
    job.asked_at = now;
    if (this.origins.hosts.started(job.host, now)) this.#scheduler.limitChanged(job.host);
    this.#requests.send(job, now, job.proxy_tries?.proxies);
  }

  /** An exchange has ended: the check releases its slot and decides its next step. */
  #ended(job: Job, exchange: Exchange): void {
    this.#scheduler.release(job);
    if (exchange.is_shortage) {
      this.#room.failed(job.asked_at, this.#scheduler.running, this.#now());
      this.#askAgain(job, job.asked_at);
      return;
    }
    if (this.#room.isShort) this.#room.succeeded(this.#now());
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
      if (job.isHeld) this.#last_hops.add(job);
      this.#enqueue(job, true);
    } else if (step === 'probe') {
      this.#compare(job);
    } else if ('retry_after_ms' in step) {
      this.#backOff(job, step.retry_after_ms);
    } else {
      this.#finish(job, step);
    }
  }

  /** Sends a request again within the same attempt, whose clock stands still from `paused_at` on. */
  #askAgain(job: Job, paused_at: number): void {
    job.paused(paused_at);
    if (job.isHeld) this.#fail(job, new NotStarted());
    else this.#enqueue(job, true);
  }

  #backOff(job: Job, wait_ms: number): void {
    if (job.isHeld) return void this.#fail(job, new NotStarted());
    job.state = 'backing_off';
    job.retry_at = this.#now() + wait_ms;
    this.#backing_off.add(job);
    this.#wake();
  }

  /** The circuit of its origin answers for a check: once it waits for a trial at the end of the list, then the failure decides it. */
  #giveUp(job: Job, failure: OriginFailure): void {
    if (job.was_given_up || job.purpose === 'probe') {
      this.#finish(job, job.givenUp(failure));
      return;
    }
    job.was_given_up = true;
    this.#backOff(job, GIVEN_UP_BASES * this.rules.retry_base_ms);
  }

  /** Compares a suspect page with a sibling URL that cannot exist. */
  #compare(job: Job): void {
    job.state = 'probing';
    const is_asked = this.siblings.compare(job, (outcome) => {
      if (job.state === 'probing') this.#finish(job, outcome);
    });
    if (!is_asked) this.#fail(job, new NotStarted());
  }

  /** The engine threw over an answer: only that URL ends with `checker_fault`. */
  #endWithDefect(job: Job, defect: Error): void {
    this.#parts.defect?.(defect, job.first.href);
    if (job.purpose === 'probe') this.#fail(job, defect);
    else this.#finish(job, checkerFault(job.attempts));
  }

  #finish(job: Job, outcome: Outcome): void {
    this.#forget(job);
    job.waiter.resolve(outcome);
    this.#wake();
  }

  #fail(job: Job, error: Error): void {
    this.#forget(job);
    job.waiter.reject(error);
    this.#wake();
  }

  #forget(job: Job): void {
    job.state = 'done';
    this.#jobs.delete(job);
    this.origins.ended(job);
    this.#groups.leave(job);
  }

  /** Ends a held check, unless its own request or that of its sibling is in flight. */
  #hold(job: Job): void {
    if (job.state === 'asking') return;
    if (job.follows) return void this.#last_hops.add(job);
    if (job.state === 'probing' && !this.siblings.isQueued(job.probe!.folder)) return;
    this.#withdraw(job, new NotStarted());
  }

  /** Ends a check in any state with `error`. */
  #withdraw(job: Job, error: Error): void {
    if (job.state === 'done') return;
    if (job.state === 'asking') {
      this.#requests.abandon(job);
      this.#scheduler.release(job);
    } else if (job.state === 'queued') {
      this.#scheduler.remove(job);
    } else if (job.state === 'resolving') {
      this.#names.remove(job);
    } else if (job.state === 'backing_off') {
      this.#backing_off.delete(job);
    } else if (job.state === 'parked') {
      this.origins.remove(job);
    } else {
      this.siblings.remove(job);
    }
    this.#fail(job, error);
  }

  #sweep(now: number, late_ms: number): Remaining {
    this.#requests.sweep(now);
    for (const job of this.#backing_off) {
      if (job.retry_at > now) continue;
      this.#backing_off.delete(job);
      this.#enqueue(job, false);
    }
    for (const job of this.#last_hops) {
      if (job.state === 'done' || !job.follows) this.#last_hops.delete(job);
      else if (now - job.paused_at > LAST_HOP_MS) this.#withdraw(job, new NotStarted());
    }
    this.origins.sweep(now);
    if (this.#room.isShort) this.#lookForRoom(now);
    const is_busy = this.#busy();
    this.#scheduler.sweep(is_busy);
    this.#names.sweep();
    if (this.#width !== null) this.#widen(this.#width, is_busy, late_ms);
    // A slow host may have got another connection, and a proxy may be usable again.
    this.#wake();
    if (this.#jobs.size > 0 || this.#room.is_starved || this.#dns_away !== null) return 'work';
    return this.#requests.idle > 0 ? 'idle' : 'nothing';
  }

  #widen(width: Width, is_busy: boolean, late_ms: number): void {
    const { running } = this.#scheduler;
    width.look({
      running,
      silent: this.#requests.silent,
      is_busy,
      late_ms,
      is_short_of_memory: this.#isShortOfMemory(),
    });
    this.#scheduler.concurrency = width.limit;
    this.#room.concurrency = width.limit;
  }

  /** While the machine is starved, the engine returns its URLs to the queue and takes no more. */
  #lookForRoom(now: number): void {
    const change = this.#room.look(now, canOpenFile);
    if (change === null) return;
    this.#tellStarved();
    if (change === 'starved') this.#giveBack((job) => job.state !== 'asking');
  }
}
