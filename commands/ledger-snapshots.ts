// Long ledgers: one of every some hundred entries carries a snapshot of the ledger, from which it is loaded, and what the
// state has forgotten is asked of the log. The entries stay the truth: a snapshot that does not fit its entry is passed over.
import { type CreditsEvent, entryHash, type LedgerSnapshot } from '../events/credits.ts';
import { type EventStore, jsonBytes, MAX_APPEND_BYTES, type RecordedEvent } from '../events/event-store.ts';
import type { Loaded } from './aggregate.ts';
import { type Credits, evolve, initial, KNOWN_ENTRIES, RELEASED, type Reservation, remember } from './ledger.ts';

const VERSION = 1;

/** A snapshot comes after so many entries, and after as many as it has lines: it costs each entry no more than a line. */
const EVERY_ENTRIES = 500;
/** A ledger with more grants than this, or with names that take more, has no snapshots: they would not fit an append. */
const MAX_LINES = 4_000;
const MAX_BYTES = 0.9 * MAX_APPEND_BYTES;
/** A ledger whose newest entries have no snapshot is read from its beginning, for these are kept in memory. */
const MAX_SEARCHED = 5_000;

type Entry = RecordedEvent & CreditsEvent;

/** The snapshot that the ledger's last entry is to carry; none, mostly. */
export function snapshotOf({ entries, snapshot_at, lots, adjustments }: Credits): LedgerSnapshot | undefined {
  const lines = lots.length + adjustments.size;
  if (lines > MAX_LINES || entries - snapshot_at < Math.max(EVERY_ENTRIES, lines)) return undefined;
  const said = { version: VERSION, entries, lots: lots.map((lot) => ({ ...lot })), adjustments: [...adjustments] };
  return jsonBytes(said) > MAX_BYTES ? undefined : said;
}

/** Whether the entry carries a snapshot of this version, of this place and of these credits, and is as it was sealed. */
export function isSnapshot(entry: Entry, previous: Entry): boolean {
  const { revision, data } = entry;
  const { snapshot } = data;
  if (snapshot?.version !== VERSION || snapshot.entries !== revision + 1) return false;
  if (data.hash !== entryHash(previous.data.hash, entry)) return false;
  return snapshot.lots.reduce((sum, lot) => sum + lot.remaining, 0) === data.balance_after;
}

/**
 * The ledger from its newest snapshot on, with its newest entries by name: some hundred events are read, however many there
 * are. Null when there is no snapshot near the end.
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
  return { state: credits, revision: last.revision, position: last.position };
}

function restore(credits: Credits, { data }: Entry): Credits {
  const { entries, lots, adjustments } = data.snapshot!;
  const restored = { lots: lots.map((lot) => ({ ...lot })), adjustments: new Set(adjustments) };
  return Object.assign(credits, restored, {
    balance: data.balance_after,
    hash: data.hash,
    entries,
    snapshot_at: entries,
  });
}

/** What the log says of entries that the state has forgotten. */
export interface Recalled {
  done: Set<string>;
  reservations: Map<string, Reservation>;
}

/** A transaction that gives back `amount` of what these reservations took, the newest of them first. */
export interface GivingBack {
  transaction_id: string;
  reservation_ids: readonly string[];
  amount: number;
}

/**
 * Looks for the reservations that the state does not know, and for the transaction that would have given them back, from
 * the newest forgotten entry backwards. What gives back comes after what was reserved: the search ends where enough is
 * found, and goes to the ledger's beginning only for a reservation that was never made.
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
    const { type, data } = event as unknown as Entry;
    if (data.transaction_id === transaction_id) {
      recalled.done.add(transaction_id);
      break;
    }
    if (type === 'CreditsReserved' && wanted.delete(data.reservation_id)) {
      const { reservation_id, reference_id, parts } = data;
      recalled.reservations.set(reservation_id, { job_id: reference_id, amount: -data.amount, parts });
      lacking += data.amount;
    } else if (data.transaction_type === 'release' && wanted.delete(data.reference_id)) {
      recalled.reservations.set(data.reference_id, RELEASED);
    }
    if (wanted.size === 0 || lacking <= 0) break;
  }
  return recalled;
}
