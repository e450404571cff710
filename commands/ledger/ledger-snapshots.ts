// Snapshots of long ledgers: one of every 500 entries or more carries a snapshot, so that loading reads only the newest
// entries. The entries stay the truth: loading ignores a snapshot that does not agree with its entry.
import { type CreditsEvent, entryHash, type LedgerSnapshot } from '../../events/credits.ts';
import { type EventStore, jsonBytes, MAX_APPEND_BYTES, type RecordedEvent } from '../../events/event-store.ts';
import type { Loaded } from '../stream-states.ts';
import {
  type Credits,
  evolve,
  initial,
  KNOWN_ENTRIES,
  type Lot,
  NOT_REVERSED,
  RELEASED,
  type Reservation,
  remember,
  reservationOf,
} from './ledger.ts';

/** Earlier ones, which an older service beside this one still writes, do not say what keys have used. */
const VERSION = 4;

/** At least this many entries lie between two snapshots, and at least as many as a snapshot has lines. */
const EVERY_ENTRIES = 500;
/** A ledger with more lines or bytes than these gets no snapshot, because an append could not hold it. */
const MAX_LINES = 4_000;
const MAX_BYTES = 0.9 * MAX_APPEND_BYTES;
/** The search for a snapshot keeps up to this many entries in memory, then gives up. */
const MAX_SEARCHED = 5_000;

type Entry = RecordedEvent & CreditsEvent;

/** Returns the snapshot for the ledger's last entry; undefined when none is due. */
export function snapshotOf(credits: Credits): LedgerSnapshot | undefined {
  const { entries, snapshot_at, lots, adjustments, keys, owed, usage } = credits;
  if (usage === null) return undefined;
  const lines = lots.length + adjustments.size + keys.size;
  if (lines > MAX_LINES || entries - snapshot_at < Math.max(EVERY_ENTRIES, lines)) return undefined;
  const snapshot = {
    version: VERSION,
    entries,
    lots: lots.map(toLine),
    adjustments: [...adjustments],
    ...(keys.size > 0 && { keys: keyParts(keys) }),
    usage: { ...usage },
    ...(owed > 0 && { owed }),
  };
  return jsonBytes(snapshot) > MAX_BYTES ? undefined : snapshot;
}

const keyParts = (keys: ReadonlyMap<string, number>) =>
  [...keys].flatMap(([key_id, amount]) => (amount > 0 ? [{ key_id, amount }] : []));

/** Most lots neither expire nor are reversed: a snapshot leaves these fields out. */
function toLine({ lot_id, remaining, expires_at, expired, reversed, taken = [] }: Lot): LedgerSnapshot['lots'][number] {
  const { own, expired: lapsed, others } = reversed;
  const is_reversed = own + lapsed + others > 0;
  const more = {
    ...(expired > 0 && { expired }),
    ...(is_reversed && { reversed }),
    ...(taken.length > 0 && { taken }),
  };
  return { lot_id, remaining, expires_at, ...more };
}

/** Whether the entry has a snapshot with all that the state has, that agrees with its revision and balance, and the entry's hash is right. */
function isSnapshot(entry: Entry, previous: Entry): boolean {
  const { revision, data } = entry;
  const { snapshot } = data;
  if (snapshot?.entries !== revision + 1 || snapshot.version !== VERSION) return false;
  if (data.hash !== entryHash(previous.data.hash, entry)) return false;
  return snapshot.lots.reduce((sum, lot) => sum + lot.remaining, 0) === data.balance_after;
}

/**
 * Loads the ledger from its newest snapshot on and remembers its newest `KNOWN_ENTRIES` entries. Null when the last
 * `MAX_SEARCHED` entries have no snapshot.
 */
export async function loadLedger(log: EventStore, stream: string): Promise<Loaded<Credits> | null> {
  const newest: Entry[] = [];
  let snapshot_at = -1;
  for await (const event of log.readStream(stream, { direction: 'backwards' })) {
    const entry = event as unknown as Entry;
    const next = newest.at(-1);
    if (snapshot_at < 0 && next && isSnapshot(next, entry)) snapshot_at = newest.length - 1;
    newest.push(entry);
    if (snapshot_at >= 0 && newest.length >= KNOWN_ENTRIES) break;
    if (snapshot_at < 0 && newest.length >= MAX_SEARCHED) return null;
  }
  const last = newest[0];
  if (!last || snapshot_at < 0) return null;
  const credits = initial();
  for (const [n, entry] of newest.entries().toArray().reverse()) {
    if (n < snapshot_at) evolve(credits, entry);
    else remember(n === snapshot_at ? restore(credits, entry) : credits, entry);
  }
  return { state: credits, revision: last.revision, last_id: last.id, position: last.position };
}

function restore(credits: Credits, { data }: Entry): Credits {
  const { entries, lots, adjustments, keys = [], usage, owed = 0 } = data.snapshot!;
  const restored = {
    lots: lots.map((lot) => ({ expired: 0, reversed: NOT_REVERSED, ...lot })),
    adjustments: new Set(adjustments),
    keys: new Map(keys.map(({ key_id, amount }) => [key_id, amount])),
    usage: { ...usage },
    owed,
  };
  return Object.assign(credits, restored, {
    balance: data.balance_after,
    hash: data.hash,
    entries,
    snapshot_at: entries,
  });
}

/** Entries that the log has and the state no longer holds. */
export interface Recalled {
  done: Set<string>;
  reservations: Map<string, Reservation>;
}

/** A transaction that returns `amount` credits of these reservations. */
export interface GivingBack {
  transaction_id: string;
  reservation_ids: readonly string[];
  amount: number;
}

/**
 * Reads the ledger backwards from its newest forgotten entry, and returns the reservations that the state lacks and whether
 * the transaction was made. A refund lies after its reservations, so the search ends when they are found; it reaches the
 * ledger's beginning only for a reservation that was never made.
 */
export async function recall(
  log: EventStore,
  stream: string,
  { entries, done, reservations }: Readonly<Credits>,
  { transaction_id, reservation_ids, amount }: GivingBack,
): Promise<Recalled> {
  const recalled: Recalled = { done: new Set(), reservations: new Map() };
  const forgotten = entries - done.size;
  const wanted = new Set(reservation_ids.filter((id) => !reservations.has(id)));
  let lacking = reservation_ids.reduce((left, id) => left - (reservations.get(id)?.amount ?? 0), amount);
  if (forgotten === 0 || wanted.size === 0 || lacking <= 0 || done.has(transaction_id)) return recalled;
  for await (const event of log.readStream(stream, { direction: 'backwards', from: forgotten - 1 })) {
    const { type, data, metadata } = event as unknown as Entry;
    if (data.transaction_id === transaction_id) {
      recalled.done.add(transaction_id);
      break;
    }
    if (type === 'CreditsReserved' && wanted.delete(data.reservation_id)) {
      recalled.reservations.set(data.reservation_id, reservationOf(data, metadata.at));
      lacking += data.amount;
    } else if (data.transaction_type === 'release' && wanted.delete(data.reference_id)) {
      recalled.reservations.set(data.reference_id, RELEASED);
    }
    if (wanted.size === 0 || lacking <= 0) break;
  }
  return recalled;
}
