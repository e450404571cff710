// One account's ledger, replayed by rules of its own: it shares no code with the commands that wrote the entries. Credits that expire
// first are spent first, expired ones are not spent, and what is given back goes to the lots that it came from.
import type { CreditsEvent, LedgerSnapshot, LotPart } from '../events/credits.ts';
import type { Spill, SpillMap } from './spill.ts';

/** A lot as it was granted. */
interface Granted {
  granted: number;
  /** Milliseconds since the epoch; null: never. */
  expires_at: number | null;
  /** Of lots that expire together, the one granted first is spent first. */
  turn: number;
}

/** A lot that has credits left. */
interface Lot extends Granted {
  lot_id: string;
  left: number;
}

/** It survives JSON. */
export interface Account {
  /** The number of entries, and the hash and the balance of the last one. */
  entries: number;
  hash: string;
  balance: number;
  /** Credits that were taken back after they were spent. */
  owed: number;
  /** The credits of each lot that stand in for spent ones of a payment that went back, by lot. */
  taken: Record<string, number>;
  /** What API keys with a limit have used, of those that have used some. */
  keys: Record<string, number>;
  /** Those with credits left, in order of spending. */
  lots: Lot[];
  /** The number of lots granted. */
  granted: number;
  /** The sum of what is left in the lots. */
  held: number;
  /** A rule about lots was broken: the lots are wrong from there on, and only the first breach is reported. */
  is_broken?: true;
}

export const newAccount = (): Account => ({
  entries: 0,
  hash: '',
  balance: 0,
  owed: 0,
  taken: {},
  keys: {},
  lots: [],
  granted: 0,
  held: 0,
});

/** An entry breaks a rule. The message says which, for a person. */
export class Breach extends Error {}

function hold(holds: boolean, message: string): asserts holds {
  if (!holds) throw new Breach(message);
}

/** Credits that a job's reservations took, which a refund gives back. */
export interface Taken {
  parts: readonly LotPart[];
}

/** Every lot that was ever granted, of all accounts: a refund may go back to any. Adjustments that removed credits are lots of none. */
export type Lots = SpillMap<Granted>;

export const openLots = (spill: Spill, in_memory: number): Lots => spill.map('lots', in_memory);

/**
 * Moves the entry's credits between the account's lots. `at`: when it was appended, in milliseconds since the epoch; `taken`: for a
 * refund or a release, the reservations that it gives back. Throws `Breach`.
 */
export function move(
  { user_id, account, lots }: { user_id: string; account: Account; lots: Lots },
  entry: CreditsEvent,
  at: number,
  taken: readonly Taken[],
): void {
  const { transaction_id, amount, balance_after, snapshot } = entry.data;

  function addLot(granted: number, expires: string | null): void {
    const key = keyOf(user_id, transaction_id);
    hold(lots.get(key) === undefined, `transaction ${transaction_id} comes twice`);
    const expires_at = expires === null ? null : Date.parse(expires);
    const lot: Granted = { granted, expires_at, turn: account.granted++ };
    lots.set(key, lot);
    if (granted > 0) account.lots.splice(placeOf(account, lot), 0, { ...lot, lot_id: transaction_id, left: granted });
    account.held += granted;
  }

  function lotOf(lot_id: string): Granted {
    const lot = lots.get(keyOf(user_id, lot_id));
    hold(lot !== undefined, `there is no lot ${lot_id}`);
    return lot;
  }

  function change(lot_id: string, amount: number): void {
    const lot = lotOf(lot_id);
    const place = placeOf(account, lot);
    const there = account.lots[place];
    const is_open = there?.turn === lot.turn;
    const left = (is_open ? there.left : 0) + amount;
    hold(left >= 0 && left <= lot.granted, `lot ${lot_id} of ${lot.granted} would hold ${left}`);
    if (left === 0) account.lots.splice(place, is_open ? 1 : 0);
    else account.lots.splice(place, is_open ? 1 : 0, { ...lot, lot_id, left });
    account.held += amount;
  }

  function standIn(parts: readonly LotPart[]): void {
    for (const [lot_id, amount] of byLot(parts)) account.taken[lot_id] = (account.taken[lot_id] ?? 0) + amount;
  }

  function giveBack(parts: readonly LotPart[]): void {
    for (const [lot_id, amount] of byLot(parts)) {
      const taken = account.taken[lot_id] ?? 0;
      hold(amount <= taken, `${amount} go back to lot ${lot_id}, of which ${taken} were taken`);
      account.taken[lot_id] = taken - amount;
      change(lot_id, amount);
    }
  }

  // Whatever takes a payment's credits from a job that gave them back comes before, too.
  const pays_off = entry.type === 'CreditsRecovered' || entry.type === 'CreditsReversed';
  hold(account.owed === 0 || account.held === 0 || pays_off, `${account.owed} credits are owed, which come first`);
  switch (entry.type) {
    case 'CreditsGranted':
      hold(amount > 0, `a grant of ${amount}`);
      addLot(amount, entry.data.expires_at);
      break;
    case 'CreditsReserved': {
      const [first] = account.lots;
      hold(
        first === undefined || first.expires_at === null || first.expires_at > at,
        `lot ${first?.lot_id} has expired and cannot be spent`,
      );
      spend(account, -amount, entry.data.parts);
      if (entry.data.key_id !== undefined) use(account, entry.data.key_id, -amount);
      break;
    }
    case 'CreditsRefunded': {
      const { parts } = entry.data;
      hold(sum(parts) === amount, `the parts of ${amount} are ${sum(parts)}`);
      const from = byLot(taken.flatMap((each) => each.parts));
      for (const [lot_id, back] of byLot(parts)) {
        hold(back <= (from.get(lot_id) ?? 0), `${back} go back to lot ${lot_id}, from where they did not come`);
        change(lot_id, back);
      }
      for (const { key_id, amount: back } of entry.data.of_keys ?? []) use(account, key_id, -back);
      break;
    }
    case 'CreditsAdjusted':
      addLot(Math.max(0, amount), null);
      if (amount <= 0) spend(account, -amount, entry.data.parts);
      break;
    case 'CreditsExpired': {
      const { lot_id } = entry.data;
      const lot = lotOf(lot_id);
      hold(lot.expires_at !== null && lot.expires_at <= at, `lot ${lot_id} has not expired`);
      change(lot_id, amount);
      hold(!isOpen(account, lot), `of lot ${lot_id} not all that is left expires`);
      break;
    }
    case 'CreditsReversed': {
      const { lot_id, own, parts, owed } = entry.data;
      change(lot_id, -own);
      hold(
        sum(parts) + owed === 0 || !isOpen(account, lotOf(lot_id)),
        `lot ${lot_id} has credits left, and others are taken`,
      );
      spend(account, sum(parts), parts);
      standIn(parts);
      hold(own + sum(parts) + amount === 0, `the lots give ${own + sum(parts)} of ${-amount}`);
      account.owed += owed;
      hold(owed === 0 || balance_after === 0, 'credits are owed while others are left');
      break;
    }
    case 'CreditsRestored': {
      const { lot_id, own, others, forgiven, parts } = entry.data;
      change(lot_id, own);
      if (parts) {
        hold(sum(parts) === others, `the parts of ${others} are ${sum(parts)}`);
        giveBack(parts);
      } else if (others > 0) addLot(others, null);
      hold(own + others === amount, `${own + others} of ${amount} are given back`);
      account.owed -= forgiven;
      break;
    }
    case 'CreditsRecovered':
      spend(account, -amount, entry.data.parts);
      standIn(entry.data.parts);
      account.owed += amount;
      break;
    default:
      entry satisfies never;
  }
  hold(account.owed >= 0, `${account.owed} credits are owed`);
  hold(account.held === balance_after, `the lots hold ${account.held}, the balance is ${balance_after}`);
  if (snapshot?.version === SNAPSHOT) holdSnapshot(account, snapshot);
}

/** The version of snapshots that commands believe. */
const SNAPSHOT = 4;

/** Commands go on from a snapshot without the entries before it (decision 194). */
function holdSnapshot(account: Account, { lots, owed = 0, keys = [] }: LedgerSnapshot): void {
  const said = lots
    .filter(({ remaining }) => remaining > 0)
    .map(({ lot_id, remaining, expires_at }) => {
      return `${lot_id} ${remaining} ${expires_at === null ? null : Date.parse(expires_at)}`;
    });
  const known = account.lots.map(({ lot_id, left, expires_at }) => `${lot_id} ${left} ${expires_at}`);
  hold(said.sort().join() === known.sort().join(), 'the snapshot has other lots than the entries');
  hold(owed === account.owed, `the snapshot has ${owed} credits owed, of ${account.owed}`);
  const used = keys.map(({ key_id, amount }) => `${key_id} ${amount}`).sort();
  const of_entries = Object.entries(account.keys)
    .map(([key_id, amount]) => `${key_id} ${amount}`)
    .sort();
  hold(used.join() === of_entries.join(), 'the snapshot says that API keys have used other credits');
}

function use(account: Account, key_id: string, amount: number): void {
  const used = (account.keys[key_id] ?? 0) + amount;
  if (used === 0) delete account.keys[key_id];
  else account.keys[key_id] = used;
}

/** No two pairs of a user and a lot have one key. */
const keyOf = (user_id: string, lot_id: string) => `${user_id.length}:${user_id}${lot_id}`;

const isBefore = (a: Granted, b: Granted): boolean => {
  const [first, second] = [a.expires_at ?? Number.POSITIVE_INFINITY, b.expires_at ?? Number.POSITIVE_INFINITY];
  return first === second ? a.turn < b.turn : first < second;
};

/** The place of a lot among those with credits left, or where it would be. */
function placeOf({ lots }: Account, lot: Granted): number {
  let low = 0;
  for (let high = lots.length; low < high; ) {
    const middle = (low + high) >> 1;
    if (isBefore(lots[middle]!, lot)) low = middle + 1;
    else high = middle;
  }
  return low;
}

const isOpen = (account: Account, lot: Granted) => account.lots[placeOf(account, lot)]?.turn === lot.turn;

/** The parts must be the ones that the order of spending gives. */
function spend(account: Account, amount: number, parts: readonly LotPart[]): void {
  let missing = amount;
  let n = 0;
  let emptied = 0;
  for (const lot of account.lots) {
    if (missing <= 0) break;
    const taken = Math.min(lot.left, missing);
    const part = parts[n++];
    hold(
      part?.lot_id === lot.lot_id && part.amount === taken,
      `lot ${lot.lot_id} expires first and gives ${taken}, not ${part ? `lot ${part.lot_id} ${part.amount}` : 'nothing'}`,
    );
    lot.left -= taken;
    missing -= taken;
    if (lot.left === 0) emptied++;
  }
  hold(missing === 0 && n === parts.length, `the parts are not ${amount}`);
  account.lots.splice(0, emptied);
  account.held -= amount;
}

const sum = (parts: readonly LotPart[]) => parts.reduce((all, { amount }) => all + amount, 0);

function byLot(parts: readonly LotPart[]): Map<string, number> {
  const amounts = new Map<string, number>();
  for (const { lot_id, amount } of parts) amounts.set(lot_id, (amounts.get(lot_id) ?? 0) + amount);
  return amounts;
}
