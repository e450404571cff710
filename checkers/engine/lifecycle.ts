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
import type { CheckInHand } from './check-in-hand.ts';
import { ChecksInHand } from './checks-in-hand.ts';
import type { Exchange } from './exchange.ts';
import { PageMemory } from './fingerprints.ts';
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
  readonly #scheduler: Scheduler<CheckInHand>;
  readonly #names: Names;
  readonly #requests: Requests;
  readonly #sweeps: Sweeps;
  readonly #checks: ChecksInHand;
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
      unparked: (check, first) => this.#enqueue(check, first),
      givenUp: (check, failure) => this.#checks.finish(check, check.givenUp(failure)),
    });
    this.#scheduler = new Scheduler(this.#capacity.concurrency, (host) => this.origins.hosts.limitOf(host));
    const ended = (check: CheckInHand, exchange: Exchange): void => {
      this.#ended(check, exchange);
      // If it is the turn of a check of the same origin, its request goes on the same connection at once.
      if (!this.#is_closed) this.#askNext(this.#requests.continues);
    };
    this.#requests = new Requests(settings, parts, now, ended, (reason) => {
      this.#capacity.namesAway(reason);
      this.#wake();
    });
    this.#names = new Names(this.#requests.resolver, (check, vetted) => this.#resolved(check, vetted));
    this.siblings = new Siblings({
      rules: this.rules,
      send: (probe) => {
        this.#checks.add(probe);
        this.#enqueue(probe, true);
      },
      cancel: (probe) => this.#checks.withdraw(probe, new NotStarted()),
    });
    const { origins, siblings } = this;
    const places = { requests: this.#requests, scheduler: this.#scheduler, names: this.#names, origins, siblings };
    this.#checks = new ChecksInHand(places, () => this.#wake());
    this.#sweeps = new Sweeps(sweepInterval(timeout_ms, host_gap_ms), now, (at, late_ms) => this.#sweep(at, late_ms));
  }

  /** Number of further checks that could start now. */
  get free(): number {
    const { room, is_starved, concurrency } = this.#capacity;
    if (this.#is_closed || is_starved) return 0;
    const slots = room.limit - this.#scheduler.running - this.#scheduler.startable - this.#names.waiting;
    const backlog = Math.max(MIN_BACKLOG, SLOTS_IN_BACKLOG * concurrency);
    return Math.max(0, Math.min(slots, backlog - this.#checks.size));
  }

  /** Whether no name server answers. Checks whose names are not known then end with `NotStarted`, and all others go on. */
  get areNamesAway(): boolean {
    return this.#capacity.are_names_away;
  }

  /** Number of checks without a slot. */
  get backlog(): number {
    return this.#checks.size - this.#scheduler.running;
  }

  get running(): number {
    return this.#scheduler.running;
  }

  get isClosed(): boolean {
    return this.#is_closed;
  }

  /** Starts a check. `signal` and `hold` end it, as `CheckOptions` says. */
  begin(check: CheckInHand, signal: AbortSignal | undefined, hold: AbortSignal | undefined): void {
    this.#checks.add(check, signal, hold);
    this.#enqueue(check, false);
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
    return this.#checks.release(isMoved, now);
  }

  /** Aborts every check; resolves when every socket is closed. */
  async close(): Promise<void> {
    this.#is_closed = true;
    this.siblings.close();
    this.#checks.withdrawAll(abortError());
    this.#sweeps.stop();
    await this.#requests.close();
  }

  #enqueue(check: CheckInHand, first: boolean): void {
    if (this.#requests.knows(check, this.#now())) {
      check.state = 'queued';
      this.#scheduler.add(check, first);
    } else {
      check.state = 'resolving';
      this.#names.add(check, first);
    }
    this.#wake();
  }

  /** The name of a check's host has been looked up. */
  #resolved(check: CheckInHand, vetted: Vetted): void {
    if (check.state !== 'resolving') return;
    const now = this.#now();
    if (vetted.ok) {
      check.state = 'queued';
      this.#scheduler.add(check, check.follows);
      this.#wake();
    } else if (vetted.code === 'shortage') {
      this.#capacity.room.failed(now, this.#scheduler.running, now);
      this.#backOff(check, SHORTAGE_WAIT_MS);
    } else {
      check.started(now);
      check.follows = false;
      this.#take(check, check.stepAfter(vetted.code, now));
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
    if (this.#checks.size > 0) this.#sweeps.start();
  };

  /** Sends the request of the check whose turn it is, if there is one and `fits` says that it may. Returns whether it did. */
  #askNext(fits?: (check: CheckInHand) => boolean): boolean {
    while (this.#requests.ready && this.#ownership?.mayAsk() !== false) {
      const now = this.#now();
      if (this.#capacity.room.isShort && !this.#capacity.room.mayStart(this.#scheduler.running, now)) return false;
      const check = this.#scheduler.next(fits);
      if (check === undefined) return false;
      if (!this.#requests.knows(check, now)) {
        // What was known of its host has expired.
        this.#scheduler.release(check);
        this.#enqueue(check, true);
        continue;
      }
      const admission = this.origins.admit(check, now);
      if (admission === 'go') {
        this.#ask(check, now);
        return true;
      }
      this.#scheduler.release(check);
      if (admission === 'parked') check.state = 'parked';
      else this.#checks.finish(check, check.givenUp(admission));
    }
    return false;
  }

  #ask(check: CheckInHand, now: number): void {
    check.state = 'asking';
    check.started(now);
    check.follows = false;
    check.asked_at = now;
    if (this.origins.hosts.started(check.host, now)) this.#scheduler.limitChanged(check.host);
    const gap_ms = check.granted?.host_gap_ms ?? 0;
    if (gap_ms > 0) this.#paces.hold(this.#scheduler.pace(check), now + gap_ms);
    this.#requests.send(check, now, check.proxy_tries?.proxies);
  }

  /** An exchange has ended: the check releases its slot and decides its next step. */
  #ended(check: CheckInHand, exchange: Exchange): void {
    this.#scheduler.release(check);
    if (exchange.is_shortage) {
      this.#capacity.room.failed(check.asked_at, this.#scheduler.running, this.#now());
      this.#askAgain(check, check.asked_at);
      return;
    }
    if (this.#capacity.room.isShort) this.#capacity.room.succeeded(this.#now());
    const second_look = check.look === 'first' ? exchange.second_look : null;
    if (exchange.failedOnUsedConnection || second_look !== null) {
      if (second_look !== null) check.look = second_look;
      this.#askAgain(check, this.#now());
      return;
    }
    if (shouldTryAnotherProxy(this.#parts.proxies, check, exchange)) return void this.#askAgain(check, check.asked_at);
    // The step may lead to another host.
    const { host, origin } = check;
    const now = this.#now();
    let step: Step;
    this.#parts.working?.enter(check.on_behalf_of ?? check.first.href);
    try {
      step = check.step(exchange, now);
      this.origins.learn(check, host, origin, exchange, now);
      countAnswer(this.#parts.proxies, check, exchange);
    } catch (defect) {
      // undici would take an exception for a failure of the request, and the check would never end.
      this.#endWithDefect(check, defect as Error);
      return;
    } finally {
      this.#parts.working?.leave();
    }
    this.#take(check, step);
  }

  #take(check: CheckInHand, step: Step): void {
    if (step === 'hop') {
      check.paused(this.#now());
      check.follows = true;
      if (check.isHeld) this.#checks.allowLastHop(check);
      this.#enqueue(check, true);
    } else if (step === 'probe') {
      this.#compare(check);
    } else if ('retry_after_ms' in step) {
      this.#backOff(check, step.retry_after_ms);
    } else {
      this.#checks.finish(check, step);
    }
  }

  /** Sends a request again within the same attempt, whose clock stands still from `paused_at` on. */
  #askAgain(check: CheckInHand, paused_at: number): void {
    check.paused(paused_at);
    if (check.isHeld) this.#checks.fail(check, new NotStarted());
    else this.#enqueue(check, true);
  }

  #backOff(check: CheckInHand, wait_ms: number): void {
    if (check.isHeld) return void this.#checks.fail(check, new NotStarted());
    this.#checks.backOff(check, this.#now() + wait_ms);
    this.#wake();
  }

  /** Compares a suspect page with a sibling URL that cannot exist. */
  #compare(check: CheckInHand): void {
    check.state = 'probing';
    const is_asked = this.siblings.compare(check, (outcome) => {
      if (check.state === 'probing') this.#checks.finish(check, outcome);
    });
    if (!is_asked) this.#checks.fail(check, new NotStarted());
  }

  /** The engine threw over an answer: only that URL ends with `checker_fault`. */
  #endWithDefect(check: CheckInHand, defect: Error): void {
    this.#parts.defect?.(defect, check.first.href);
    if (check.purpose === 'probe') this.#checks.fail(check, defect);
    else this.#checks.finish(check, checkerFault(check.attempts));
  }

  /** Nothing is left of the list but requests that get no answer, and what waits. */
  get #isQuiet(): boolean {
    const { running, startable } = this.#scheduler;
    return startable === 0 && this.#names.waiting === 0 && running <= this.#requests.silent;
  }

  #sweep(now: number, late_ms: number): Remaining {
    this.#requests.sweep(now);
    this.#checks.sweep(now, (check) => this.#enqueue(check, false));
    this.origins.sweep(now, this.#isQuiet);
    this.#paces.sweep(now, (lane) => this.#scheduler.resume(lane));
    // The queue gets back what waits for the machine.
    if (this.#capacity.becomesStarved(now)) this.#checks.giveBack((check) => check.state !== 'asking');
    else if (this.#capacity.are_names_away) this.#checks.giveBack((check) => check.state === 'resolving');
    const is_busy = this.#capacity.look(this.#scheduler.running, this.#requests.silent, late_ms);
    this.#scheduler.concurrency = this.#capacity.concurrency;
    this.#scheduler.sweep(is_busy);
    this.#names.sweep();
    // A slow host may have got another connection, and a proxy may be usable again.
    this.#wake();
    if (this.#checks.size > 0 || this.#capacity.is_starved || this.#capacity.are_names_away) return 'work';
    return this.#requests.idle > 0 ? 'idle' : 'nothing';
  }
}
