// A circuit breaker for each origin. After consecutive failures the circuit opens and the origin's URLs wait. Half-open, it
// sends one trial at a time: some soon, and the last one at the end of the list. If that fails too, its failure decides the
// waiting URLs. Pure: the clock is an argument. Decision 156 says why.
import { LRUCache } from 'lru-cache';
import type { ErrorCode } from '../../events/checks.ts';

/** The failure that an origin returns for every URL. */
export interface OriginFailure {
  /** Null when the origin answers, with `status`. */
  error_code: ErrorCode | null;
  status: number | null;
  protection: string | null;
}

export type Admission =
  /** Closed: send the request. */
  | 'go'
  /** Half-open: send the request as the trial, and report its result. */
  | 'try'
  /** Open: wait for the result of a trial. */
  | 'wait'
  /** Given up: the failure of the last trial decides a URL that has failed by itself. */
  | OriginFailure;

/** Consecutive failed URLs that open the circuit. */
export const OPENS_AFTER = 10;
/** Failed trials after which their failure decides the waiting URLs. */
export const TRIALS = 3;
/** In base times: the wait for the first trial, which doubles for the second. */
const OPEN_BASES = 2;
/** In base times: the wait for the last trial, and for further ones of an origin that is given up. */
const LAST_BASES = 60;
/** In base times: at the end of the list the last trial comes this long after the circuit opened. */
const QUIET_BASES = 30;
/** In base times: so long after an origin was given up, a URL that comes when nothing else is left is a trial: a list of its own is short. */
const AGAIN_BASES = 4;
/** A failure expires after this long. */
const FORGOTTEN_AFTER_MS = 15 * 60_000;
/** Limit on the origins with a circuit. */
const KEPT_ORIGINS = 20_000;

/** Errors that concern every URL of an origin. `dns_not_found` is missing, because the DNS cache answers it at no cost. */
const ORIGIN_FAILURES: ReadonlySet<ErrorCode> = new Set([
  'dns_failed',
  'connection_refused',
  'connect_timeout',
  'connection_reset',
  'response_timeout',
]);

/** The failure of the origin that an exchange shows, or null. `is_explicit`: the answer was a 429 or had a Retry-After. */
export function failureOf(
  { failure, status }: { failure: ErrorCode | null; status: number },
  is_explicit: boolean,
  protection: string | null,
): OriginFailure | null {
  if (failure !== null) {
    return ORIGIN_FAILURES.has(failure) ? { error_code: failure, status: null, protection: null } : null;
  }
  return is_explicit ? { error_code: null, status, protection } : null;
}

interface Circuit {
  /** Consecutive failed URLs. */
  failures: number;
  failure: OriginFailure;
  failed_at: number;
  trials: number;
  /** Whether a trial is in flight. */
  trying: boolean;
  next_trial_at: number;
  /** When the next trial may begin at the end of the list. */
  quiet_trial_at: number;
  /** Whether the failure of the next trial decides the waiting URLs. */
  is_last: boolean;
  /** Whether the failure of such a trial did. */
  is_given_up: boolean;
}

export class Circuits {
  readonly #base_ms: number;
  readonly #random: () => number;
  readonly #circuits = new LRUCache<string, Circuit>({ max: KEPT_ORIGINS });

  /** `random` in [0, 1). */
  constructor(base_ms: number, random: () => number) {
    this.#base_ms = base_ms;
    this.#random = random;
  }

  /** Number of origins whose last request failed. */
  get size(): number {
    return this.#circuits.size;
  }

  /**
   * `is_quiet`: the rest of the list is done, or waits as this origin does. `has_failed`: the URL had an attempt of its own at the
   * origin.
   */
  admit(origin: string, now: number, { is_quiet = false, has_failed = false } = {}): Admission {
    const circuit = this.#circuits.get(origin);
    if (circuit === undefined || circuit.failures < OPENS_AFTER) return 'go';
    if (!circuit.trying && now - circuit.failed_at > FORGOTTEN_AFTER_MS) {
      this.#circuits.delete(origin);
      return 'go';
    }
    if (has_failed && circuit.is_given_up) return circuit.failure;
    const is_due = now >= circuit.next_trial_at || (is_quiet && now >= circuit.quiet_trial_at);
    if (circuit.trying || !is_due) return 'wait';
    circuit.trying = true;
    return 'try';
  }

  /**
   * Records the failure of a URL's first attempt or of a trial. Retries say nothing new and are not recorded. True when the failure
   * decides the waiting URLs.
   */
  failed(origin: string, failure: OriginFailure, now: number, is_trial: boolean): boolean {
    let circuit = this.#circuits.get(origin);
    if (circuit === undefined || now - circuit.failed_at > FORGOTTEN_AFTER_MS) {
      circuit = closedCircuit(failure, now);
      this.#circuits.set(origin, circuit);
    }
    const is_closed = circuit.failures < OPENS_AFTER;
    if (!is_closed && !is_trial) return false;
    circuit.failure = failure;
    circuit.failed_at = now;
    if (is_closed) {
      if (++circuit.failures < OPENS_AFTER) return false;
      circuit.quiet_trial_at = now + QUIET_BASES * this.#base_ms;
    } else {
      circuit.trying = false;
      circuit.trials++;
      circuit.is_given_up = circuit.is_last;
      if (circuit.is_last) circuit.quiet_trial_at = now + AGAIN_BASES * this.#base_ms;
    }
    this.#schedule(circuit, now);
    return circuit.is_given_up;
  }

  /** The origin answered: closes its circuit. True when the circuit was open. */
  answered(origin: string): boolean {
    if (this.#circuits.size === 0) return false;
    const circuit = this.#circuits.peek(origin);
    if (circuit === undefined) return false;
    this.#circuits.delete(origin);
    return circuit.failures >= OPENS_AFTER;
  }

  /** The trial ended without a result: another trial may start at once. */
  dropped(origin: string): void {
    const circuit = this.#circuits.peek(origin);
    if (circuit !== undefined) circuit.trying = false;
  }

  #schedule(circuit: Circuit, now: number): void {
    const { trials, quiet_trial_at } = circuit;
    // A silent origin has taken the time of several trials.
    circuit.is_last = trials >= TRIALS - 1 || now >= quiet_trial_at || circuit.is_given_up;
    const bases = circuit.is_last ? LAST_BASES : OPEN_BASES * 2 ** trials;
    circuit.next_trial_at = now + this.#base_ms * bases * (0.5 + this.#random() / 2);
  }
}

function closedCircuit(failure: OriginFailure, now: number): Circuit {
  const trials = { trials: 0, trying: false, next_trial_at: 0, quiet_trial_at: 0, is_last: false, is_given_up: false };
  return { failures: 0, failure, failed_at: now, ...trials };
}
