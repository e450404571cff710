// What an accountant defers: money that was paid for credits which nobody has used yet. It follows from payments and the ledger alone. Credits
// that a job reserves count as used until it gives them back. Decision 176 says why.
import { type CreditsEvent, lotMovesOf } from '../events/credits.ts';
import type { RecordedEvent } from '../events/event-store.ts';
import type { PaymentEvent } from '../events/payment.ts';
import { categoryOf, idOf } from '../events/streams.ts';

/** Money of a month in one currency, in its smallest unit and without taxes. What is deferred at its start, billed, and not the rest, is `used_cents`. */
export interface RevenueMonth {
  /** UTC: `2026-01`. */
  month: string;
  currency: string;
  deferred_at_start_cents: number;
  billed_cents: number;
  /** Refunds and disputes, less those that were lifted. */
  refunded_cents: number;
  /** Earned, because credits expired unused. */
  breakage_cents: number;
  /** Earned by credits that jobs used. */
  used_cents: number;
  deferred_at_end_cents: number;
}

export type DeferredRevenue = ReturnType<typeof openDeferredRevenue>;

/** A lot of a payment. */
interface PaidLot {
  currency: string;
  net_cents: number;
  credits: number;
  remaining: number;
}
interface Payment {
  currency: string;
  month: string;
  amount_cents: number;
  net_cents: number;
}
interface Reversal {
  cents: number;
  currency: string;
  at: number;
  lifted_at: number;
}
interface Changes {
  billed: number;
  refunded: number;
  breakage: number;
  deferred: number;
}

const monthOf = (time: string): string => new Date(time).toISOString().slice(0, 7);
const worthOf = ({ net_cents, credits, remaining }: PaidLot): number => Math.round((net_cents * remaining) / credits);

/** A sandbox moves no money: its payments count nothing. */
export function openDeferredRevenue() {
  const payments = new Map<string, Payment>();
  const reversals = new Map<string, Map<string, Reversal>>();
  /** What was counted as refunded of a payment. */
  const refunded = new Map<string, number>();
  const lots = new Map<string, PaidLot>();
  const changes = new Map<string, Map<string, Changes>>();

  function change(currency: string, month: string, by: Partial<Changes>): void {
    const by_month = changes.get(currency) ?? new Map<string, Changes>();
    changes.set(currency, by_month);
    const found = by_month.get(month) ?? { billed: 0, refunded: 0, breakage: 0, deferred: 0 };
    by_month.set(month, found);
    for (const name of Object.keys(by) as (keyof Changes)[]) found[name] += by[name]!;
  }

  function pay(payment_id: string, { type, data }: PaymentEvent): void {
    switch (type) {
      case 'PaymentReceived': {
        const { provider, currency, amount_cents, tax_cents = 0, paid_at } = data;
        if (provider === 'sandbox') return;
        const net_cents = amount_cents - tax_cents;
        payments.set(payment_id, { currency, month: monthOf(paid_at), amount_cents, net_cents });
        change(currency, monthOf(paid_at), { billed: net_cents });
        refund(payment_id, paid_at);
        return;
      }
      case 'PaymentReversed': {
        const { reversal_id, amount_cents: cents, currency, reversed_at } = data;
        const at = Date.parse(reversed_at);
        const known = reversalOf(payment_id, reversal_id);
        if (at > known.at) Object.assign(known, { cents, currency, at });
        refund(payment_id, reversed_at);
        return;
      }
      case 'PaymentReversalLifted': {
        const known = reversalOf(payment_id, data.reversal_id);
        known.lifted_at = Math.max(known.lifted_at, Date.parse(data.lifted_at));
        refund(payment_id, data.lifted_at);
        return;
      }
      case 'PaymentDeclined':
    }
  }
  function reversalOf(payment_id: string, reversal_id: string): Reversal {
    const of_payment = reversals.get(payment_id) ?? new Map<string, Reversal>();
    reversals.set(payment_id, of_payment);
    const none = { cents: 0, currency: '', at: Number.NEGATIVE_INFINITY, lifted_at: Number.NEGATIVE_INFINITY };
    const known = of_payment.get(reversal_id) ?? none;
    of_payment.set(reversal_id, known);
    return known;
  }
  /** Counts what has gone back by now, and was not counted: its share of the net amount. */
  function refund(payment_id: string, at: string): void {
    const payment = payments.get(payment_id);
    if (!payment) return;
    const { currency, amount_cents, net_cents, month } = payment;
    const stand = [...(reversals.get(payment_id)?.values() ?? [])].filter(
      (each) => each.currency === currency && each.at > each.lifted_at,
    );
    const cents = Math.min(
      amount_cents,
      stand.reduce((sum, each) => sum + each.cents, 0),
    );
    const net = amount_cents === 0 ? 0 : Math.round((net_cents * cents) / amount_cents);
    const more = net - (refunded.get(payment_id) ?? 0);
    refunded.set(payment_id, net);
    // Money cannot go back before it came.
    const in_month = [monthOf(at), month].sort()[1]!;
    if (more !== 0) change(currency, in_month, { refunded: more });
  }

  function enter(event: RecordedEvent & CreditsEvent): void {
    const { data, metadata, stream } = event;
    const user_id = idOf(stream);
    for (const { lot_id, amount } of lotMovesOf(event)) {
      const lot = lots.get(`${user_id} ${lot_id}`);
      if (!lot) continue;
      const before = worthOf(lot);
      lot.remaining += amount;
      const more = worthOf(lot) - before;
      const breakage = data.transaction_type === 'expiry' ? -more : 0;
      change(lot.currency, monthOf(metadata.at), { deferred: more, breakage });
    }
    const payment = payments.get(data.reference_id);
    const is_paid = data.transaction_type === 'purchase' || data.transaction_type === 'subscription';
    if (!payment || !is_paid || data.amount <= 0) return;
    const { currency, net_cents, month } = payment;
    lots.set(`${user_id} ${data.transaction_id}`, {
      currency,
      net_cents,
      credits: data.amount,
      remaining: data.amount,
    });
    change(currency, month, { deferred: net_cents });
  }

  function* monthsOf(currency: string, by_month: ReadonlyMap<string, Changes>): Generator<RevenueMonth> {
    let deferred = 0;
    const known = [...by_month.keys()].sort();
    for (let month = known[0]!; month <= known.at(-1)!; month = after(month)) {
      const { billed, refunded, breakage, deferred: more } = by_month.get(month) ?? NO_CHANGES;
      yield {
        ...{ month, currency, deferred_at_start_cents: deferred },
        ...{ billed_cents: billed, refunded_cents: refunded, breakage_cents: breakage },
        used_cents: billed - refunded - breakage - more,
        deferred_at_end_cents: (deferred += more),
      };
    }
  }

  return {
    /** Takes the events of payments and ledgers in the order of the log. */
    take(event: RecordedEvent): void {
      const category = categoryOf(event.stream);
      if (category === 'payment') pay(idOf(event.stream), event as unknown as PaymentEvent);
      else if (category === 'credits') enter(event as unknown as RecordedEvent & CreditsEvent);
    },
    /** Every month with a change, and those between, by currency. */
    months: () => [...changes].sort().flatMap(([currency, by_month]) => [...monthsOf(currency, by_month)]),
  };
}

const NO_CHANGES: Changes = { billed: 0, refunded: 0, breakage: 0, deferred: 0 };

/** The month after one. @example after('2026-12') // '2027-01' */
const after = (month: string): string => {
  const [year, number] = month.split('-').map(Number) as [number, number];
  return new Date(Date.UTC(year, number)).toISOString().slice(0, 7);
};
