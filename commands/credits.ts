// The aggregate of one user's credits: a ledger that is never negative, spends what expires first, and gives back to
// where it took from.
import {
  type CreditsEvent,
  type EntryFacts,
  entryHash,
  type LotPart,
  type TransactionType,
} from '../events/credits.ts';
import type { EventStore } from '../events/event-store.ts';
import { creditsStream } from '../events/streams.ts';
import { type Aggregate, type CommandContext, type Decision, openAggregate, type Refusal } from './aggregate.ts';

/** What one grant brought in and what is left of it. */
export interface Lot {
  lot_id: string;
  remaining: number;
  /** ISO 8601; null: never. */
  expires_at: string | null;
}

export interface Reservation {
  job_id: string;
  amount: number;
  /** From which lots it came, in order of spending. */
  parts: LotPart[];
}

export interface Credits {
  /** The sum of all entries, and of what remains in the lots. */
  balance: number;
  /** Of the last entry. */
  hash: string;
  /** In order of spending: the first to expire first, those that never do last. */
  lots: Lot[];
  /** By reservation id. A released one stays, with nothing in it. */
  reservations: Map<string, Reservation>;
  /** The transactions that happen once: by transaction id. */
  done: Set<string>;
}

export type CreditsRefusal = Refusal & { code: 'insufficient_credits' };

export type CreditsCommand =
  /** Once for each (transaction_type, reference_id). `expires_at`: ISO 8601, or null for never. */
  | {
      type: 'grant';
      transaction_type: 'signup_bonus' | 'purchase' | 'subscription' | 'trial';
      reference_id: string;
      amount: number;
      expires_at: string | null;
    }
  /** Takes `min(up_to, balance)`, once for each reservation. */
  | { type: 'reserve'; reservation_id: string; job_id: string; up_to: number }
  /**
   * Gives back `amount` of what the job's reservations took, once for each job. Those that no job event has used are not
   * its own: they are released.
   */
  | { type: 'refund'; job_id: string; reservation_ids: readonly string[]; amount: number }
  /** Gives back the whole of a reservation whose job event never came, once. */
  | { type: 'release'; reservation_id: string }
  | { type: 'adjust'; adjustment_id: string; amount: number; reason: string }
  /** Takes what is left in the lots that are due. */
  | { type: 'expire' };

const fold = {
  initial: (): Credits => ({ balance: 0, hash: '', lots: [], reservations: new Map(), done: new Set() }),
  evolve(credits: Credits, event: CreditsEvent): Credits {
    const { data } = event;
    credits.balance = data.balance_after;
    credits.hash = data.hash;
    credits.done.add(data.transaction_id);
    switch (event.type) {
      case 'CreditsGranted':
        addLot(credits.lots, event.data.transaction_id, event.data.amount, event.data.expires_at);
        break;
      case 'CreditsReserved': {
        const { reservation_id, reference_id, amount, parts } = event.data;
        take(credits.lots, parts);
        credits.reservations.set(reservation_id, { job_id: reference_id, amount: -amount, parts });
        break;
      }
      case 'CreditsRefunded':
        giveBack(credits.lots, event.data.parts);
        if (event.data.transaction_type === 'release') {
          credits.reservations.set(data.reference_id, { job_id: '', amount: 0, parts: [] });
        }
        break;
      case 'CreditsAdjusted':
        if (data.amount > 0) addLot(credits.lots, data.transaction_id, data.amount, null);
        else take(credits.lots, event.data.parts);
        break;
      case 'CreditsExpired':
        take(credits.lots, [{ lot_id: event.data.lot_id, amount: -event.data.amount }]);
        break;
    }
    return credits;
  },
};

export function decide(
  credits: Readonly<Credits>,
  command: CreditsCommand,
  now: number,
): Decision<CreditsEvent, CreditsRefusal> {
  const ledger = openLedger(credits);
  switch (command.type) {
    case 'grant':
      ledger.once(command.transaction_type, command.reference_id, (entry) => {
        const { expires_at } = command;
        ledger.add({ type: 'CreditsGranted', data: { ...entry(command.amount), expires_at } });
      });
      break;
    case 'reserve': {
      const { reservation_id, job_id, up_to } = command;
      if (credits.reservations.has(reservation_id)) break;
      ledger.expireDue(now);
      const amount = Math.min(up_to, ledger.balance());
      if (amount === 0) break;
      const parts = spend(ledger.lots, amount);
      const entry = ledger.entry('reservation', reservation_id, job_id, -amount);
      ledger.add({ type: 'CreditsReserved', data: { ...entry, reservation_id, parts } });
      break;
    }
    case 'refund': {
      const { job_id, reservation_ids, amount } = command;
      if (amount === 0) break;
      ledger.once('refund', job_id, (entry) => {
        const reserved = reservation_ids.flatMap((id) => credits.reservations.get(id)?.parts ?? []);
        const parts = lastSpent(reserved, amount);
        ledger.add({ type: 'CreditsRefunded', data: { ...entry(amount), parts } });
        ledger.expireDue(now);
      });
      break;
    }
    case 'release': {
      const reservation = credits.reservations.get(command.reservation_id);
      if (!reservation || reservation.amount === 0) break;
      ledger.once('release', command.reservation_id, (entry) => {
        ledger.add({
          type: 'CreditsRefunded',
          data: { ...entry(reservation.amount), parts: reservation.parts },
        });
        ledger.expireDue(now);
      });
      break;
    }
    case 'adjust': {
      const { amount, reason } = command;
      ledger.expireDue(now);
      if (ledger.balance() + amount < 0) {
        const message = `The balance is ${ledger.balance()}: ${-amount} cannot be removed.`;
        return { refused: { code: 'insufficient_credits', message } };
      }
      ledger.once('adjustment', command.adjustment_id, (entry) => {
        const parts = amount < 0 ? spend(ledger.lots, -amount) : [];
        ledger.add({ type: 'CreditsAdjusted', data: { ...entry(amount), reason, parts } });
      });
      break;
    }
    case 'expire':
      ledger.expireDue(now);
      break;
  }
  return { events: ledger.events };
}

/** The entries that a decision adds, each on the balance, the hash and the lots that the one before it left. */
function openLedger(credits: Readonly<Credits>) {
  const events: CreditsEvent[] = [];
  const draft: Credits = { ...fold.initial(), balance: credits.balance, hash: credits.hash };
  draft.lots = credits.lots.map((lot) => ({ ...lot }));

  function entry(transaction_type: TransactionType, key: string, reference_id: string, amount: number) {
    const balance_after = draft.balance + amount;
    if (balance_after < 0) throw new Error(`the ledger would go to ${balance_after}`);
    const transaction_id = `${transaction_type}:${key}`;
    const facts: EntryFacts = { transaction_id, transaction_type, amount, reference_id, balance_after };
    return { ...facts, hash: entryHash(draft.hash, facts) };
  }
  function add(event: CreditsEvent): void {
    events.push(event);
    fold.evolve(draft, event);
    const left = draft.lots.reduce((sum, lot) => sum + lot.remaining, 0);
    if (left !== draft.balance) throw new Error(`the lots hold ${left}, the balance is ${draft.balance}`);
  }
  return {
    events,
    lots: draft.lots,
    balance: () => draft.balance,
    entry,
    add,
    /** Runs `then` unless the transaction has happened. */
    once(type: TransactionType, key: string, then: (entry_of: (amount: number) => ReturnType<typeof entry>) => void) {
      if (!credits.done.has(`${type}:${key}`)) then((amount) => entry(type, key, key, amount));
    },
    expireDue(now: number) {
      for (const { lot_id, remaining, expires_at } of draft.lots.slice()) {
        if (remaining === 0 || expires_at === null || Date.parse(expires_at) > now) continue;
        // A lot can come back to life by a refund and expire again: the key says which time it is.
        const key = `${lot_id}@${events.length}:${draft.hash.slice(0, 8)}`;
        add({ type: 'CreditsExpired', data: { ...entry('expiry', key, lot_id, -remaining), lot_id } });
      }
    },
  };
}

function addLot(lots: Lot[], lot_id: string, remaining: number, expires_at: string | null): void {
  const later = lots.findIndex(
    (lot) => expires_at !== null && (lot.expires_at === null || lot.expires_at > expires_at),
  );
  lots.splice(later < 0 ? lots.length : later, 0, { lot_id, remaining, expires_at });
}

/** Which lots an amount comes from; the caller has seen to it that there is enough. */
function spend(lots: readonly Lot[], amount: number): LotPart[] {
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

function take(lots: Lot[], parts: readonly LotPart[]): void {
  for (const { lot_id, amount } of parts) change(lots, lot_id, -amount);
}

function giveBack(lots: Lot[], parts: readonly LotPart[]): void {
  for (const { lot_id, amount } of parts) change(lots, lot_id, amount);
}

function change(lots: Lot[], lot_id: string, amount: number): void {
  const lot = lots.find((candidate) => candidate.lot_id === lot_id);
  if (!lot || lot.remaining + amount < 0) throw new Error(`lot ${lot_id} cannot change by ${amount}`);
  lot.remaining += amount;
}

/** The end of what was spent, as much as `amount`: what expires last was spent last and is kept longest. */
function lastSpent(parts: readonly LotPart[], amount: number): LotPart[] {
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

export interface CreditsLedger {
  aggregate: Aggregate<Credits, CreditsEvent>;
  run(user_id: string, command: CreditsCommand, context: CommandContext): ReturnType<typeof runCredits>;
}

const runCredits = (
  aggregate: Aggregate<Credits, CreditsEvent>,
  user_id: string,
  command: CreditsCommand,
  context: CommandContext,
) => aggregate.handle<CreditsRefusal>(creditsStream(user_id), context, (state) => decide(state, command, context.now));

export function openCredits(log: EventStore): CreditsLedger {
  const aggregate = openAggregate<Credits, CreditsEvent>(log, fold);
  return { aggregate, run: (user_id, command, context) => runCredits(aggregate, user_id, command, context) };
}

export const { initial, evolve } = fold;
