// The streams `credits-{userId}`: the ledger. Every entry carries the balance after it and a hash chained to the entry
// before it, so that an auditor proves a balance from the entries alone.
import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { type Static, Type } from 'typebox';
import { type DataOf, type EventsOf, event } from './event-spec.ts';
import type { RecordedEvent } from './event-store.ts';

/** A part of an amount: of which lot (the grant that brought the credits in) how many. */
export const LotPart = Type.Object({ lot_id: Type.String(), amount: Type.Integer({ minimum: 1 }) });
export type LotPart = Static<typeof LotPart>;

/** Each type of transaction, with the event that records it. */
const RECORDED_AS = {
  signup_bonus: 'CreditsGranted',
  purchase: 'CreditsGranted',
  subscription: 'CreditsGranted',
  trial: 'CreditsGranted',
  reservation: 'CreditsReserved',
  refund: 'CreditsRefunded',
  release: 'CreditsRefunded',
  adjustment: 'CreditsAdjusted',
  expiry: 'CreditsExpired',
} as const;
type Recorded = typeof RECORDED_AS;
type EntryType = Recorded[keyof Recorded];
/** Of the transactions that these events record. */
export type TransactionType<Entry extends EntryType = EntryType> = {
  [Each in keyof Recorded]: Recorded[Each] extends Entry ? Each : never;
}[keyof Recorded];
export const TRANSACTION_TYPES = Object.keys(RECORDED_AS) as readonly TransactionType[];

/**
 * The ledger after an entry, in one of every some hundred, so that a long ledger is not read whole. It is computed of the
 * entries up to its own, and whoever replays them can hold it to them. The balance and the hash are the entry's.
 */
export const LedgerSnapshot = Type.Object({
  /** Of this shape; a snapshot of another version is passed over. */
  version: Type.Integer(),
  /** How many entries the ledger has with this one: the entry's revision and one. */
  entries: Type.Integer({ minimum: 1 }),
  /** What is left of every grant, in order of spending. */
  lots: Type.Array(
    Type.Object({
      lot_id: Type.String(),
      remaining: Type.Integer({ minimum: 0 }),
      expires_at: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
  /** The transaction ids of adjustments that removed credits. */
  adjustments: Type.Array(Type.String()),
});
export type LedgerSnapshot = Static<typeof LedgerSnapshot>;

/** What every entry has. */
const entry = <Entry extends EntryType>(type: Entry) => ({
  transaction_id: Type.String(),
  transaction_type: Type.Enum(
    TRANSACTION_TYPES.filter((each): each is TransactionType<Entry> => RECORDED_AS[each] === type),
  ),
  /** Credits: positive in, negative out. */
  amount: Type.Integer(),
  /** What it was for: a job (reservation, refund), a reservation (release), a payment, a lot (expiry). */
  reference_id: Type.String(),
  balance_after: Type.Integer({ minimum: 0 }),
  /** See `entryHash`. */
  hash: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  snapshot: Type.Optional(LedgerSnapshot),
});

export const CREDITS_EVENTS = {
  /** Opens a lot, named by the transaction. */
  CreditsGranted: event({
    ...entry('CreditsGranted'),
    expires_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  }),
  CreditsReserved: event({
    ...entry('CreditsReserved'),
    reservation_id: Type.String(),
    parts: Type.Array(LotPart),
  }),
  /** Of a `refund` the parts go back to where the job's reservations came from; of a `release`, that one's. */
  CreditsRefunded: event({ ...entry('CreditsRefunded'), parts: Type.Array(LotPart) }),
  /** By an administrator. Added credits open a lot; removed ones come from `parts`. */
  CreditsAdjusted: event({ ...entry('CreditsAdjusted'), reason: Type.String(), parts: Type.Array(LotPart) }),
  CreditsExpired: event({ ...entry('CreditsExpired'), lot_id: Type.String() }),
};

export type CreditsGranted = DataOf<typeof CREDITS_EVENTS.CreditsGranted>;
export type CreditsReserved = DataOf<typeof CREDITS_EVENTS.CreditsReserved>;
export type CreditsRefunded = DataOf<typeof CREDITS_EVENTS.CreditsRefunded>;
export type CreditsAdjusted = DataOf<typeof CREDITS_EVENTS.CreditsAdjusted>;
export type CreditsExpired = DataOf<typeof CREDITS_EVENTS.CreditsExpired>;

export type CreditsEvent = EventsOf<typeof CREDITS_EVENTS>;

/** A decision leaves the hash of its entries empty: only the append knows the id, the revision and the time that it covers. */
export const UNSEALED = '';

/** An entry as it is in the log. */
export type RecordedEntry = Pick<RecordedEvent, 'stream' | 'revision' | 'id' | 'type' | 'data' | 'metadata'>;

/**
 * SHA-256, hex, over the canonical JSON (RFC 8785) of the whole entry without its hash, and of the hash of the entry before
 * it: '' for the first one. Nothing of an entry can be changed, nor an entry moved, left out or put in, without another hash.
 */
export function entryHash(previous: string, { stream, revision, id, type, data, metadata }: RecordedEntry): string {
  const { version = 1, ...cause } = metadata;
  const { hash: _, ...facts } = data as CreditsEvent['data'];
  const entry = { previous, stream, revision, id, type, version, data: facts, metadata: cause };
  return hash('sha256', canonicalize(entry)!, 'hex');
}
