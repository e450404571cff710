// The engine: URLs to outcomes, thousands at a time. Every check ends: the sweep looks at all of them many times a
// second, so that no request needs a timer of its own.
import type { Outcome } from '../../events/checks.ts';
import { createAddressGuard } from './addresses.ts';
import { ACCEPT_ENCODING } from './body.ts';
import { Check, type CheckRules, invalidUrl, type Step } from './check.ts';
import { Connections } from './connections.ts';
import { Exchange, type ExchangeOwner, type Limits } from './exchange.ts';
import { ProbeCache } from './probes.ts';
import { createDnsLookup, createResolver, type Lookup, type Resolver } from './resolver.ts';
import { RETRY_BASE_MS } from './retries.ts';
import { Scheduler } from './scheduler.ts';
import { compareToProbe, folderOf, siblingIn } from './soft-404.ts';

export interface EngineSettings {
  /** Requests in flight, in all. */
  concurrency: number;
  /** Connections and requests in flight to one host name. */
  per_host: number;
  /** Of one attempt with all its redirects. */
  timeout_ms: number;
  /** Attempts after the first. */
  retries: number;
  /** CIDRs excepted from the private-address guard. */
  allow_addresses: readonly string[];
  user_agent: string;
}

/** The engine's surroundings, which tests fix. */
export interface EngineParts {
  lookup?: Lookup;
  /** Milliseconds that never go back. */
  now?: () => number;
  /** In [0, 1). */
  random?: () => number;
  /** PEM of the authorities to trust instead of the system's. */
  ca?: string;
  retry_base_ms?: number;
}

export interface CheckOptions {
  /** Groups (a job each) share the slots in turn. */
  group?: string;
  /** Best one for many checks: the engine listens to each signal once. */
  signal?: AbortSignal;
}

export interface Engine {
  /** Never rejects but with an AbortError, when `signal` aborts or the engine closes before the outcome (or by a defect). */
  check(url: string, options?: CheckOptions): Promise<Outcome>;
  /** How many more checks could start now: what the worker should pull. */
  readonly free: number;
  /** Aborts what is under way; resolves when every socket is closed. */
  close(): Promise<void>;
}

/** Checks known to the engine, as a multiple of the slots: what a single slow host can make it hold. */
const MAX_BACKLOG = 16;
const SWEEPS_PER_TIMEOUT = 40;
const MIN_SWEEP_MS = 10;
const MAX_SWEEP_MS = 100;

export function createEngine(settings: EngineSettings, parts: EngineParts = {}): Engine {
  return new CheckerEngine(settings, parts);
}

/** A check with what the engine knows of it. */
class Job extends Check {
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: Error) => void;
  batch: Batch | null = null;
  exchange: Exchange | null = null;
  retry_at = 0;
  done = false;

  constructor(
    url: URL,
    group: string,
    purpose: 'url' | 'probe',
    rules: CheckRules,
    resolve: (outcome: Outcome) => void,
    reject: (error: Error) => void,
  ) {
    super(url, group, purpose, rules);
    this.resolve = resolve;
    this.reject = reject;
  }
}

/** The checks of one signal, with its one listener. */
interface Batch {
  readonly jobs: Set<Job>;
  readonly stop: () => void;
}

class CheckerEngine implements Engine, ExchangeOwner {
  readonly limits: Limits;
  readonly now: () => number;
  readonly #concurrency: number;
  readonly #rules: CheckRules;
  readonly #scheduler: Scheduler<Job>;
  readonly #connections: Connections;
  readonly #resolver: Resolver;
  readonly #stop_lookup: () => void;
  readonly #probes: ProbeCache;
  readonly #headers: readonly string[];
  readonly #sweep_ms: number;

  readonly #jobs = new Set<Job>();
  readonly #batches = new Map<AbortSignal, Batch>();
  readonly #active = new Set<Exchange>();
  readonly #delayed = new Set<Job>();
  #timer: NodeJS.Timeout | null = null;
  #awake = false;
  #closed = false;

  constructor(settings: EngineSettings, parts: EngineParts) {
    const { concurrency, per_host, timeout_ms, retries } = settings;
    this.now = parts.now ?? (() => performance.now());
    this.limits = { connect_ms: (timeout_ms * 2) / 3, body_ms: timeout_ms / 3 };
    this.#concurrency = concurrency;
    this.#rules = {
      timeout_ms,
      retries,
      retry_base_ms: parts.retry_base_ms ?? RETRY_BASE_MS,
      random: parts.random ?? Math.random,
      wall: Date.now,
    };
    const dns = parts.lookup === undefined ? createDnsLookup() : { lookup: parts.lookup, close() {} };
    this.#stop_lookup = dns.close;
    this.#resolver = createResolver(createAddressGuard(settings.allow_addresses), dns.lookup, this.now);
    this.#scheduler = new Scheduler(concurrency, per_host);
    this.#connections = new Connections({
      per_host,
      max_idle: 4 * concurrency,
      resolver: this.#resolver,
      now: this.now,
      ca: parts.ca,
    });
    this.#probes = new ProbeCache();
    this.#headers = [
      'user-agent',
      settings.user_agent,
      'accept',
      'text/html,application/xhtml+xml,*/*;q=0.8',
      'accept-encoding',
      ACCEPT_ENCODING,
    ];
    this.#sweep_ms = Math.min(Math.max(timeout_ms / SWEEPS_PER_TIMEOUT, MIN_SWEEP_MS), MAX_SWEEP_MS);
  }

  get free(): number {
    if (this.#closed) return 0;
    const slots = this.#concurrency - this.#scheduler.running - this.#scheduler.startable;
    return Math.max(0, Math.min(slots, this.#concurrency * MAX_BACKLOG - this.#jobs.size));
  }

  check(url: string, options: CheckOptions = {}): Promise<Outcome> {
    const { group = '', signal } = options;
    if (this.#closed || signal?.aborted === true) return Promise.reject(abortError());
    const parsed = URL.parse(url);
    if (parsed === null || (parsed.protocol !== 'http:' && parsed.protocol !== 'https:')) {
      return Promise.resolve(invalidUrl());
    }
    return new Promise((resolve, reject) => {
      const job = new Job(parsed, group, 'url', this.#rules, resolve, reject);
      this.#jobs.add(job);
      if (signal !== undefined) this.#join(job, signal);
      this.#enqueue(job, false);
    });
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
    if (exchange.failedOnUsedConnection) {
      job.paused(this.now());
      this.#enqueue(job, true);
      return;
    }
    let step: Step;
    try {
      step = job.step(exchange);
    } catch (defect) {
      // undici would take it for a failure of the request, and the check would never end.
      this.#fail(job, defect as Error);
      return;
    }
    if (step === 'hop') {
      job.paused(this.now());
      this.#enqueue(job, true);
    } else if (step === 'probe') {
      this.#probe(job);
    } else if ('retry_after_ms' in step) {
      job.retry_at = this.now() + step.retry_after_ms;
      this.#delayed.add(job);
      this.#wake();
    } else {
      this.#finish(job, step);
    }
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
    job.resolve(outcome);
    this.#wake();
  }

  #forget(job: Job): void {
    job.done = true;
    this.#jobs.delete(job);
    const { batch } = job;
    if (batch === null) return;
    batch.jobs.delete(job);
    if (batch.jobs.size === 0) batch.stop();
  }

  #join(job: Job, signal: AbortSignal): void {
    let batch = this.#batches.get(signal);
    if (batch === undefined) {
      const jobs = new Set<Job>();
      const abort = () => {
        for (const member of jobs) this.#abort(member);
      };
      const stop = () => {
        signal.removeEventListener('abort', abort);
        this.#batches.delete(signal);
      };
      signal.addEventListener('abort', abort);
      batch = { jobs, stop };
      this.#batches.set(signal, batch);
    }
    batch.jobs.add(job);
    job.batch = batch;
  }

  /** Takes a check out of wherever it is. */
  #abort(job: Job): void {
    if (job.done) return;
    const { exchange } = job;
    if (exchange !== null) {
      exchange.abandon();
      this.#leave(exchange);
    } else if (job.lane !== null) {
      this.#scheduler.remove(job);
    }
    this.#delayed.delete(job);
    this.#fail(job, abortError());
  }

  #fail(job: Job, error: Error): void {
    this.#forget(job);
    job.reject(error);
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
    for (let job = this.#scheduler.next(); job !== undefined; job = this.#scheduler.next()) this.#send(job);
    if (this.#jobs.size === 0) return;
    this.#timer ??= setInterval(this.#sweep, this.#sweep_ms);
    this.#timer.ref();
  };

  #send(job: Job): void {
    const now = this.now();
    job.started(now);
    const connection = this.#connections.take(job.host, job.origin);
    const exchange = new Exchange(job, connection, this, now);
    job.exchange = exchange;
    this.#active.add(exchange);
    const headers = job.cookie === null ? this.#headers : [...this.#headers, 'cookie', job.cookie];
    connection.client.dispatch({ path: job.path, method: 'GET', headers: headers as string[] }, exchange);
  }

  readonly #sweep = (): void => {
    const now = this.now();
    for (const exchange of this.#active) exchange.sweep(now, exchange.check.deadline);
    for (const job of this.#delayed) {
      if (job.retry_at > now) continue;
      this.#delayed.delete(job);
      this.#enqueue(job, false);
    }
    this.#connections.sweep();
    if (this.#jobs.size > 0 || this.#timer === null) return;
    // Idle connections keep it going, but not the process.
    this.#timer.unref();
    if (this.#connections.idle > 0) return;
    clearInterval(this.#timer);
    this.#timer = null;
  };

  /** Asks for a random sibling of a suspect page, once for its folder, and then judges the page. */
  #probe(job: Job): void {
    const folder = folderOf(job.first);
    const entry = this.#probes.ask(folder, (answer) => {
      if (!job.done) this.#finish(job, job.conclude(compareToProbe(job.sketch!, job.final, answer)));
    });
    if (entry === 'asked') return;
    const { random } = this.#rules;
    const probe: Job = new Job(
      siblingIn(folder, random()),
      job.group,
      'probe',
      this.#rules,
      () => {
        this.#probes.answer(folder, { status: probe.status, final_path: probe.final.pathname, sketch: probe.sketch });
      },
      // Only when the engine closes, with everyone who waits for it.
      () => {},
    );
    this.#jobs.add(probe);
    this.#enqueue(probe, true);
  }
}

function abortError(): Error {
  return new DOMException('The check was aborted', 'AbortError');
}
