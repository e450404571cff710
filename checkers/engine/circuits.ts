// The circuits: an origin that fails one URL after another is not asked for the rest, but by one of them now and then.
// Where such trials fail too, what they met stands for all that wait. Pure: the clock is an argument.
import { LRUCache } from 'lru-cache';
import type { ErrorCode } from '../../events/checks.ts';

/** What an origin does to every URL. */
export interface OriginFailure {
  /** Null when it answers, with `status`. */
  error_code: ErrorCode | null;
  status: number | null;
  protection: string | null;
}

export type Admission =
  /** Ask for it. */
  | 'go'
  /** Ask for it, and say what came of it: it is the trial. */
  | 'try'
  /** Wait for what comes of a trial. */
  | 'wait'
  /** What the trials met stands for it. */
  | OriginFailure;

/** URLs in a row, without an answer between them, until the circuit opens. */
export const OPENS_AFTER = 10;
/** Trials until what they met stands for the rest. */
export const TRIALS = 3;
/** In base times: how long to the first trial (it doubles with each), and how long the rest is given up at once. */
const OPEN_BASES = 2;
const GIVEN_UP_BASES = 60;
const MAX_GIVEN_UP_BASES = 600;
/** What failed so long ago says nothing any more. */
const FORGOTTEN_AFTER_MS = 15 * 60_000;
/** Origins with failures that are remembered. */
const KEPT_ORIGINS = 20_000;

/** What says that nobody is there for any URL. A name that does not exist is not among it: DNS says so at no cost. */
const ORIGIN_FAILURES: ReadonlySet<ErrorCode> = new Set([
  'dns_failed',
  'connection_refused',
  'connect_timeout',
  'connection_reset',
  'response_timeout',
]);

/** Null when the origin is there. `is_explicit`: it answered that it does not answer now. */
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
  /** URLs that failed in a row. */
  failures: number;
  failure: OriginFailure;
  trials: number;
  failed_at: number;
  /** A trial is under way. */
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

  /** Origins that failed last: 0 spares asking. */
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

  /** A URL's first attempt failed, or a trial did; what else fails says nothing new. */
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

  /** The origin is there. True when it was taken for gone. */
  answered(origin: string): boolean {
    if (this.#circuits.size === 0) return false;
    const circuit = this.#circuits.peek(origin);
    if (circuit === undefined) return false;
    this.#circuits.delete(origin);
    return circuit.failures >= OPENS_AFTER;
  }

  /** The trial came to nothing: another may begin at once. */
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
