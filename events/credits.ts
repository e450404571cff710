// The streams `credits-{userId}`: the ledger. Every entry carries the balance after it and a hash chained to the previous
// entry, so that an auditor proves a balance from the entries alone.
import { hash } from 'node:crypto';
import { canonicalJson } from './canonical-json.ts';
import { type DataOf, type EventSpec, type EventsOf, event } from './event-spec.ts';
import type { RecordedEvent } from './event-store.ts';
import { type Static, Type } from './schema.ts';

/** The share of an amount that one lot covers. A lot is the grant that brought the credits in. */
export const LotPart = Type.Object({ lot_id: Type.String(), amount: Type.Integer({ minimum: 1 }) });
export type LotPart = Static<typeof LotPart>;

/** Credits of the jobs of one API key. Only keys with a limit of credits are counted. */
export const KeyPart = Type.Object({ key_id: Type.String(), amount: Type.Integer({ minimum: 1 }) });
export type KeyPart = Static<typeof KeyPart>;

/** A type of transaction. */
interface TransactionRow {
  /** The event type that records it. */
  recorded_as: string;
  /** How it counts towards the usage: it opens a period, or counts in the current one. */
  usage_effect: 'opens' | 'counts' | 'none';
  /** The work over two streams that it is a step of, by its name in `two-streams.ts`; null: the ledger alone has it. */
  work: string | null;
  /** What it is, for clients. */
  meaning: string;
}

export const TRANSACTIONS = {
  signup_bonus: {
    recorded_as: 'CreditsGranted',
    usage_effect: 'none',
    work: 'signup bonus',
    meaning: 'credits of a new account',
  },
  purchase: { recorded_as: 'CreditsGranted', usage_effect: 'none', work: 'payment', meaning: 'bought credits' },
  subscription: {
    recorded_as: 'CreditsGranted',
    usage_effect: 'opens',
    work: 'payment',
    meaning: 'credits of a plan for one period',
  },
  trial: { recorded_as: 'CreditsGranted', usage_effect: 'opens', work: 'trial', meaning: 'credits to try a plan' },
  reservation: {
    recorded_as: 'CreditsReserved',
    usage_effect: 'counts',
    work: 'reservation',
    meaning: 'credits reserved for a job',
  },
  refund: {
    recorded_as: 'CreditsRefunded',
    usage_effect: 'counts',
    work: 'refund',
    meaning: 'reserved credits that an ended job did not use',
  },
  release: {
    recorded_as: 'CreditsRefunded',
    usage_effect: 'counts',
    work: 'reservation',
    meaning: 'reserved credits of a job that was never created or resumed',
  },
  adjustment: {
    recorded_as: 'CreditsAdjusted',
    usage_effect: 'none',
    work: null,
    meaning: 'a correction by an administrator',
  },
  expiry: { recorded_as: 'CreditsExpired', usage_effect: 'none', work: null, meaning: 'credits past their last day' },
  reversal: {
    recorded_as: 'CreditsReversed',
    usage_effect: 'none',
    work: 'payment',
    meaning: 'credits taken back because their payment was refunded or disputed',
  },
  restoration: {
    recorded_as: 'CreditsRestored',
    usage_effect: 'none',
    work: 'payment',
    meaning: 'credits given back because the refund failed or the dispute was won',
  },
  recovery: {
    recorded_as: 'CreditsRecovered',
    usage_effect: 'none',
    work: null,
    meaning: 'credits that pay off credits owed',
  },
} as const satisfies Record<string, TransactionRow>;
type Transactions = typeof TRANSACTIONS;
type EntryType = Transactions[keyof Transactions]['recorded_as'];
/** The types of transaction that these event types record. */
export type TransactionType<Entry extends EntryType = EntryType> = {
  [Each in keyof Transactions]: Transactions[Each]['recorded_as'] extends Entry ? Each : never;
}[keyof Transactions];
export const TRANSACTION_TYPES = Object.keys(TRANSACTIONS) as readonly TransactionType[];

/** The credits of a lot that its payment's reversals claim, by where they came from. */
export const ReversedPart = Type.Object({
  /** Taken from the lot itself. */
  own: Type.Integer({ minimum: 0 }),
  /** Expired before: nobody could spend them. */
  expired: Type.Integer({ minimum: 0 }),
  /** Spent before, so taken from other lots or owed. */
  others: Type.Integer({ minimum: 0 }),
});
export type ReversedPart = Static<typeof ReversedPart>;

/**
 * The ledger's state after an entry. Some entries carry one, so that a command need not read a long ledger whole. An auditor
 * who replays the entries computes the same state. The entry itself has the balance and the hash.
 */
export const LedgerSnapshot = Type.Object({
  /** Version of this shape. A reader ignores snapshots of other versions. */
  version: Type.Integer(),
  /** Number of entries in the ledger, this one included: the entry's revision + 1. */
  entries: Type.Integer({ minimum: 1 }),
  /** The remaining credits of every grant, in order of spending. */
  lots: Type.Array(
    Type.Object({
      lot_id: Type.String(),
      remaining: Type.Integer({ minimum: 0 }),
      expires_at: Type.Union([Type.String(), Type.Null()]),
      /** The credits of the lot that have expired; 0 when absent. */
      expired: Type.Optional(Type.Integer({ minimum: 1 })),
      reversed: Type.Optional(ReversedPart),
      /** The credits of other lots among `reversed.others`; the rest of these is owed. */
      taken: Type.Optional(Type.Array(LotPart)),
    }),
  ),
  /** The transaction ids of adjustments that removed credits. */
  adjustments: Type.Array(Type.String()),
  /** Credits that the next credits pay off; 0 when absent. */
  owed: Type.Optional(Type.Integer({ minimum: 1 })),
  /** The credits that each API key with a limit has used. */
  keys: Type.Optional(Type.Array(KeyPart)),
  /** The usage of the current period; see `Usage`. */
  usage: Type.Object({ period_start: Type.String(), period_end: Type.String(), used: Type.Integer({ minimum: 0 }) }),
});
export type LedgerSnapshot = Static<typeof LedgerSnapshot>;

/** The fields of every entry. */
const entry = <Entry extends EntryType>(type: Entry, range = Type.Integer()) => ({
  transaction_id: Type.String(),
  transaction_type: Type.Enum(
    TRANSACTION_TYPES.filter((each): each is TransactionType<Entry> => TRANSACTIONS[each].recorded_as === type),
  ),
  /** Credits: positive in, negative out. */
  amount: range,
  /** Id of the job (reservation, refund), the reservation (release), the payment, the lot (expiry) or the transaction (recovery). */
  reference_id: Type.String(),
  balance_after: Type.Integer({ minimum: 0 }),
  /** See `entryHash`. */
  hash: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  snapshot: Type.Optional(LedgerSnapshot),
});

const TAKEN = Type.Integer({ maximum: 0 });

export const CREDITS_EVENTS = {
  /** Opens a lot whose id is the transaction's id. */
  CreditsGranted: event({
    ...entry('CreditsGranted'),
    expires_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  }),
  CreditsReserved: event({
    ...entry('CreditsReserved', TAKEN),
    reservation_id: Type.String(),
    parts: Type.Array(LotPart),
    /** The API key with a limit of credits that asked for it. */
    key_id: Type.Optional(Type.String()),
  }),
  /** A `refund` returns credits to the lots of the job's reservations; a `release`, to the lots of one reservation. */
  CreditsRefunded: event({
    ...entry('CreditsRefunded'),
    parts: Type.Array(LotPart),
    /** The credits that were reserved in the current period of usage; all of them when absent. */
    of_period: Type.Optional(Type.Integer({ minimum: 0 })),
    /** What API keys with a limit get back. */
    of_keys: Type.Optional(Type.Array(KeyPart)),
  }),
  /** An administrator added credits, which open a lot, or removed credits from the lots in `parts`. */
  CreditsAdjusted: event({ ...entry('CreditsAdjusted'), reason: Type.String(), parts: Type.Array(LotPart) }),
  CreditsExpired: event({ ...entry('CreditsExpired', TAKEN), lot_id: Type.String() }),
  /**
   * Money of the lot's payment went back, and its credits are taken back: `own` from the lot, none for those that have expired, and for
   * those that were spent `parts` of other lots. What these lack is added to the credits owed.
   */
  CreditsReversed: event({
    ...entry('CreditsReversed', TAKEN),
    lot_id: Type.String(),
    own: Type.Integer({ minimum: 0 }),
    expired: Type.Integer({ minimum: 0 }),
    parts: Type.Array(LotPart),
    owed: Type.Integer({ minimum: 0 }),
  }),
  /**
   * The money came back after all, or a job gave back credits of the lot, which are taken instead: `own` goes to the lot, `others` to the lots
   * in `parts`, from which they were taken, and `forgiven` is no longer owed. The first events have no `parts`: their `others` open a lot
   * that never expires.
   */
  CreditsRestored: event({
    ...entry('CreditsRestored'),
    lot_id: Type.String(),
    own: Type.Integer({ minimum: 0 }),
    expired: Type.Integer({ minimum: 0 }),
    others: Type.Integer({ minimum: 0 }),
    forgiven: Type.Integer({ minimum: 0 }),
    parts: Type.Optional(Type.Array(LotPart)),
  }),
  /** Pays off credits owed, from the credits that the transaction `reference_id` brought in. */
  CreditsRecovered: event({ ...entry('CreditsRecovered', TAKEN), parts: Type.Array(LotPart) }),
} satisfies Record<EntryType, EventSpec>;

export type CreditsGranted = DataOf<typeof CREDITS_EVENTS.CreditsGranted>;
export type CreditsReserved = DataOf<typeof CREDITS_EVENTS.CreditsReserved>;
export type CreditsRefunded = DataOf<typeof CREDITS_EVENTS.CreditsRefunded>;

export type CreditsEvent = EventsOf<typeof CREDITS_EVENTS>;

/** The credits that an entry adds to those that the user owes: negative where it pays off or forgives some. */
export function owedBy({ type, data }: CreditsEvent): number {
  switch (type) {
    case 'CreditsReversed':
      return data.owed;
    case 'CreditsRestored':
      return -data.forgiven;
    case 'CreditsRecovered':
      return data.amount;
    case 'CreditsGranted':
    case 'CreditsReserved':
    case 'CreditsRefunded':
    case 'CreditsAdjusted':
    case 'CreditsExpired':
      return 0;
  }
}

/** The lot that an entry opens; null for most. */
export function lotOpenedBy({ type, data }: CreditsEvent): { credits: number; expires_at: string | null } | null {
  switch (type) {
    case 'CreditsGranted':
      return { credits: data.amount, expires_at: data.expires_at };
    case 'CreditsAdjusted':
      return data.amount > 0 ? { credits: data.amount, expires_at: null } : null;
    case 'CreditsRestored':
      return data.others > 0 && !data.parts ? { credits: data.others, expires_at: null } : null;
    case 'CreditsReserved':
    case 'CreditsRefunded':
    case 'CreditsExpired':
    case 'CreditsReversed':
    case 'CreditsRecovered':
      return null;
  }
}

/** What an entry adds to lots that exist already: negative where it takes. */
export function lotMovesOf({ type, data }: CreditsEvent): LotPart[] {
  const negative = (parts: readonly LotPart[]) => parts.map(({ lot_id, amount }) => ({ lot_id, amount: -amount }));
  switch (type) {
    case 'CreditsGranted':
      return [];
    case 'CreditsReserved':
    case 'CreditsAdjusted':
    case 'CreditsRecovered':
      return negative(data.parts);
    case 'CreditsRefunded':
      return data.parts;
    case 'CreditsExpired':
      return [{ lot_id: data.lot_id, amount: data.amount }];
    case 'CreditsReversed':
      return [{ lot_id: data.lot_id, amount: -data.own }, ...negative(data.parts)];
    case 'CreditsRestored':
      return [{ lot_id: data.lot_id, amount: data.own }, ...(data.parts ?? [])];
  }
}

/** What an entry adds to the credits that API keys with a limit have used: negative where they get some back. */
export function keyMovesOf({ type, data }: CreditsEvent): KeyPart[] {
  if (type === 'CreditsReserved')
    return data.key_id === undefined ? [] : [{ key_id: data.key_id, amount: -data.amount }];
  if (type !== 'CreditsRefunded') return [];
  return (data.of_keys ?? []).map(({ key_id, amount }) => ({ key_id, amount: -amount }));
}

/** The hash of an entry before its append: only the append knows the id, the revision and the time that the hash covers. */
export const UNSEALED = '';

/** An entry as the log holds it. */
export type RecordedEntry = Pick<RecordedEvent, 'stream' | 'revision' | 'id' | 'type' | 'data' | 'metadata'>;

/**
 * SHA-256, in hex, over the canonical JSON (RFC 8785) of the entry without its hash, and the `previous` entry's hash ('' for
 * the first entry). To change, move, drop or insert an entry breaks the chain of hashes.
 */
export function entryHash(previous: string, entry: RecordedEntry): string {
  return hash('sha256', canonicalJson(hashedEntry(previous, entry)), 'hex');
}

/** What the hash of an entry is computed of. */
export function hashedEntry(previous: string, { stream, revision, id, type, data, metadata }: RecordedEntry) {
  const { version = 1, ...cause } = metadata;
  const { hash: _, ...facts } = data as CreditsEvent['data'];
  return { previous, stream, revision, id, type, version, data: facts, metadata: cause };
}
