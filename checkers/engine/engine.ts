// The engine: URLs to outcomes, thousands at a time. Every check ends: the sweep looks at all of them many times a
// second, so that no request needs a timer of its own.
import type { Outcome } from '../../events/checks.ts';
import type { PooledProxy, ProxyPool } from '../proxies/pool.ts';
import { metBy, ProxyTries } from '../proxies/tries.ts';
import { createAddressGuard } from './addresses.ts';
import { ACCEPT_ENCODING } from './body.ts';
import { type CheckRules, checkerFault, invalidUrl, type Step } from './check.ts';
import { Circuits, failureOf } from './circuits.ts';
import { Connections } from './connections.ts';
import { canOpenFile } from './errors.ts';
import { Exchange, type ExchangeOwner, type Limits } from './exchange.ts';
import { PageMemory } from './fingerprints.ts';
import { Hosts, tooMuch } from './hosts.ts';
import { Batches, Job } from './job.ts';
import { Probes, type SendProbe, SILENT } from './probes.ts';
import { withoutUser } from './redirects.ts';
import { createDnsLookup, createResolver, type Resolver } from './resolver.ts';
import { RETRY_BASE_MS } from './retries.ts';
import { Room } from './room.ts';
import { Scheduler } from './scheduler.ts';
import { compareToProbe, folderOf, type ProbeAnswer, siblingOf } from './soft-404.ts';
import { Suspects } from './suspects.ts';
import { watchThread } from './thread-load.ts';
import {
  type CheckOptions,
  type Engine,
  type EngineParts,
  type EngineSettings,
  NotStarted,
  type Peers,
} from './types.ts';

export type { CheckOptions, Engine, EngineParts, EngineSettings, Peers } from './types.ts';
export { NotStarted } from './types.ts';

/**
 * Checks known to the engine, at least, and as a multiple of the slots. Those of slow hosts pile up here, and must not keep
 * the others out: it is more than a job can have published at a time. Each takes little more than a kilobyte.
 */
const MIN_BACKLOG = 65_536;
const SLOTS_IN_BACKLOG = 16;
const SWEEPS_PER_TIMEOUT = 40;
const MIN_SWEEP_MS = 10;
const MAX_SWEEP_MS = 100;
/** A sweep that comes after so many times its interval is late. */
const LATE_SWEEPS = 3;
/** A redirect of a check that is held goes on within so long, or not at all. */
const LAST_HOP_MS = 1_000;

export function createEngine(settings: EngineSettings, parts: EngineParts = {}): Engine {
  return new CheckerEngine(settings, parts);
}

class CheckerEngine implements Engine, ExchangeOwner {
  readonly limits: Limits;
  readonly probes: Probes;
  readonly now: () => number;
  readonly #concurrency: number;
  readonly #rules: CheckRules;
  readonly #scheduler: Scheduler<Job>;
  readonly #hosts: Hosts;
  readonly #circuits: Circuits;
  readonly #connections: Connections;
  readonly #proxies: ProxyPool | null;
  readonly #resolver: Resolver;
  readonly #stop_lookup: () => void;
  readonly #headers: readonly string[];
  readonly #sweep_ms: number;
  readonly #busy: () => boolean;
  readonly #working: EngineParts['working'];
  readonly #suspects = new Suspects(() => this.now());
  readonly #starved: (reason: string | null) => void;
  readonly #defect: (error: Error, url: string) => void;

  readonly #jobs = new Set<Job>();
  readonly #batches = new Batches(
    (job) => this.#abort(job),
    (job) => this.#hold(job),
  );
  readonly #active = new Set<Exchange>();
  readonly #delayed = new Set<Job>();
  /** Held checks whose next request follows a redirect. */
  readonly #last_hops = new Set<Job>();
  /** The probes that are sent from here, by folder. */
  readonly #asking = new Map<string, Job>();
  /** Without slots, until it is known whether their origin is there. */
  readonly #parked = new Map<string, Set<Job>>();
  /** For requests, on this machine. */
  readonly #room: Room;
  #is_starved = false;
  #timer: NodeJS.Timeout | null = null;
  #swept_at = 0;
  #waits_for_reads = false;
  #awake = false;
  #closed = false;

  constructor(settings: EngineSettings, parts: EngineParts) {
    const { concurrency, per_host, host_gap_ms = 0, timeout_ms, retries } = settings;
    this.now = parts.now ?? (() => performance.now());
    this.#busy = parts.busy ?? watchThread();
    this.#working = parts.working;
    this.#defect = parts.defect ?? (() => {});
    this.limits = { connect_ms: (timeout_ms * 2) / 3, body_ms: timeout_ms / 3 };
    this.#concurrency = concurrency;
    this.#room = new Room(concurrency);
    this.#starved = parts.starved ?? (() => {});
    const { random = Math.random, retry_base_ms = RETRY_BASE_MS } = parts;
    this.#rules = { timeout_ms, retries, retry_base_ms, random, wall: Date.now, pages: new PageMemory() };
    const dns = parts.lookup === undefined ? createDnsLookup() : { lookup: parts.lookup, close() {} };
    this.#stop_lookup = dns.close;
    this.#resolver = createResolver(createAddressGuard(settings.allow_addresses), dns.lookup, this.now);
    this.#hosts = new Hosts({ per_host, gap_ms: host_gap_ms, random });
    this.#circuits = new Circuits(retry_base_ms, random);
    this.#scheduler = new Scheduler(concurrency, (host) => this.#hosts.limitOf(host));
    this.#proxies = parts.proxies ?? null;
    this.#connections = new Connections({
      per_host,
      resolver: this.#resolver,
      proxy_resolver: createResolver(ANY_ADDRESS, dns.lookup, this.now),
      proxies: this.#proxies,
      now: this.now,
      ca: parts.ca,
    });
    this.probes = new Probes(this.#sendProbe);
    this.#headers = [
      'user-agent',
      settings.user_agent,
      'accept',
      'text/html,application/xhtml+xml,*/*;q=0.8',
      'accept-encoding',
      ACCEPT_ENCODING,
    ];
    const finest_ms = Math.min(timeout_ms / SWEEPS_PER_TIMEOUT, host_gap_ms || MAX_SWEEP_MS);
    this.#sweep_ms = Math.min(Math.max(finest_ms, MIN_SWEEP_MS), MAX_SWEEP_MS);
  }

  get free(): number {
    if (this.#closed) return 0;
    if (this.#is_starved) return 0;
    const slots = this.#room.limit - this.#scheduler.running - this.#scheduler.startable;
    const backlog = Math.max(MIN_BACKLOG, SLOTS_IN_BACKLOG * this.#concurrency);
    return Math.max(0, Math.min(slots, backlog - this.#jobs.size));
  }

  get backlog(): number {
    return this.#jobs.size - this.#scheduler.running;
  }

  check(url: string, options: CheckOptions = {}): Promise<Outcome> {
    const { owner = '', group = '', signal, hold } = options;
    if (this.#closed || signal?.aborted === true) return Promise.reject(abortError());
    if (hold?.aborted === true) return Promise.reject(new NotStarted());
    const parsed = URL.parse(url);
    if (parsed === null || (parsed.protocol !== 'http:' && parsed.protocol !== 'https:')) {
      return Promise.resolve(invalidUrl());
    }
    withoutUser(parsed);
    if (this.#suspects.has(parsed)) return Promise.resolve(checkerFault());
    return new Promise((resolve, reject) => {
      const job = new Job(parsed, owner, group, 'url', this.#rules, { resolve, reject });
      this.#jobs.add(job);
      this.#batches.join(job, signal, hold);
      this.#enqueue(job, false);
    });
  }

  suspect(url: string): void {
    this.#suspects.add(url);
  }

  get suspects(): readonly string[] {
    return this.#suspects.all;
  }

  share(peers: Peers | null): void {
    this.#hosts.peers = peers;
    this.probes.peers = peers;
    for (const host of this.#scheduler.hosts) this.#scheduler.limitChanged(host);
    this.#wake();
  }

  hold(host: string, wait_ms: number): void {
    this.#hosts.hold(host, this.now(), wait_ms);
    this.#scheduler.limitChanged(host);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const job of this.#jobs) this.#abort(job);
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#stop_lookup();
    this.#resolver.close();
    await this.#connections.close();
  }

  /** An exchange has ended: its connection and its slot are given back before the check decides what comes next. */
  ended(exchange: Exchange): void {
    const job = exchange.check as Job;
    this.#leave(exchange);
    if (exchange.is_shortage) {
      this.#lacks(job);
      return;
    }
    if (this.#room.isShort) this.#room.succeeded(this.now());
    const second_look = exchange.worth_second_look && !job.lenient;
    if (exchange.failedOnUsedConnection || second_look) {
      job.lenient ||= second_look;
      job.paused(this.now());
      this.#again(job);
      return;
    }
    const { proxy } = exchange.connection;
    if (proxy !== null && this.#isInTheWay(proxy, job, exchange)) {
      // The clock of its attempt stood still meanwhile.
      job.paused(job.asked_at);
      this.#again(job);
      return;
    }
    // The step may lead elsewhere.
    const { host, origin } = job;
    let step: Step;
    this.reads(job);
    try {
      step = job.step(exchange);
      this.#learn(job, host, origin, exchange);
      if (proxy !== null && exchange.failure === null) this.#answeredThrough(proxy, job, exchange);
    } catch (defect) {
      // undici would take it for a failure of the request, and the check would never end.
      this.#working?.leave();
      this.#defective(job, defect as Error);
      return;
    }
    this.#working?.leave();
    if (step === 'hop') {
      job.paused(this.now());
      job.follows = true;
      if (job.isHeld) this.#last_hops.add(job);
      this.#enqueue(job, true);
    } else if (step === 'probe') {
      this.#probe(job);
    } else if ('retry_after_ms' in step) {
      this.#retryLater(job, step.retry_after_ms);
    } else {
      this.#finish(job, step);
    }
  }

  /** Foreign bytes of a check are about to be worked over. */
  reads(job: Job): void {
    this.#working?.enter(job.on_behalf_of ?? job.first.href);
  }

  #retryLater(job: Job, wait_ms: number): void {
    if (job.isHeld) {
      this.#fail(job, new NotStarted());
      return;
    }
    job.retry_at = this.now() + wait_ms;
    this.#delayed.add(job);
    this.#wake();
  }

  /** The machine lacked something for its request: that is no attempt, and it waits for room. */
  #lacks(job: Job): void {
    this.#room.failed(job.asked_at, this.#scheduler.running, this.now());
    job.paused(job.asked_at);
    this.#again(job);
  }

  /** Where the machine has had no room for long, batches go back, and no more are taken until it has. */
  #lookForRoom(now: number): void {
    if (this.#is_starved) {
      if (!canOpenFile()) return;
      this.#is_starved = false;
      this.#room.tryAgain(now);
      this.#starved(null);
    } else if (this.#room.isStarved(now)) {
      this.#is_starved = true;
      this.#starved('the machine lacks files, memory or ports for requests');
      for (const job of this.#jobs) {
        if (job.exchange === null && job.purpose === 'url') this.#withdraw(job, new NotStarted());
      }
    }
  }

  /** Its request is to be made once more, as if it had not been. */
  #again(job: Job): void {
    if (job.isHeld) this.#fail(job, new NotStarted());
    else this.#enqueue(job, true);
  }

  /** The engine failed over what a URL answered: that must not cost its neighbours their outcomes. */
  #defective(job: Job, defect: Error): void {
    this.#defect(defect, job.first.href);
    if (job.purpose === 'probe') this.#fail(job, defect);
    else this.#finish(job, checkerFault());
  }

  /** What an exchange says of its host and its origin. */
  #learn(job: Job, host: string, origin: string, exchange: Exchange): void {
    const { is_trial, asked_at } = job;
    job.is_trial = false;
    const { status, headers } = exchange;
    const is_answer = exchange.failure === null;
    const too_much = is_answer ? tooMuch(status, headers, job.protection, this.#rules.wall) : null;
    // The way of nearly all: an answer, and no trouble anywhere.
    if (is_answer && too_much === null && this.#hosts.size === 0 && this.#circuits.size === 0) return;
    const now = this.now();
    const failure = failureOf(exchange, too_much?.not_now === true, job.protection);
    if (failure === null) {
      if (this.#circuits.answered(origin)) {
        this.#hosts.restart(host, now);
        this.#scheduler.limitChanged(host);
      } else if (too_much === null && this.#hosts.answered(host, asked_at)) {
        this.#scheduler.limitChanged(host);
      }
    } else if (is_trial || job.attempts === 1) {
      this.#circuits.failed(origin, failure, now, is_trial);
    }
    if (too_much !== null) {
      const is_news = this.#hosts.slow(host, asked_at, now, too_much);
      const { retry_after_ms } = too_much;
      if (is_news && retry_after_ms !== null) this.#hosts.peers?.held(host, retry_after_ms);
      this.#scheduler.limitChanged(host);
    }
    if (this.#parked.size > 0) this.#settle(origin, now);
  }

  /** Whether a check may ask its origin; if not, it is parked, or has its outcome. */
  #isAdmitted(job: Job): boolean {
    if (job.is_trial) return true;
    const admission = this.#circuits.admit(job.origin, this.now());
    if (admission === 'go') return true;
    if (admission === 'try') {
      job.is_trial = true;
      return true;
    }
    this.#scheduler.release(job);
    if (admission === 'wait') this.#park(job);
    else this.#finish(job, job.givenUp(admission));
    return false;
  }

  #park(job: Job): void {
    const parked = this.#parked.get(job.origin);
    if (parked === undefined) this.#parked.set(job.origin, new Set([job]));
    else parked.add(job);
  }

  /** What is to become of those who wait for an origin. */
  #settle(origin: string, now: number): void {
    const parked = this.#parked.get(origin);
    if (parked === undefined) return;
    const admission = this.#circuits.admit(origin, now);
    if (admission === 'wait') return;
    if (admission === 'try') {
      // Any of them: those that stand together in a list may share what is wrong with them alone.
      const trial = [...parked][Math.floor(this.#rules.random() * parked.size)]!;
      trial.is_trial = true;
      this.#unpark(trial);
      this.#enqueue(trial, true);
      return;
    }
    this.#parked.delete(origin);
    for (const job of parked) {
      if (admission === 'go') this.#enqueue(job, false);
      else this.#finish(job, job.givenUp(admission));
    }
  }

  #unpark(job: Job): void {
    const parked = this.#parked.get(job.origin);
    if (parked?.delete(job) && parked.size === 0) this.#parked.delete(job.origin);
  }

  /** Whether the proxy may be to blame for a failure, so that another is to be asked. */
  #isInTheWay(proxy: PooledProxy, job: Job, exchange: Exchange): boolean {
    const { failure, connection } = exchange;
    if (failure === null) return false;
    const pool = this.#proxies!;
    job.proxy_tries ??= new ProxyTries();
    exchange.failure = job.proxy_tries.believe(failure, connection.fault, proxy, pool.size > 1);
    if (connection.fault !== 'none') pool.met(proxy, metBy(failure, connection.fault), connection.host);
    return exchange.failure === null;
  }

  #answeredThrough(proxy: PooledProxy, job: Job, { connection, responded_at }: Exchange): void {
    job.proxy_tries = null;
    const met = job.protection === null ? 'answered' : 'blocked';
    this.#proxies!.met(proxy, met, connection.host, responded_at - job.asked_at);
  }

  #leave(exchange: Exchange): void {
    const job = exchange.check as Job;
    this.#active.delete(exchange);
    job.exchange = null;
    if (exchange.reusable) this.#connections.give(exchange.connection);
    else this.#connections.destroy(exchange.connection);
    this.#scheduler.release(job);
  }

  #finish(job: Job, outcome: Outcome): void {
    this.#forget(job);
    job.waiter.resolve(outcome);
    this.#wake();
  }

  #forget(job: Job): void {
    job.done = true;
    this.#jobs.delete(job);
    if (job.is_trial) this.#circuits.dropped(job.origin);
    this.#batches.leave(job);
  }

  /** Takes a check out of wherever it is. */
  #abort(job: Job): void {
    this.#withdraw(job, abortError());
  }

  /** Takes a check out that has no request in flight, of its own or of the probe that it waits for. */
  #hold(job: Job): void {
    if (job.exchange !== null) return;
    if (job.follows) {
      this.#last_hops.add(job);
      return;
    }
    if (job.probe !== null && !this.#isQueued(job.probe.folder)) return;
    this.#withdraw(job, new NotStarted());
  }

  #withdraw(job: Job, error: Error): void {
    if (job.done) return;
    const { exchange, probe } = job;
    if (exchange !== null) {
      exchange.abandon();
      this.#leave(exchange);
    } else if (job.lane !== null) {
      this.#scheduler.remove(job);
    }
    this.#delayed.delete(job);
    this.#unpark(job);
    if (probe !== null && this.probes.dropped(probe.folder, probe.answered)) this.#dropProbe(probe.folder);
    this.#fail(job, error);
  }

  #fail(job: Job, error: Error): void {
    this.#forget(job);
    job.waiter.reject(error);
    this.#wake();
  }

  #enqueue(job: Job, first: boolean): void {
    this.#scheduler.add(job, first);
    this.#wake();
  }

  /** Starts what may start once the callbacks of this moment are through: undici must not be re-entered from one. */
  #wake(): void {
    if (this.#awake) return;
    this.#awake = true;
    queueMicrotask(this.#start);
  }

  readonly #start = (): void => {
    this.#awake = false;
    if (this.#closed) return;
    while (this.#connections.ready) {
      if (this.#room.isShort && !this.#room.mayStart(this.#scheduler.running, this.now())) break;
      const job = this.#scheduler.next();
      if (job === undefined) break;
      if (this.#circuits.size > 0 && !this.#isAdmitted(job)) continue;
      this.#send(job);
    }
    if (this.#jobs.size === 0) return;
    if (this.#timer === null) {
      this.#swept_at = this.now();
      this.#timer = setInterval(this.#sweep, this.#sweep_ms);
    }
    this.#timer.ref();
  };

  #send(job: Job): void {
    const now = this.now();
    job.started(now);
    job.follows = false;
    job.asked_at = now;
    if (this.#hosts.started(job.host, now)) this.#scheduler.limitChanged(job.host);
    const connection = this.#connections.take(job.host, job.origin, job.lenient, job.proxy_tries?.proxies);
    const exchange = new Exchange(job, connection, this, now);
    job.exchange = exchange;
    this.#active.add(exchange);
    const headers = job.cookie === null ? this.#headers : [...this.#headers, 'cookie', job.cookie];
    connection.client.dispatch({ path: job.path, method: 'GET', headers: headers as string[] }, exchange);
  }

  readonly #sweep = (): void => {
    const now = this.now();
    const is_late = now - this.#swept_at > LATE_SWEEPS * this.#sweep_ms;
    this.#swept_at = now;
    // The process slept, or was busy: what came meanwhile is read before anybody is taken for silent.
    this.#waits_for_reads = is_late && !this.#waits_for_reads;
    if (this.#waits_for_reads) return;
    for (const exchange of this.#active) exchange.sweep(now, exchange.check.deadline);
    for (const job of this.#delayed) {
      if (job.retry_at > now) continue;
      this.#delayed.delete(job);
      this.#enqueue(job, false);
    }
    for (const job of this.#last_hops) {
      if (job.done || !job.follows) this.#last_hops.delete(job);
      else if (now - job.paused_at > LAST_HOP_MS) this.#withdraw(job, new NotStarted());
    }
    this.#hosts.sweep(now, this.#freed);
    for (const origin of this.#parked.keys()) this.#settle(origin, now);
    this.#connections.sweep();
    if (this.#room.isShort) this.#lookForRoom(now);
    this.#scheduler.look(this.#busy());
    // A slow host may have more connections now, and a proxy may be well again.
    this.#wake();
    if (this.#jobs.size > 0 || this.#is_starved || this.#timer === null) return;
    // Idle connections keep it going, but not the process.
    this.#timer.unref();
    if (this.#connections.idle > 0) return;
    clearInterval(this.#timer);
    this.#timer = null;
  };

  readonly #freed = (host: string): void => {
    this.#scheduler.limitChanged(host);
    this.#wake();
  };

  /** Asks for a random sibling of a suspect page, once for its folder, and then judges the page. */
  #probe(job: Job): void {
    const folder = `${job.group} ${folderOf(job.first)}`;
    if (job.only_shared && !this.probes.knows(folder) && !this.#rules.pages.mayProbe(job.group, job.host)) {
      this.#finish(job, job.conclude('unknown'));
      return;
    }
    const answered = (answer: ProbeAnswer): void => {
      if (!job.done) this.#finish(job, job.conclude(compareToProbe(job.sketch!, job.first, job.final, answer)));
    };
    if (job.isHeld && this.probes.recall(folder) === null) {
      this.#fail(job, new NotStarted());
      return;
    }
    job.probe = { folder, answered };
    if (this.probes.ask(folder, answered) === 'asked') return;
    const url = siblingOf(job.first, this.#rules.random()).href;
    const { owner, group } = job;
    (this.probes.peers ?? this.probes).probe({ folder, owner, group, url, on_behalf_of: job.first.href });
  }

  readonly #sendProbe: SendProbe = ({ folder, owner, group, url, on_behalf_of }, answered) => {
    if (this.#closed) return;
    const probe: Job = new Job(new URL(url), owner ?? '', group, 'probe', this.#rules, {
      resolve: () => {
        this.#asking.delete(folder);
        answered({ status: probe.status, final_path: probe.final.pathname, sketch: probe.sketch });
      },
      // A defect; or nobody waits for it any more; or the engine closes, and those who wait are aborted themselves.
      reject: (error) => {
        this.#asking.delete(folder);
        if (!this.#closed && !(error instanceof NotStarted)) answered(SILENT);
      },
    });
    probe.on_behalf_of = on_behalf_of ?? null;
    this.#jobs.add(probe);
    this.#asking.set(folder, probe);
    this.#enqueue(probe, true);
  };

  /** Whether the probe of a folder waits for its turn here. */
  #isQueued(folder: string): boolean {
    const probe = this.#asking.get(folder);
    return probe !== undefined && probe.exchange === null && !probe.follows;
  }

  /** Nobody waits any more for what a folder says: it is not asked, unless it is being asked. */
  #dropProbe(folder: string): void {
    if (!this.#isQueued(folder)) return;
    this.#withdraw(this.#asking.get(folder)!, new NotStarted());
    this.probes.cancelled(folder);
  }
}

/** The operator names the proxies. */
const ANY_ADDRESS = { allows: () => true, excepts: () => true };

function abortError(): Error {
  return new DOMException('The check was aborted', 'AbortError');
}
