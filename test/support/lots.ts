// Holds every ledger to its lots: what expires first is spent first and what has expired is not spent, what is given
// back goes to the lots that it came from, and every job was allocated what it reserved.
import assert from 'node:assert/strict';
import type { CreditsEvent, LotPart } from '../../events/credits.ts';
import type { EventStore } from '../../events/event-store.ts';
import type { JobEvent } from '../../events/job.ts';
import { categoryOf, idOf } from '../../events/streams.ts';

interface Lot {
  lot_id: string;
  granted: number;
  left: number;
  expires_at: number;
}
interface Reservation {
  job_id: string;
  parts: readonly LotPart[];
  released: boolean;
}
interface Account {
  /** In order of spending. */
  lots: Lot[];
  reservations: Map<string, Reservation>;
  transactions: Set<string>;
  refunded: Set<string>;
  owed: number;
}

export async function assertLots(log: EventStore): Promise<void> {
  const accounts = new Map<string, Account>();
  /** Reservations of which a job event made use, and what their jobs were allocated by it. */
  const used = new Set<string>();
  const allocated = new Map<string, number>();
  for await (const event of log.readAll({ filter: { categories: ['credits', 'job'] } })) {
    if (categoryOf(event.stream) === 'job') {
      const { type, data } = event as unknown as JobEvent;
      if (type !== 'JobCreated' && type !== 'JobResumed') continue;
      allocated.set(idOf(event.stream), data.credits_allocated);
      if (data.reservation_id) used.add(data.reservation_id);
      continue;
    }
    let account = accounts.get(event.stream);
    if (!account) accounts.set(event.stream, (account = newAccount()));
    const at = Date.parse(event.metadata.at);
    enter(account, event as unknown as CreditsEvent, at, used, `${event.stream}@${event.revision}`);
  }
  const reserved = new Map<string, number>();
  for (const { reservations } of accounts.values()) {
    for (const [id, { job_id, parts, released }] of reservations) {
      assert.ok(!(released && used.has(id)), `reservation ${id} was released and used`);
      if (used.has(id)) reserved.set(job_id, (reserved.get(job_id) ?? 0) + sum(parts));
    }
  }
  for (const [job_id, credits] of allocated) {
    assert.equal(reserved.get(job_id) ?? 0, credits, `job ${job_id} was allocated what it reserved`);
  }
}

const newAccount = (): Account => ({
  lots: [],
  reservations: new Map(),
  transactions: new Set(),
  refunded: new Set(),
  owed: 0,
});

function enter(account: Account, event: CreditsEvent, at: number, used: ReadonlySet<string>, entry: string): void {
  const { lots, reservations } = account;
  const { transaction_id, transaction_type, amount, reference_id, balance_after } = event.data;
  assert.ok(!account.transactions.has(transaction_id), `${entry}: ${transaction_id} happens once`);
  account.transactions.add(transaction_id);
  switch (event.type) {
    case 'CreditsGranted':
      add(lots, transaction_id, amount, event.data.expires_at);
      break;
    case 'CreditsReserved': {
      const expired = lots.filter((lot) => lot.left > 0 && lot.expires_at <= at);
      assert.deepEqual(expired, [], `${entry}: what has expired is not there to be spent`);
      spend(lots, -amount, event.data.parts, entry);
      reservations.set(event.data.reservation_id, { job_id: reference_id, parts: event.data.parts, released: false });
      break;
    }
    case 'CreditsRefunded': {
      const { parts } = event.data;
      assert.equal(sum(parts), amount, `${entry}: the parts are the amount`);
      const from = [...reservations].filter(([id, { job_id }]) =>
        transaction_type === 'release' ? id === reference_id : job_id === reference_id && used.has(id),
      );
      const taken = byLot(from.flatMap(([, reservation]) => reservation.parts));
      for (const [lot_id, back] of byLot(parts)) {
        assert.ok(
          back <= (taken.get(lot_id) ?? 0),
          `${entry}: ${back} go back to ${lot_id}, from where they did not come`,
        );
        change(lots, lot_id, back, entry);
      }
      if (transaction_type === 'release') {
        assert.equal(sum(from[0]![1].parts), amount, `${entry}: a reservation is released whole`);
        from[0]![1].released = true;
      } else {
        assert.ok(!account.refunded.has(reference_id), `${entry}: job ${reference_id} is refunded once`);
        account.refunded.add(reference_id);
      }
      break;
    }
    case 'CreditsAdjusted':
      if (amount > 0) add(lots, transaction_id, amount, null);
      else spend(lots, -amount, event.data.parts, entry);
      break;
    case 'CreditsExpired': {
      const lot = lots.find(({ lot_id }) => lot_id === event.data.lot_id);
      assert.ok(lot && lot.expires_at <= at, `${entry}: it has not expired`);
      assert.equal(lot.left, -amount, `${entry}: all that is left expires`);
      lot.left = 0;
      break;
    }
    case 'CreditsReversed': {
      const { lot_id, own, parts, owed } = event.data;
      change(lots, lot_id, -own, entry);
      spend(lots, sum(parts), parts, entry);
      assert.equal(own + sum(parts) + amount, 0, `${entry}: the lots give what it takes`);
      account.owed += owed;
      assert.ok(owed === 0 || balance_after === 0, `${entry}: credits are owed only when none are left`);
      break;
    }
    case 'CreditsRestored': {
      const { lot_id, own, others, forgiven } = event.data;
      change(lots, lot_id, own, entry);
      if (others > 0) add(lots, transaction_id, others, null);
      account.owed -= forgiven;
      break;
    }
    case 'CreditsRecovered':
      spend(lots, -amount, event.data.parts, entry);
      account.owed += amount;
      break;
  }
  assert.ok(account.owed >= 0, `${entry}: ${account.owed} are owed`);
  const left = lots.reduce((all, lot) => all + lot.left, 0);
  assert.equal(left, balance_after, `${entry}: the lots hold the balance`);
}

function add(lots: Lot[], lot_id: string, granted: number, expires_at: string | null): void {
  const lot = { lot_id, granted, left: granted, expires_at: expires_at === null ? Infinity : Date.parse(expires_at) };
  const later = lots.findIndex((other) => other.expires_at > lot.expires_at);
  lots.splice(later < 0 ? lots.length : later, 0, lot);
}

function spend(lots: Lot[], amount: number, parts: readonly LotPart[], entry: string): void {
  let missing = amount;
  const first: LotPart[] = [];
  for (const { lot_id, left } of lots) {
    const taken = Math.min(left, missing);
    if (taken > 0) first.push({ lot_id, amount: taken });
    missing -= taken;
  }
  assert.deepEqual(parts, first, `${entry}: what expires first is spent first`);
  for (const part of parts) change(lots, part.lot_id, -part.amount, entry);
}

function change(lots: Lot[], lot_id: string, amount: number, entry: string): void {
  const lot = lots.find((candidate) => candidate.lot_id === lot_id);
  assert.ok(lot, `${entry}: there is no lot ${lot_id}`);
  lot.left += amount;
  assert.ok(lot.left >= 0 && lot.left <= lot.granted, `${entry}: lot ${lot_id} of ${lot.granted} holds ${lot.left}`);
}

const sum = (parts: readonly LotPart[]) => parts.reduce((all, { amount }) => all + amount, 0);

function byLot(parts: readonly LotPart[]): Map<string, number> {
  const amounts = new Map<string, number>();
  for (const { lot_id, amount } of parts) amounts.set(lot_id, (amounts.get(lot_id) ?? 0) + amount);
  return amounts;
}
