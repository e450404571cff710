// The monthly recurring revenue of a customer, day by day, and the money of a payment: pure functions of all that is known of them, so that the
// order in which the facts came makes no difference.
import { afterGrace } from '../../events/subscription-state.ts';
import { addDays, dayOf } from '../../readmodels/growth/calendar.ts';
import {
  counterOf,
  type Movement,
  type PaymentFacts,
  type RevenueCustomerDocument,
  type RevenueName,
  type SubscriptionFacts,
} from '../../readmodels/growth/revenue.ts';

/** A change of a day's counter. */
export interface Entry {
  day: string;
  name: string;
  by: number;
}
type SubscriptionPayment = SubscriptionFacts['payments'][number];
type Customer = Pick<RevenueCustomerDocument, 'subscriptions' | 'erased_at'>;

/**
 * The order of a subscription's payments, the last of which counts. The provider's clock counts seconds: of two payments of a second it is the
 * one whose period ends later, then the one for more.
 */
export const byTime = (a: SubscriptionPayment, b: SubscriptionPayment): number =>
  compare(a.paid_at, b.paid_at) ||
  compare(a.period_end, b.period_end) ||
  a.monthly_cents - b.monthly_cents ||
  compare(a.payment_id, b.payment_id);
const compare = (a: string, b: string) => (a === b ? 0 : a < b ? -1 : 1);

/** Returns the movements of a customer's MRR: what it is at the end of a day (UTC), less what it was at the end of the day before. */
export function movementsOf(customer: Customer): Entry[] {
  const entries: Entry[] = [];
  const currencies = new Set(customer.subscriptions.flatMap(({ payments }) => payments.map((paid) => paid.currency)));
  for (const currency of currencies) {
    let [before, is_known] = [0, false];
    for (const day of daysOf(customer)) {
      const after = mrrAtEnd(day, customer, currency);
      if (after === before) continue;
      const add = (name: RevenueName, by: number) => entries.push({ day, name: counterOf(currency, name), by });
      const movement = movementOf(before, after, is_known);
      add('mrr', after - before);
      add(movement, Math.abs(after - before));
      if (movement === 'new' || movement === 'reactivation') add('customers', 1);
      if (movement === 'new') add('new_customers', 1);
      if (movement === 'reactivation') add('reactivated_customers', 1);
      if (movement === 'churn') {
        add('customers', -1);
        add('churned_customers', 1);
      }
      [before, is_known] = [after, true];
    }
  }
  return entries;
}

function movementOf(before: number, after: number, is_known: boolean): Movement {
  if (before === 0) return is_known ? 'reactivation' : 'new';
  if (after === 0) return 'churn';
  return after > before ? 'expansion' : 'contraction';
}

/** The days at whose ends the MRR may differ from the day before, in order. */
function daysOf({ subscriptions, erased_at }: Customer): string[] {
  const times = subscriptions.flatMap(({ payments, stops, canceled_at, cancel_at }) => [
    ...payments.flatMap(({ paid_at, period_end }) => [paid_at, afterGrace(period_end)]),
    ...stops.map(({ at }) => at),
    ...[canceled_at, cancel_at],
  ]);
  return [...new Set([...times, erased_at].filter((time) => time !== null).map(dayOf))].sort();
}

function mrrAtEnd(day: string, { subscriptions, erased_at }: Customer, currency: string): number {
  const end = `${addDays(day, 1)}T00:00:00.000Z`;
  if (erased_at !== null && erased_at < end) return 0;
  return subscriptions.reduce((sum, subscription) => sum + monthlyAt(end, subscription, currency), 0);
}

function monthlyAt(end: string, facts: SubscriptionFacts, currency: string): number {
  const { payments, stops, canceled_at, cancel_at } = facts;
  if (canceled_at !== null && canceled_at < end) return 0;
  const paid = payments.findLast(({ paid_at }) => paid_at < end);
  if (!paid || paid.currency !== currency || afterGrace(paid.period_end) < end) return 0;
  const stopsAt = (at: string) => at > paid.paid_at && at < end;
  if (cancel_at !== null && stopsAt(cancel_at)) return 0;
  const holds = ({ at, payment_id }: SubscriptionFacts['stops'][number]) =>
    !payments.some((other) => other.payment_id === payment_id && other.paid_at <= at);
  return stops.some((stop) => stopsAt(stop.at) && holds(stop)) ? 0 : paid.monthly_cents;
}

/**
 * Returns the money of a payment and of what was taken back of it. Reversals count only with their payment, and in its currency. A dispute
 * that is won is given back on that day, and taken again on the day on which it is lost after all.
 */
export function moneyOf({ received, reversals, lifted }: PaymentFacts): Entry[] {
  if (!received) return [];
  const { day, currency, amount_cents, credited_cents, outstanding_cents, is_package } = received;
  const entry = (on: string, name: RevenueName, by: number): Entry => ({
    day: on,
    name: counterOf(currency, name),
    by,
  });
  const paid = [
    entry(day, is_package ? 'packages' : 'subscriptions', amount_cents),
    entry(day, 'payments', amount_cents > 0 ? 1 : 0),
    entry(day, 'credited', credited_cents),
    entry(day, 'outstanding', outstanding_cents),
  ];
  const of_currency = reversals.filter((reversal) => reversal.currency === currency);
  const back = [...Map.groupBy(of_currency, ({ reversal_id }) => reversal_id)].flatMap(([id, news]) => {
    const steps = [
      ...news.map(({ at, amount_cents: cents }) => ({ at, cents })),
      ...lifted.filter(({ reversal_id }) => reversal_id === id).map(({ at }) => ({ at, cents: 0 })),
      // Of two steps of one second the reversal is the earlier one.
    ].sort((a, b) => compare(a.at, b.at) || b.cents - a.cents);
    const name = `${news[0]!.kind}s` as const;
    const first = steps.findIndex(({ cents }) => cents > 0);
    // What was lifted before it was taken is news out of order.
    return steps
      .slice(Math.max(0, first))
      .map(({ at, cents }, n, of) => entry(dayOf(at), name, cents - (of[n - 1]?.cents ?? 0)));
  });
  return [...paid, ...back].filter(({ by }) => by !== 0);
}
