// The interface of the engine, its settings and its dependencies.
import type { Outcome } from '../../events/checks.ts';
import type { ProxyPool } from '../proxies/pool.ts';
import type { Lookup, OwnLookup } from './resolver.ts';
import type { Sandbox } from './sandbox.ts';
import type { Wishes } from './wishes.ts';

export interface EngineSettings {
  /** Most requests in flight. Unset: as many as the thread, the memory and the open files of this machine allow. */
  concurrency?: number;
  /** Most requests in flight while `concurrency` is unset. Default 4,096. */
  concurrency_limit?: number;
  /** Most connections and requests in flight to one host name. */
  per_host: number;
  /** Least time between the starts of two requests to one host name. Default 0. */
  host_gap_ms?: number;
  /** Time limit of one attempt with all its redirects. */
  timeout_ms: number;
  /** Attempts after the first. */
  retries: number;
  /** CIDRs excepted from the private-address guard. */
  allow_addresses: readonly string[];
  user_agent: string;
  /** The Accept-Language header. Default 'en-US,en;q=0.9'. */
  accept_language?: string;
}

/** The engine's dependencies, which tests replace. */
export interface EngineParts {
  lookup?: Lookup;
  /** Opens the engine's own lookup. `away` takes the reason when no name server answers, and null when one does again. */
  openDns?: (away: (reason: string | null) => void) => OwnLookup;
  /** Monotonic clock, in milliseconds. */
  now?: () => number;
  /** In [0, 1). */
  random?: () => number;
  /** PEM of the authorities to trust instead of the system's. */
  ca?: string;
  retry_base_ms?: number;
  /** Whether this thread was busy since the previous call. */
  busy?: () => boolean;
  /** The engine calls `enter` before and `leave` after it reads an answer: a supervisor then knows the URL of a hung thread. */
  working?: { enter(url: string): void; leave(): void };
  /** Called when the machine has had no room for a request for some time, and with null when it has room again. */
  starved?: (reason: string | null) => void;
  /** Called for each exception thrown while reading an answer; the outcome of its URL is `checker_fault`. */
  defect?: (error: Error, url: string) => void;
  /** Called each time that the engine slows its requests to a host, because the host throttled one. */
  backedOff?: () => void;
  /** A host that the process answers for itself. */
  sandbox?: Sandbox;
  /** All requests go through these proxies. While none is usable, checks wait. */
  proxies?: ProxyPool;
}

export interface CheckOptions {
  /** Id of the job owner. Owners share the slots in turn. */
  owner?: string;
  /** Id of the job. The groups of an owner share its slots in turn. */
  group?: string;
  /** What the owner of the job wishes. Share one object among all checks of the job. */
  wishes?: Wishes;
  /** Aborts the check. Share one signal among many checks: the engine listens to each signal once. */
  signal?: AbortSignal;
  /**
   * Holds the check, for example while its job is paused. A check without a request in flight rejects with `NotStarted`. A
   * check with a request in flight continues to its outcome, redirects included; it rejects with `NotStarted` if it would
   * need another attempt. Share one signal among many checks, as with `signal`.
   */
  hold?: AbortSignal;
}

/** A check has no outcome, because it was held before a request was in flight. The caller may check the URL again. */
export class NotStarted extends Error {
  readonly code = 'not_started';

  constructor() {
    super('The check was not started');
  }
}

/** The error of a check that its signal or the end of the engine aborts. */
export function abortError(): Error {
  return new DOMException('The check was aborted', 'AbortError');
}

/** The error of a check whose host another checker asks from now on. */
export class Released extends Error {
  readonly code = 'released';

  constructor() {
    super("The check's host is another checker's now");
  }
}

/** Which hosts are for this checker to ask, where there are several. */
export interface HostOwnership {
  owns(host: string): boolean;
  /** Whether a request may start now: not while the other checkers may take this one for dead. */
  mayAsk(): boolean;
}

export interface Engine {
  /**
   * Checks a URL; the outcome reports every fault of the URL. Rejects with an AbortError when `signal` aborts or the engine
   * closes, and with `NotStarted` when `hold` aborts before a request is in flight, when the machine is starved, or when the name of
   * its host is not known and no name server answers.
   */
  check(url: string, options?: CheckOptions): Promise<Outcome>;
  /** Number of further checks that could start now: the worker pulls as many. */
  readonly free: number;
  /** Whether no name server answers: only URLs whose hosts need no lookup are checked. */
  readonly areNamesAway: boolean;
  /** Number of checks that wait for a slot, for their host or for their next attempt. */
  readonly backlog: number;
  /** Number of checks with a slot. */
  readonly running: number;
  /** Number of hosts to which no request may start now, because they asked to wait or a gap between two requests has not passed. */
  readonly hosts_held: number;
  /** Asks one request at a time of hosts that are another checker's, where redirects lead; null: this checker is alone. */
  share(ownership: HostOwnership | null): void;
  /**
   * Ends checks of the hosts for which `isMoved`, with `Released`: those with a request in flight only if `now`. Returns how many
   * have one.
   */
  release(isMoved: (host: string) => boolean, now: boolean): number;
  /** Marks a URL whose answer made a checker hang or crash. For an hour its outcome is `checker_fault` without a request. */
  suspect(url: string): void;
  /** The suspect URLs of the last hour, as `href`s. */
  readonly suspects: readonly string[];
  /** Aborts every check; resolves when every socket is closed. */
  close(): Promise<void>;
}
