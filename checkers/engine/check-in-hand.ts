// A check with its state in the engine, and the checks that share abort signals.
import type { Outcome } from '../../events/checks.ts';
import type { ProxyTries } from '../proxies/tries.ts';
import type { Placed } from './bag.ts';
import { Check, type CheckRules } from './check.ts';
import type { Look } from './connections.ts';
import type { Exchange } from './exchange.ts';
import type { ProbeAnswer } from './soft-404.ts';

/** The promise of a caller that waits for a check. */
export interface Waiter {
  resolve: (outcome: Outcome) => void;
  reject: (error: Error) => void;
}

/** The state of a check. The head of `lifecycle.ts` draws the transitions. */
export type State = 'resolving' | 'queued' | 'asking' | 'backing_off' | 'parked' | 'probing' | 'done';

export class CheckInHand extends Check implements Placed {
  readonly waiter: Waiter;
  place = -1;
  state: State = 'queued';
  signals: SignalGroup | null = null;
  /** Its index in `signals.checks`. */
  signals_place = -1;
  /** The request in flight, while it is `asking`. */
  exchange: Exchange | null = null;
  /** Its next request follows a redirect within the same attempt. */
  follows = false;
  /** How its next request is sent. */
  look: Look = 'first';
  proxy_tries: ProxyTries | null = null;
  /** When its latest request began. */
  asked_at = 0;
  /** The half-open circuit of its origin sends it as the trial. */
  is_trial = false;
  /** When the back-off ends. */
  retry_at = 0;
  /** The probe that the check awaits while it is `probing`. */
  probe: { folder: string; answered: (answer: ProbeAnswer) => void } | null = null;
  /** For a probe, the URL of the page that needs it. */
  on_behalf_of: string | null = null;

  constructor(url: URL, owner: string, group: string, purpose: 'url' | 'probe', rules: CheckRules, waiter: Waiter) {
    super(url, owner, group, purpose, rules);
    this.waiter = waiter;
  }

  /** Whether `hold` has aborted: no further request of the check starts. */
  get isHeld(): boolean {
    return this.signals?.hold?.aborted === true;
  }

  /** A request is in flight, or the next one follows the redirect of one that was. */
  get isUnderWay(): boolean {
    return this.state === 'asking' || this.follows;
  }
}

/** The checks that share a pair of signals. Each signal has one listener for all of them. */
export interface SignalGroup {
  /** In any order. An array, because a set that each check enters and leaves keeps ended checks from the young generation's collector. */
  readonly checks: CheckInHand[];
  readonly hold: AbortSignal | undefined;
  /** Removes the listeners. */
  readonly end: () => void;
}

export class SignalGroups {
  readonly #groups = new Map<AbortSignal | undefined, Map<AbortSignal | undefined, SignalGroup>>();
  readonly #abort: (check: CheckInHand) => void;
  readonly #hold: (check: CheckInHand) => void;

  /** `abort` and `hold` run for each check of the group when the signal of that name aborts. */
  constructor(abort: (check: CheckInHand) => void, hold: (check: CheckInHand) => void) {
    this.#abort = abort;
    this.#hold = hold;
  }

  join(check: CheckInHand, signal: AbortSignal | undefined, hold: AbortSignal | undefined): void {
    if (signal === undefined && hold === undefined) return;
    check.signals = this.#groups.get(signal)?.get(hold) ?? this.#begin(signal, hold);
    check.signals_place = check.signals.checks.push(check) - 1;
  }

  leave(check: CheckInHand): void {
    const { signals } = check;
    if (signals === null) return;
    const last = signals.checks.pop()!;
    if (last !== check) {
      signals.checks[check.signals_place] = last;
      last.signals_place = check.signals_place;
    }
    if (signals.checks.length === 0) signals.end();
  }

  #begin(signal: AbortSignal | undefined, hold: AbortSignal | undefined): SignalGroup {
    const checks: CheckInHand[] = [];
    const abort = () => {
      for (const check of [...checks]) this.#abort(check);
    };
    const stop = () => {
      for (const check of [...checks]) this.#hold(check);
    };
    signal?.addEventListener('abort', abort);
    hold?.addEventListener('abort', stop);
    const of_signal = this.#groups.get(signal) ?? new Map<AbortSignal | undefined, SignalGroup>();
    this.#groups.set(signal, of_signal);
    const end = () => {
      signal?.removeEventListener('abort', abort);
      hold?.removeEventListener('abort', stop);
      of_signal.delete(hold);
      if (of_signal.size === 0) this.#groups.delete(signal);
    };
    const signals = { checks, hold, end };
    of_signal.set(hold, signals);
    return signals;
  }
}
