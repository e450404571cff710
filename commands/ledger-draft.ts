// The new entries of a decision on a ledger, each on top of the balance and the lots after the entry before it.
import { type CreditsEvent, type LotPart, type TransactionType, UNSEALED } from '../events/credits.ts';
import { type Credits, evolve, initial, type Lot } from './ledger.ts';
import { type Recalled, snapshotOf } from './ledger-snapshots.ts';

/** `now`, in milliseconds since the epoch, as events write it. */
export const isoOf = (now: number) => new Date(now).toISOString();

const ADJUSTMENT = 'adjustment:';

/** Collects a decision's new entries, each on top of the balance and the lots after the previous entry. */
export function openDraft(credits: Readonly<Credits>, recalled: Readonly<Recalled>, now: number) {
  const events: CreditsEvent[] = [];
  const { balance, entries, snapshot_at, usage } = credits;
  const draft: Credits = { ...initial(), balance, entries, snapshot_at, usage };
  const metadata = { at: isoOf(now) };
  draft.lots = credits.lots.map((lot) => ({ ...lot }));
  draft.adjustments = new Set(credits.adjustments);
  draft.owed = credits.owed;

  function entry<Type extends TransactionType>(
    transaction_type: Type,
    key: string,
    reference_id: string,
    amount: number,
  ) {
    const balance_after = draft.balance + amount;
    if (balance_after < 0) throw new Error(`the ledger would go to ${balance_after}`);
    const transaction_id = `${transaction_type}:${key}`;
    return { transaction_id, transaction_type, amount, reference_id, balance_after, hash: UNSEALED };
  }
  function add(event: CreditsEvent): void {
    evolve(draft, { ...event, metadata });
    const left = draft.lots.reduce((sum, lot) => sum + lot.remaining, 0);
    if (left !== draft.balance) throw new Error(`the lots hold ${left}, the balance is ${draft.balance}`);
    const snapshot = snapshotOf(draft);
    if (snapshot) draft.snapshot_at = draft.entries;
    events.push(snapshot ? ({ ...event, data: { ...event.data, snapshot } } as CreditsEvent) : event);
    // Whatever brings credits in pays off those owed, before they can expire or be spent.
    const recovered = Math.min(draft.owed, draft.balance);
    if (recovered > 0) {
      const id = event.data.transaction_id;
      const parts = spend(draft.lots, recovered);
      add({ type: 'CreditsRecovered', data: { ...entry('recovery', id, id, -recovered), parts } });
    }
  }
  return {
    events,
    lots: draft.lots,
    balance: () => draft.balance,
    owed: () => draft.owed,
    /** The number of entries, which tells transactions of the same kind apart. */
    entries: () => draft.entries,
    entry,
    add,
    /** Whether the ledger has an adjustment of such an id, however old. */
    hasAdjustment(is_it: (adjustment_id: string) => boolean): boolean {
      const lots = credits.lots.map(({ lot_id }) => lot_id).filter((id) => id.startsWith(ADJUSTMENT));
      return [...credits.adjustments, ...lots].some((id) => is_it(id.slice(ADJUSTMENT.length)));
    },
    /** Calls `then` unless the ledger has the transaction already. */
    once<Type extends TransactionType>(
      type: Type,
      key: string,
      then: (entry_of: (amount: number) => ReturnType<typeof entry<Type>>) => void,
    ) {
      const id = `${type}:${key}`;
      const is_done =
        credits.done.has(id) ||
        recalled.done.has(id) ||
        credits.adjustments.has(id) ||
        credits.lots.some((lot) => lot.lot_id === id);
      if (!is_done) then((amount) => entry(type, key, key, amount));
    },
    expireDue(now: number) {
      for (const { lot_id, remaining, expires_at } of draft.lots.slice()) {
        if (remaining === 0 || expires_at === null || Date.parse(expires_at) > now) continue;
        // A refund may refill an expired lot, which then expires again under another key.
        const key = `${lot_id}@${draft.entries}`;
        add({ type: 'CreditsExpired', data: { ...entry('expiry', key, lot_id, -remaining), lot_id } });
      }
    },
  };
}

/** Chooses the lots that an amount comes from. Throws when they hold less; the caller has compared it with the balance. */
export function spend(lots: readonly Lot[], amount: number): LotPart[] {
  const parts: LotPart[] = [];
  let missing = amount;
  for (const { lot_id, remaining } of lots) {
    const taken = Math.min(remaining, missing);
    if (taken > 0) parts.push({ lot_id, amount: taken });
    missing -= taken;
  }
  if (missing > 0) throw new Error(`the lots lack ${missing} credits`);
  return parts;
}

/** Chooses `amount` credits from the end of the spent parts, which come from the lots that expire last. */
export function lastSpent(parts: readonly LotPart[], amount: number): LotPart[] {
  const back: LotPart[] = [];
  let missing = amount;
  for (const part of parts.toReversed()) {
    const given = Math.min(part.amount, missing);
    if (given > 0) back.push({ lot_id: part.lot_id, amount: given });
    missing -= given;
  }
  if (missing > 0) throw new Error(`${missing} credits more are to be refunded than were reserved`);
  return back;
}

export type Draft = ReturnType<typeof openDraft>;
