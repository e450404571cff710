// What the engine is asked, and what it is given to do it with.
import type { Outcome } from '../../events/checks.ts';
import type { ProxyPool } from '../proxies/pool.ts';
import type { HostPeers } from './hosts.ts';
import type { ProbePeers, Probes } from './probes.ts';
import type { Lookup } from './resolver.ts';

export interface EngineSettings {
  /** Requests in flight, in all. */
  concurrency: number;
  /** Connections and requests in flight to one host name. */
  per_host: number;
  /** Between the starts of two requests to one host name; 0 unless told. */
  host_gap_ms?: number;
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
  /** Whether this thread has had no time to spare since it was last asked. */
  busy?: () => boolean;
  /** Shown over whose answer the engine works, for whoever finds the thread hanging or gone. */
  working?: { enter(url: string): void; leave(): void };
  /** Told when the machine has had no room for a request for some time, and when it has again (null). */
  starved?: (reason: string | null) => void;
  /** Told of each exception that reading an answer has thrown; the outcome of its URL is `checker_fault`. */
  defect?: (error: Error, url: string) => void;
  /** What all requests go through; while none of them is well, checks wait. */
  proxies?: ProxyPool;
}

export interface CheckOptions {
  /** Owners share the slots in turn, then the groups of each. */
  owner?: string;
  /** Groups (a job each) share the slots of their owner in turn. */
  group?: string;
  /** Best one for many checks: the engine listens to each signal once. */
  signal?: AbortSignal;
  /**
   * Aborts when nothing more is to start. A check without a request in flight is then rejected with `NotStarted`: one that
   * waits for its turn, for its host or for its next attempt. One with a request in flight goes on to its outcome, redirects
   * included, unless it would have to be tried again. Best one for many checks, as with `signal`.
   */
  hold?: AbortSignal;
}

/** Why a check has no outcome: it was held before a request of its was in flight. Asked for again, it begins anew. */
export class NotStarted extends Error {
  readonly code = 'not_started';

  constructor() {
    super('The check was not started');
  }
}

/** The other checkers. */
export interface Peers extends HostPeers, ProbePeers {}

export interface Engine {
  /**
   * Never rejects but with an AbortError, when `signal` aborts or the engine closes before the outcome (or by a defect), and
   * with `NotStarted`, when `hold` aborts before a request is in flight, or the machine has no room for any.
   */
  check(url: string, options?: CheckOptions): Promise<Outcome>;
  /** How many more checks could start now: what the worker should pull. */
  readonly free: number;
  /** Checks that wait: for a slot, for their host or for their next attempt. */
  readonly backlog: number;
  /** Other checkers share the limits of hosts and what probes find, until told otherwise; null: this one is alone. */
  share(peers: Peers | null): void;
  /** Another checker was told that this host wants nothing for so long. */
  hold(host: string, wait_ms: number): void;
  /** A URL that a checker hung or ended over: it is not asked for again for an hour, and its outcome is `checker_fault`. */
  suspect(url: string): void;
  /** Those of this hour, as the `href` of what was asked for. */
  readonly suspects: readonly string[];
  /** What folders said: other checkers ask it, and tell it. */
  readonly probes: Probes;
  /** Aborts what is under way; resolves when every socket is closed. */
  close(): Promise<void>;
}
