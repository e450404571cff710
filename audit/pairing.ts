// How the audit holds both sides of a work over two streams to each other.
import type { CreditsEvent } from '../events/credits.ts';
import type { Taken } from './account.ts';
import type { Place } from './findings.ts';

/** Whose entry it is, when it was appended, in milliseconds since the epoch, and where. */
export interface EntryOf {
  user_id: string;
  at: number;
  place: Place;
}

type Sides = {
  readonly [Type in CreditsEvent['type']]?: (
    data: Extract<CreditsEvent, { type: Type }>['data'],
    of: EntryOf,
    // biome-ignore lint/suspicious/noConfusingVoidType: most entries give nothing back
  ) => readonly Taken[] | void;
};

export interface Pairing {
  /** What each type of entry means for the work. Returns the reservations that the entry gives back. */
  readonly entries: Sides;
  /**
   * Reports the half-done ones that are late, and returns the number of the others. May be called at any time, and again. `isLate`: of a time
   * in milliseconds since the epoch.
   */
  finish(isLate: (at: number) => boolean): number;
}

/** Shows an entry to a work. */
export const pairEntry = ({ entries }: Pairing, { type, data }: CreditsEvent, of: EntryOf): readonly Taken[] =>
  (entries[type] as ((data: CreditsEvent['data'], of: EntryOf) => readonly Taken[] | undefined) | undefined)?.(
    data,
    of,
  ) ?? [];
