// The state of one user's ledger: its balance, its lots and the ids of its newest entries.

import {
  CREDITS_EVENTS,
  type CreditsEvent,
  type CreditsReserved,
  keyMovesOf,
  type LotPart,
  lotMovesOf,
  lotOpenedBy,
  owedBy,
  type ReversedPart,
} from '../../events/credits.ts';
import type { Metadata } from '../../events/event-store.ts';
import { EventFromLater } from '../../events/unreadable.ts';
import { type Usage, usageAfter } from '../../events/usage.ts';

/** The credits of one grant that are not spent. */
export interface Lot {
  lot_id: string;
  remaining: number;
  /** ISO 8601; null: never. */
  expires_at: string | null;
  /** The credits that have expired. */
  expired: number;
  /** The credits that are taken back, because the lot's payment was; their sum is at most the grant. */
  reversed: ReversedPart;
  /** The credits of other lots that stand in for its own among `reversed.others`, in order of taking; the rest of these is owed. */
  taken?: LotPart[];
}

export const NOT_REVERSED: ReversedPart = { own: 0, expired: 0, others: 0 };

export interface Reservation {
  job_id: string;
  amount: number;
  /** When it was made, in ISO 8601. */
  at?: string;
  /** The lots that the credits came from, in order of spending. */
  parts: LotPart[];
  /** The API key with a limit of credits that asked for it. */
  key_id?: string;
}

export interface Credits {
  /** The sum of all entries, which equals the sum of the lots. */
  balance: number;
  /** Credits that were taken back and spent before. The next credits pay them off, so that the balance is 0 while there are any. */
  owed: number;
  /** The last entry's hash. */
  hash: string;
  /** In order of spending: by expiry, lots without an expiry last. Empty lots stay, because a refund may fill them. */
  lots: Lot[];
  /** The transaction ids of adjustments that removed credits. An adjustment that added credits is a lot. */
  adjustments: Set<string>;
  /** The credits that each API key with a limit has used, without what it got back. */
  keys: Map<string, number>;
  /** The usage of the period of the last entry; null before the first. */
  usage: Usage | null;
  entries: number;
  /** The number of entries up to the last one that carries a snapshot; 0 when none does. */
  snapshot_at: number;
  /** The transaction ids of the newest `KNOWN_ENTRIES` entries, in order. `recall` finds older ones in the log. */
  done: Set<string>;
  /** The reservations among the newest entries, by reservation id. A released one stays as `RELEASED`. */
  reservations: Map<string, Reservation>;
}

/** The state remembers the transaction ids of this many of the newest entries. */
export const KNOWN_ENTRIES = 1_000;

export const RELEASED: Reservation = { job_id: '', amount: 0, parts: [] };

export const initial = (): Credits => ({
  balance: 0,
  owed: 0,
  hash: '',
  lots: [],
  adjustments: new Set(),
  keys: new Map(),
  usage: null,
  entries: 0,
  snapshot_at: 0,
  done: new Set(),
  reservations: new Map(),
});

/** An entry with the time of its append. */
export type Entry = CreditsEvent & { metadata?: Pick<Metadata, 'at'> };

/** Throws `EventFromLater` for an entry that this service does not know: a balance without it would be wrong. */
export function evolve(credits: Credits, event: Entry): Credits {
  const { type, data, metadata } = event;
  if (!Object.hasOwn(CREDITS_EVENTS, type)) {
    const entry = { stream: 'credits', revision: credits.entries, type, version: 1 };
    throw new EventFromLater(entry, 'is a type that this service does not know');
  }
  credits.balance = data.balance_after;
  credits.hash = data.hash;
  credits.entries += 1;
  if (metadata) credits.usage = usageAfter(credits.usage, data, metadata.at);
  if (data.snapshot) credits.snapshot_at = credits.entries;
  for (const { lot_id, amount } of lotMovesOf(event)) changeLot(credits.lots, lot_id, amount);
  for (const { key_id, amount } of keyMovesOf(event)) credits.keys.set(key_id, usedBy(credits, key_id) + amount);
  const opened = lotOpenedBy(event);
  if (opened) addLot(credits, data.transaction_id, opened.credits, opened.expires_at);
  credits.owed += owedBy(event);
  return remember(claim(credits, event), event);
}

export const usedBy = ({ keys }: Pick<Credits, 'keys'>, key_id: string): number => keys.get(key_id) ?? 0;

/** Notes what later commands ask of an entry: what of a lot has expired, what reversals claim, which adjustments removed credits. */
function claim(credits: Credits, { type, data }: CreditsEvent): Credits {
  switch (type) {
    case 'CreditsAdjusted':
      if (data.amount <= 0) credits.adjustments.add(data.transaction_id);
      return credits;
    case 'CreditsExpired':
      lotOf(credits.lots, data.lot_id).expired -= data.amount;
      return credits;
    case 'CreditsReversed': {
      const { own, expired, parts, owed } = data;
      const lot = changeClaim(credits, data.lot_id, { own, expired, others: owed + sumOf(parts) });
      if (parts.length > 0) lot.taken = [...takenFor(lot), ...parts];
      return credits;
    }
    case 'CreditsRestored': {
      const { own, expired, others, forgiven, parts } = data;
      const lot = changeClaim(credits, data.lot_id, { own: -own, expired: -expired, others: -others - forgiven });
      const taken = takenFor(lot);
      lot.taken = without(taken, parts ?? lastOf(taken, Math.min(others, sumOf(taken))));
      if (owedFor(lot) < 0) handOver(credits, lot);
      return credits;
    }
    case 'CreditsRecovered':
      recover(credits, data.parts);
      return credits;
    case 'CreditsGranted':
    case 'CreditsReserved':
    case 'CreditsRefunded':
      return credits;
  }
}

const sumOf = (parts: readonly LotPart[]): number => parts.reduce((sum, { amount }) => sum + amount, 0);

/** What is owed for the claim on a lot. */
export const owedFor = (lot: Lot): number => lot.reversed.others - sumOf(takenFor(lot));
export const takenFor = ({ taken = [] }: Lot): readonly LotPart[] => taken;

/** Returns the `amount` that was taken last, the last one first. */
export function lastOf(taken: readonly LotPart[], amount: number): LotPart[] {
  const last: LotPart[] = [];
  let missing = amount;
  for (const part of taken.toReversed()) {
    const given = Math.min(part.amount, missing);
    if (given > 0) last.push({ lot_id: part.lot_id, amount: given });
    missing -= given;
  }
  if (missing > 0) throw new Error(`${missing} credits more go back than were taken`);
  return last;
}

/** Returns what is left of the parts, of which the last ones go. */
function without(taken: readonly LotPart[], gone: readonly LotPart[]): LotPart[] {
  const left = taken.map((part) => ({ ...part }));
  for (const { lot_id, amount } of gone) {
    let missing = amount;
    for (const part of left.toReversed()) {
      if (part.lot_id !== lot_id) continue;
      const given = Math.min(part.amount, missing);
      part.amount -= given;
      missing -= given;
    }
  }
  return left.filter(({ amount }) => amount > 0);
}

/** Pays off what is owed. The credits of a lot first pay for the claim on itself, as if they had been there when it was made. */
function recover(credits: Credits, parts: readonly LotPart[]): void {
  const left = parts.map((part) => ({ ...part }));
  for (const part of left) {
    const lot = lotOf(credits.lots, part.lot_id);
    const own = Math.min(part.amount, owedFor(lot));
    if (own <= 0) continue;
    changeClaim(credits, part.lot_id, { own, expired: 0, others: -own });
    part.amount -= own;
  }
  standIn(credits, left);
}

/** Lets the parts stand in for what is owed, lot after lot. */
function standIn({ lots }: Credits, parts: readonly LotPart[]): void {
  const left = parts.map((part) => ({ ...part }));
  for (const lot of lots) {
    for (const part of left) {
      const amount = Math.min(part.amount, owedFor(lot));
      if (amount <= 0) continue;
      lot.taken = [...takenFor(lot), { lot_id: part.lot_id, amount }];
      part.amount -= amount;
    }
  }
}

/** The first restorations forgave whatever was owed first, also for claims on other lots: what stood in for this lot now does so for those. */
function handOver(credits: Credits, lot: Lot): void {
  const taken = takenFor(lot);
  const parts = lastOf(taken, -owedFor(lot));
  lot.taken = without(taken, parts);
  standIn(credits, parts);
}

function changeClaim(credits: Credits, lot_id: string, { own, expired, others }: ReversedPart): Lot {
  const lot = lotOf(credits.lots, lot_id);
  const before = lot.reversed;
  lot.reversed = { own: before.own + own, expired: before.expired + expired, others: before.others + others };
  return lot;
}

export const reservationOf = (
  { reference_id: job_id, amount, parts, key_id }: CreditsReserved,
  at: string | undefined,
): Reservation => ({ job_id, amount: -amount, at, parts, ...(key_id !== undefined && { key_id }) });

/** Adds the entry to the newest ones, and forgets the oldest. */
export function remember(credits: Credits, { type, data, metadata }: Entry): Credits {
  const { done, reservations } = credits;
  done.add(data.transaction_id);
  if (type === 'CreditsReserved') {
    reservations.set(data.reservation_id, reservationOf(data, metadata?.at));
  } else if (data.transaction_type === 'release' && reservations.has(data.reference_id)) {
    reservations.set(data.reference_id, RELEASED);
  }
  if (done.size > KNOWN_ENTRIES) {
    const [oldest] = done;
    done.delete(oldest!);
    if (oldest!.startsWith('reservation:')) reservations.delete(oldest!.slice('reservation:'.length));
  }
  return credits;
}

function addLot({ lots }: Credits, lot_id: string, remaining: number, expires_at: string | null): void {
  const later = lots.findIndex(
    (lot) => expires_at !== null && (lot.expires_at === null || lot.expires_at > expires_at),
  );
  const lot = { lot_id, remaining, expires_at, expired: 0, reversed: NOT_REVERSED };
  lots.splice(later < 0 ? lots.length : later, 0, lot);
}

function changeLot(lots: Lot[], lot_id: string, amount: number): void {
  const lot = lotOf(lots, lot_id);
  if (lot.remaining + amount < 0) throw new Error(`lot ${lot_id} cannot change by ${amount}`);
  lot.remaining += amount;
}

export function lotOf(lots: readonly Lot[], lot_id: string): Lot {
  const lot = lots.find((candidate) => candidate.lot_id === lot_id);
  if (!lot) throw new Error(`the ledger has no lot ${lot_id}`);
  return lot;
}
