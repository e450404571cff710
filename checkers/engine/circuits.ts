// A circuit breaker for each origin. After consecutive failures the circuit opens and the origin's URLs wait. Half-open, it
// sends one trial at a time; if the trials fail too, their failure decides the waiting URLs. Pure: the clock is an argument.
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
  /** Open after failed trials: their failure decides the URL. */
  | OriginFailure;

/** Consecutive failed URLs that open the circuit. */
export const OPENS_AFTER = 10;
/** Failed trials after which their failure decides the waiting URLs. */
export const TRIALS = 3;
/** In base times: the wait for the first trial and the wait after the last trial. Each doubles with every further trial. */
const OPEN_BASES = 2;
export const GIVEN_UP_BASES = 60;
const MAX_GIVEN_UP_BASES = 600;
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
  trials: number;
  failed_at: number;
  /** Whether a trial is in flight. */
  trying: boolean;
  next_trial_at: number;
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

  admit(origin: string, now: number): Admission {
    const circuit = this.#circuits.get(origin);
    if (circuit === undefined || circuit.failures < OPENS_AFTER) return 'go';
    if (!circuit.trying && now - circuit.failed_at > FORGOTTEN_AFTER_MS) {
      this.#circuits.delete(origin);
      return 'go';
    }
    if (circuit.trying) return 'wait';
    if (now >= circuit.next_trial_at) {
      circuit.trying = true;
      return 'try';
    }
    return circuit.trials < TRIALS ? 'wait' : circuit.failure;
  }

  /** Records the failure of a URL's first attempt or of a trial. Retries say nothing new and are not recorded. */
  failed(origin: string, failure: OriginFailure, now: number, is_trial: boolean): void {
    let circuit = this.#circuits.get(origin);
    if (circuit === undefined || now - circuit.failed_at > FORGOTTEN_AFTER_MS) {
      circuit = { failures: 0, failure, trials: 0, failed_at: now, trying: false, next_trial_at: 0 };
      this.#circuits.set(origin, circuit);
    }
    const { failures } = circuit;
    if (failures < OPENS_AFTER) {
      circuit.failures++;
      circuit.failure = failure;
      circuit.failed_at = now;
      if (circuit.failures === OPENS_AFTER) circuit.next_trial_at = now + this.#wait(circuit);
    } else if (is_trial) {
      circuit.trying = false;
      circuit.failure = failure;
      circuit.failed_at = now;
      circuit.trials++;
      circuit.next_trial_at = now + this.#wait(circuit);
    }
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

  #wait({ trials }: Circuit): number {
    const given_up = trials - TRIALS;
    const bases =
      given_up < 0 ? OPEN_BASES * 2 ** trials : Math.min(MAX_GIVEN_UP_BASES, GIVEN_UP_BASES * 2 ** given_up);
    return this.#base_ms * bases * (0.5 + this.#random() / 2);
  }
}
