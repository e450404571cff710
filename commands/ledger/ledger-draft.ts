// The new entries of a decision on a ledger, each on top of the balance and the lots after the entry before it.
import {
  type CreditsEvent,
  type LotPart,
  type ReversedPart,
  type TransactionType,
  UNSEALED,
} from '../../events/credits.ts';
import { type Credits, evolve, initial, type Lot, lastOf, owedFor, takenFor } from './ledger.ts';
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
  draft.keys = new Map(credits.keys);
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
  function append(event: CreditsEvent): void {
    evolve(draft, { ...event, metadata });
    const left = draft.lots.reduce((sum, lot) => sum + lot.remaining, 0);
    if (left !== draft.balance) throw new Error(`the lots hold ${left}, the balance is ${draft.balance}`);
    const snapshot = snapshotOf(draft);
    if (snapshot) draft.snapshot_at = draft.entries;
    events.push(snapshot ? ({ ...event, data: { ...event.data, snapshot } } as CreditsEvent) : event);
  }
  function add(event: CreditsEvent): void {
    append(event);
    // Whatever brings credits in pays off those owed, before they can expire or be spent.
    const recovered = Math.min(draft.owed, draft.balance);
    if (recovered > 0) {
      const id = event.data.transaction_id;
      const parts = spend(draft.lots, recovered);
      append({ type: 'CreditsRecovered', data: { ...entry('recovery', id, id, -recovered), parts } });
    }
    const has_more_to_take = ({ remaining, reversed }: Lot) => remaining > 0 && reversed.others > 0;
    for (let lot = draft.lots.find(has_more_to_take); lot; lot = draft.lots.find(has_more_to_take)) reclaim(lot);
  }
  /** A job gave credits back to a lot whose payment went back: these are taken, and what stood in for them goes back to its own lots. */
  function reclaim(lot: Lot): void {
    const { lot_id, remaining, reversed } = lot;
    const own = Math.min(remaining, reversed.others);
    const payment_id = lot_id.slice(lot_id.indexOf(':') + 1);
    append(restored(lot, { own: 0, expired: 0, others: own }, payment_id));
    const taken = entry('reversal', `${payment_id}@${draft.entries}`, payment_id, -own);
    append({ type: 'CreditsReversed', data: { ...taken, lot_id, own, expired: 0, parts: [], owed: 0 } });
  }
  /** Gives back some of what a payment's reversals claim of a lot: of `others`, first what is owed, then what was taken last. */
  function restored(lot: Lot, { own, expired, others }: ReversedPart, payment_id: string): CreditsEvent {
    const forgiven = Math.min(others, owedFor(lot));
    const given = others - forgiven;
    const back = { own, expired, others: given, forgiven, parts: lastOf(takenFor(lot), given) };
    const key = `${payment_id}@${draft.entries}`;
    const data = { ...entry('restoration', key, payment_id, own + given), lot_id: lot.lot_id, ...back };
    return { type: 'CreditsRestored', data };
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
    restored,
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
      const isDue = ({ remaining, expires_at }: Lot) =>
        remaining > 0 && expires_at !== null && Date.parse(expires_at) <= now;
      for (let lot = draft.lots.find(isDue); lot; lot = draft.lots.find(isDue)) {
        const { lot_id, remaining } = lot;
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

export type Draft = ReturnType<typeof openDraft>;
