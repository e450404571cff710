// What an audit finds, and where.
import type { Position } from '../events/event-store.ts';

/** Each rule of the audit, by what it says. */
export const RULES = {
  unreadable: 'an event can be read, and its types are known',
  streams: 'every stream of the log has all its events up to the last, and every event its stream',
  revisions: 'the revisions of a ledger have no gap',
  chain: "an entry's hash is computed from the entry and the hash before it",
  balance: 'the balance is the sum of the entries, and never negative',
  lots: 'credits are spent and given back in the order of their lots, each transaction once',
  reservation: 'a reservation is used by its job or released, once',
  refund: 'a refund belongs to an ended job, once',
  settlement:
    'a job ends when all its URLs have results; then the credits allocated are the URLs completed plus the credits refunded',
  payment: 'a payment and its grant belong together',
  head: 'the entries are those under each signed head, and there is one',
  file: 'a line of an exported file has the sum that it says',
} as const;
export type Rule = keyof typeof RULES;

export interface Violation {
  rule: Rule;
  /** Of the event in the log; null where none is to blame. */
  position: Position | null;
  stream: string | null;
  revision: number | null;
  message: string;
}

/** Where an event is. */
export type Place = Pick<Violation, 'position' | 'stream' | 'revision'>;
export const NOWHERE: Place = { position: null, stream: null, revision: null };
export const placeOf = ({
  position,
  stream,
  revision,
}: {
  position: Position;
  stream: string;
  revision: number;
}): Place => ({
  position,
  stream,
  revision,
});

/** Reports a violation. */
export type ReportFinding = (rule: Rule, place: Place, message: string) => void;
