// The aggregate of one user's credits: a ledger whose balance is never negative. It spends the lots that expire first, and
// refunds each credit to the lot that it came from. Decision 184 says why.
import { type CreditsEvent, entryHash, type KeyPart, type TransactionType } from '../../events/credits.ts';
import type { EventStore, NewEvent } from '../../events/event-store.ts';
import type { Ceiling } from '../../events/job.ts';
import { creditsStream, userStream } from '../../events/streams.ts';
import { correctedUsage, ofPeriod, type UsageCorrection, usageAt } from '../../events/usage.ts';
import { type Aggregate, type CommandContext, type Decision, openAggregate, type Refusal } from '../aggregate.ts';
import { openUserAggregate, type User } from '../users/user.ts';
import { type Credits, evolve, initial, lastOf, lotOf, type Reservation, usedBy } from './ledger.ts';
import { type Draft, isoOf, openDraft, spend } from './ledger-draft.ts';
import { type GivingBack, loadLedger, type Recalled, recall } from './ledger-snapshots.ts';

export const ADJUSTMENT_MISMATCH = {
  code: 'idempotency_key_mismatch' as const,
  message: 'The key was sent with another amount or reason. Take a new key for a new adjustment.',
};
export type CreditsRefusal = Refusal &
  (
    | { code: 'insufficient_credits'; balance: number }
    /** The adjustment's request was made before, with another amount or reason. */
    | { code: 'idempotency_key_mismatch' }
    | { code: 'key_limit'; details: { credit_limit: number; credits_left: number } }
  );

export type CreditsCommand =
  /** Once for each (transaction_type, reference_id). `expires_at`: ISO 8601, or null for never. */
  | {
      type: 'grant';
      transaction_type: TransactionType<'CreditsGranted'>;
      reference_id: string;
      amount: number;
      expires_at: string | null;
    }
  /**
   * Takes `min(up_to, balance)`, and no more than the user's limit leaves, once for each reservation id that the state still knows;
   * callers retry at once or under a new id. Refused as `key_limit` where `up_to` is more than the limit of the API key leaves.
   */
  | { type: 'reserve'; reservation_id: string; job_id: string; up_to: number; limit?: UsageLimit; key?: LimitedKey }
  /** Refunds `amount` of the job's used reservations, once for each job. Reservations that no job event uses are released instead. */
  | { type: 'refund'; job_id: string; reservation_ids: readonly string[]; amount: number }
  /** Returns a whole reservation that no job event uses, once. */
  | { type: 'release'; reservation_id: string }
  /** Once for each adjustment id. Of the ids that begin with `request_id` and a dot, the ledger takes one. */
  | { type: 'adjust'; adjustment_id: string; request_id?: string; amount: number; reason: string }
  /** Removes the credits left in expired lots. */
  | { type: 'expire' }
  /**
   * Takes back credits of a payment's lot, or gives them back, until `target` of them are taken back in all. For those that were spent or are
   * reserved credits of other lots stand in, until a job gives them back, and the rest is owed. The lot must exist.
   */
  | { type: 'reverse'; payment_id: string; lot_id: string; target: number };

/** The most credits that a user's jobs may use in a period. `credits.run` reads it from the user's stream. */
export interface UsageLimit {
  most: number;
  correction: UsageCorrection | null;
}

/** An API key with a limit: the most credits that all its jobs together may use. */
export interface LimitedKey {
  key_id: string;
  credit_limit: number;
}

const NOTHING: Recalled = { done: new Set(), reservations: new Map() };

/** `now`: milliseconds since the epoch. `recalled`: older transactions and reservations, which the state no longer holds. */
export function decide(
  credits: Readonly<Credits>,
  command: CreditsCommand,
  now: number,
  recalled: Readonly<Recalled> = NOTHING,
): Decision<CreditsEvent, CreditsRefusal> {
  const ledger = openDraft(credits, recalled, now);
  const reservationOf = (id: string) => credits.reservations.get(id) ?? recalled.reservations.get(id);
  switch (command.type) {
    case 'grant':
      ledger.once(command.transaction_type, command.reference_id, (entry) => {
        const { expires_at } = command;
        ledger.add({ type: 'CreditsGranted', data: { ...entry(command.amount), expires_at } });
        ledger.expireDue(now);
      });
      break;
    case 'reserve': {
      const { reservation_id, job_id, up_to, limit, key } = command;
      if (credits.reservations.has(reservation_id)) break;
      const refused = key && refusedBy(key, credits, up_to);
      if (refused) return { refused };
      ledger.expireDue(now);
      const amount = Math.min(up_to, ledger.balance(), leftOf(limit, credits, now));
      if (amount === 0) break;
      const parts = spend(ledger.lots, amount);
      const entry = ledger.entry('reservation', reservation_id, job_id, -amount);
      const of_key = key && { key_id: key.key_id };
      ledger.add({ type: 'CreditsReserved', data: { ...entry, reservation_id, parts, ...of_key } });
      break;
    }
    case 'refund': {
      const { job_id, reservation_ids, amount } = command;
      if (amount === 0) break;
      ledger.once('refund', job_id, (entry) => {
        const reserved = reservation_ids.map(reservationOf).filter((known) => known !== undefined);
        const spent = reserved.flatMap((reservation) => reservation.parts);
        // From the end: the lots that expire last.
        const data = { ...entry(amount), parts: lastOf(spent, amount) };
        ledger.add({
          type: 'CreditsRefunded',
          data: { ...data, ...ofPeriod(credits.usage, reserved, amount, isoOf(now)), ...ofKeys(reserved, amount) },
        });
        ledger.expireDue(now);
      });
      break;
    }
    case 'release': {
      const reservation = reservationOf(command.reservation_id);
      if (!reservation || reservation.amount === 0) break;
      ledger.once('release', command.reservation_id, (entry) => {
        const { amount, parts } = reservation;
        const of_period = ofPeriod(credits.usage, [reservation], amount, isoOf(now));
        const data = { ...entry(amount), parts, ...of_period, ...ofKeys([reservation], amount) };
        ledger.add({ type: 'CreditsRefunded', data });
        ledger.expireDue(now);
      });
      break;
    }
    case 'adjust': {
      const { adjustment_id, request_id, amount, reason } = command;
      // The repeat of an adjustment is no new one that the balance must allow.
      if (ledger.hasAdjustment((id) => id === adjustment_id)) break;
      if (request_id !== undefined && ledger.hasAdjustment((id) => id.startsWith(`${request_id}.`))) {
        return { refused: ADJUSTMENT_MISMATCH };
      }
      ledger.expireDue(now);
      const balance = ledger.balance();
      if (balance + amount < 0) {
        const message = `The balance is ${balance}: ${-amount} cannot be removed, at most ${balance}.`;
        return { refused: { code: 'insufficient_credits', message, balance } };
      }
      ledger.once('adjustment', adjustment_id, (entry) => {
        const parts = amount < 0 ? spend(ledger.lots, -amount) : [];
        ledger.add({ type: 'CreditsAdjusted', data: { ...entry(amount), reason, parts } });
      });
      break;
    }
    case 'expire':
      ledger.expireDue(now);
      break;
    case 'reverse':
      reverse(ledger, command, now);
      break;
  }
  return { events: ledger.events };
}

type Reverse = Extract<CreditsCommand, { type: 'reverse' }>;

function reverse(ledger: Draft, { payment_id, lot_id, target }: Reverse, now: number): void {
  ledger.expireDue(now);
  const lot = lotOf(ledger.lots, lot_id);
  const { remaining, expired, reversed } = lot;
  const more = target - (reversed.own + reversed.expired + reversed.others);
  if (more > 0) {
    const own = Math.min(more, remaining);
    const lapsed = Math.min(more - own, expired - reversed.expired);
    const spent = more - own - lapsed;
    const taken = Math.min(spent, ledger.balance() - own);
    const lots = ledger.lots.map((lot) => (lot.lot_id === lot_id ? { ...lot, remaining: remaining - own } : lot));
    const parts = spend(lots, taken);
    const key = `${payment_id}@${ledger.entries()}`;
    const entry = ledger.entry('reversal', key, payment_id, 0 - own - taken);
    ledger.add({
      type: 'CreditsReversed',
      data: { ...entry, lot_id, own, expired: lapsed, parts, owed: spent - taken },
    });
  } else if (more < 0) {
    // The other way round: what was spent is given back first.
    const others = Math.min(-more, reversed.others);
    const lapsed = Math.min(-more - others, reversed.expired);
    const own = -more - others - lapsed;
    ledger.add(ledger.restored(lot, { own, expired: lapsed, others }, payment_id));
    ledger.expireDue(now);
  }
}

/** The refusal of `up_to` credits by the limit of the key; undefined where it leaves so many. */
export function refusedBy(
  { key_id, credit_limit }: LimitedKey,
  credits: Pick<Credits, 'keys'>,
  up_to: number,
): Extract<CreditsRefusal, { code: 'key_limit' }> | undefined {
  const credits_left = Math.max(0, credit_limit - usedBy(credits, key_id));
  if (up_to <= credits_left) return undefined;
  const message =
    `The limit of the API key is ${credit_limit} credits in all. It has ${credits_left} left, and this needs ${up_to}: ` +
    'check fewer URLs, or use another key.';
  return { code: 'key_limit', message, details: { credit_limit, credits_left } };
}

/** What each API key with a limit gets back of `amount` credits. The last reservations are refunded first. */
function ofKeys(reservations: readonly Reservation[], amount: number): { of_keys?: KeyPart[] } {
  const back = new Map<string, number>();
  let missing = amount;
  for (const { key_id, amount: reserved } of reservations.toReversed()) {
    const refunded = Math.min(reserved, missing);
    missing -= refunded;
    if (key_id !== undefined && refunded > 0) back.set(key_id, (back.get(key_id) ?? 0) + refunded);
  }
  return back.size === 0 ? {} : { of_keys: [...back].map(([key_id, of_key]) => ({ key_id, amount: of_key })) };
}

function leftOf(limit: UsageLimit | undefined, { usage }: Readonly<Credits>, now: number): number {
  if (!limit) return Number.POSITIVE_INFINITY;
  return Math.max(0, limit.most - correctedUsage(usageAt(usage, isoOf(now)), limit.correction));
}

/** Why a reservation that is decided on this state takes less than it is asked to, when it does. */
const ceilingOf = (limit: UsageLimit | undefined, credits: Readonly<Credits>, now: number): Ceiling =>
  leftOf(limit, credits, now) < credits.balance ? 'usage_limit' : 'credit_ceiling';

export type CreditsLedger = ReturnType<typeof openCredits>;

/** The cached states hold at most this many entries and lots in total: about 30 MB. */
const MAX_CACHED_LINES = 200_000;

/** Concurrent commands of one user share an append: at most this many. */
const MAX_PER_APPEND = 16;

const sizeOf = ({ done, lots, adjustments, keys }: Credits) =>
  1 + done.size + lots.length + adjustments.size + keys.size;

async function runCredits(
  log: EventStore,
  aggregate: Aggregate<Credits, CreditsEvent>,
  limitOf: (user_id: string) => Promise<UsageLimit | undefined>,
  user_id: string,
  given: CreditsCommand,
  context: CommandContext,
) {
  const command = given.type === 'reserve' ? { ...given, limit: await limitOf(user_id) } : given;
  const stream = creditsStream(user_id);
  // Found in the decision: the state that the aggregate returns may have later entries.
  let ceiling = 'credit_ceiling' as Ceiling;
  const handled = await aggregate.handle<CreditsRefusal>(stream, context, (state) => {
    if (command.type === 'reserve') ceiling = ceilingOf(command.limit, state, context.now);
    const giving_back = givingBack(command);
    if (giving_back === null) return decide(state, command, context.now);
    return recall(log, stream, state, giving_back).then((recalled) => decide(state, command, context.now, recalled));
  });
  return { ...handled, ceiling };
}

function limitIn({
  usage_limit,
  spending_limit,
  usage_correction: correction,
}: Readonly<User>): UsageLimit | undefined {
  const most = Math.min(usage_limit ?? Number.POSITIVE_INFINITY, spending_limit ?? Number.POSITIVE_INFINITY);
  return Number.isFinite(most) ? { most, correction } : undefined;
}

function givingBack(command: CreditsCommand): GivingBack | null {
  if (command.type === 'refund' && command.amount > 0) {
    const { job_id, reservation_ids, amount } = command;
    return { transaction_id: `refund:${job_id}`, reservation_ids, amount };
  }
  if (command.type !== 'release') return null;
  // Any amount above 0: `recall` stops at the one reservation.
  return { transaction_id: `release:${command.reservation_id}`, reservation_ids: [command.reservation_id], amount: 1 };
}

/** Gives new entries their hashes, which chain each one to the entry before; the first has `first_revision`. */
export function seal(
  { hash }: Readonly<Credits>,
  stream: string,
  first_revision: number,
  events: readonly NewEvent[],
): NewEvent[] {
  let previous = hash;
  return events.map((event, n) => {
    previous = entryHash(previous, { ...event, stream, revision: first_revision + n });
    return { ...event, data: { ...(event.data as CreditsEvent['data']), hash: previous } };
  });
}

export function openCredits(log: EventStore) {
  const aggregate = openAggregate<Credits, CreditsEvent>(
    log,
    { initial, evolve },
    {
      begin: (stream) => loadLedger(log, stream),
      seal,
      size: { most: MAX_CACHED_LINES, of: sizeOf },
      max_per_append: MAX_PER_APPEND,
    },
  );
  const users = openUserAggregate(log);
  const limitOf = async (user_id: string) => limitIn((await users.read(userStream(user_id))).state);
  return {
    aggregate,
    /** The users whose limits a reservation keeps to. Every command of a process over a user is one of this aggregate. */
    users,
    /** `ceiling`: why a reservation took less than it was asked to, when it did. */
    run: (user_id: string, command: CreditsCommand, context: CommandContext) =>
      runCredits(log, aggregate, limitOf, user_id, command, context),
  };
}

export { type Credits, evolve, initial } from './ledger.ts';
