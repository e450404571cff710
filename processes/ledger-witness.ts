// The ports to the world outside of this machine that vouch for the heads of the ledger: a key elsewhere that signs each head too, and witnesses
// that keep them. Adapters: `adapters/ledger-witness`. Nobody waits for either: what is away is told, and tried again.
import type { LedgerHeadSigned } from '../events/ledger-head.ts';
import { backOffMs } from '../time/back-off.ts';
import { atMost, pause } from '../time/pause.ts';

/** Signs the text of a note with a key outside of this machine. Returns its signature lines; throws `OutsideFault`. */
export type OutsideSigner = (text: string) => Promise<string>;

/** Its message is for operators, and has no secret. */
export class OutsideFault extends Error {}

export interface Witness {
  /** For operators, without a secret. */
  name: string;
  /** Keeps the note. The same one may come again. Throws `OutsideFault`. */
  give(note: string): Promise<void>;
}

const LOOK_MS = 5_000;
const GIVE_MS = 30_000;
const BACK_OFF = { first_ms: 5_000, longest_ms: 600_000 };

export interface WitnessingOptions {
  last: () => Promise<Pick<LedgerHeadSigned, 'note'> | null>;
  witnesses: readonly Witness[];
  /** Told after each try: what is wrong with all witnesses together; null for nothing. */
  tell: (fault: string | null) => void;
  /** Milliseconds that never go back. */
  monotonic: () => number;
  /** How long a witness may take. Default 30 s. */
  give_ms?: number;
}

/** Gives the newest head to each witness: it vouches for all before it, so that those in between may be left out. */
export function openWitnessing(options: WitnessingOptions): { pass(): Promise<void> } {
  const { last, witnesses, tell, monotonic, give_ms = GIVE_MS } = options;
  const states = witnesses.map((witness) => ({
    witness,
    given: null as string | null,
    /** What is still in progress: a disk that hangs gets no second write. */
    giving: null as Promise<void> | null,
    failures: 0,
    retry_at: Number.NEGATIVE_INFINITY,
    fault: null as string | null,
  }));

  async function give(state: (typeof states)[number], note: string): Promise<void> {
    if (state.given === note || state.giving !== null || monotonic() < state.retry_at) return;
    const failed = (message: string) => {
      state.fault = `${state.witness.name}: ${message}`;
      state.retry_at = monotonic() + backOffMs(state.failures, BACK_OFF);
      state.failures += 1;
    };
    state.giving = state.witness
      .give(note)
      .then(() => Object.assign(state, { given: note, failures: 0, retry_at: Number.NEGATIVE_INFINITY, fault: null }))
      .catch((error: Error) => failed(error.message))
      .then(() => void (state.giving = null));
    await atMost(give_ms, state.giving);
    if (state.giving !== null) failed(`no answer within ${give_ms / 1000} s`);
  }

  return {
    async pass() {
      const head = await last();
      if (head === null) return;
      await Promise.all(states.map((state) => give(state, head.note)));
      const faults = states.flatMap(({ fault }) => fault ?? []);
      tell(faults.length > 0 ? faults.join('; ') : null);
    },
  };
}

/** Runs until `signal` aborts; calls `onPass` after each pass. */
export async function runWitnessing(
  options: WitnessingOptions,
  signal: AbortSignal,
  onPass: () => void,
): Promise<void> {
  const witnessing = openWitnessing(options);
  for (; !signal.aborted; await pause(LOOK_MS, signal)) {
    await witnessing.pass();
    onPass();
  }
}
