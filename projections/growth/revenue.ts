// The read models of money: payments, refunds and disputes, and the monthly recurring revenue.

import { categoryOf, idOf } from '../../events/streams.ts';
import type { SubscriptionChanged } from '../../events/subscription.ts';
import { dayOf, isoOf } from '../../readmodels/growth/calendar.ts';
import {
  type RevenueCustomerDocument,
  type RevenuePaymentDocument,
  revenueCounts,
  revenueCustomers,
  revenuePayments,
  type SubscriptionFacts,
} from '../../readmodels/growth/revenue.ts';
import { type Projection, projection } from '../projection.ts';
import { readAll, replaceAll } from '../slices.ts';
import { DayCountChanges } from './day-counts.ts';
import { byTime, type Entry, moneyOf, movementsOf } from './recurring-revenue.ts';

interface Page {
  counts: DayCountChanges;
  payments: Map<string, RevenuePaymentDocument>;
  customers: Map<string, RevenueCustomerDocument>;
}

/** The MRR counts nothing of a subscription in one of these statuses until its next payment. */
const STOPPED: readonly SubscriptionChanged['status'][] = ['unpaid', 'paused', 'incomplete_expired'];

export const revenueProjection: Projection = projection({
  name: 'revenue',
  version: 4,
  collections: [revenueCounts, revenuePayments, revenueCustomers],
  covers: ['payment', 'subscription'],
  // A trial is not paid, and a failed payment changes nothing before its grace has ended.
  ignores: [
    ...(['PaymentDeclined', 'SubscriptionPeriodPaid', 'SubscriptionPaymentFailed', 'TrialStarted'] as const),
    ...(['CustomerAssigned', 'CheckoutOpened'] as const),
  ],
  async begin(open, events): Promise<Page> {
    const payment_ids: string[] = [];
    const user_ids: string[] = [];
    for (const { type, stream, data } of events) {
      (categoryOf(stream) === 'payment' ? payment_ids : user_ids).push(idOf(stream));
      if (type === 'PaymentReceived') user_ids.push(data.user_id);
    }
    return {
      counts: new DayCountChanges(),
      payments: await readAll(await open(revenuePayments), payment_ids),
      customers: await readAll(await open(revenueCustomers), user_ids),
    };
  },
  on: {
    PaymentReceived({ stream, data }, page) {
      const { user_id, amount_cents, currency, package_id, period, paid_at } = data;
      const { paid_cents = amount_cents, credited_cents = 0, outstanding_cents = 0 } = data;
      const payment_id = idOf(stream);
      const received = {
        ...{ day: dayOf(paid_at), currency, amount_cents: paid_cents, credited_cents, outstanding_cents },
        is_package: package_id !== null,
      };
      changePayment(page, stream, (facts) => ({ ...facts, received }));
      if (period === null) return;
      const { subscription_id, interval, period_end, monthly_cents } = period;
      const paid = {
        ...{ payment_id, paid_at: isoOf(paid_at), period_end: isoOf(period_end), currency },
        // The first payments said only what was paid.
        monthly_cents: monthly_cents ?? Math.round(amount_cents / (interval === 'year' ? 12 : 1)),
      };
      changeSubscription(page, user_id, subscription_id, (facts) => ({
        ...facts,
        payments: [...facts.payments, paid].sort(byTime),
      }));
    },
    PaymentReversed({ stream, data: { reversal_id, kind, amount_cents, currency, reversed_at } }, page) {
      const reversal = { reversal_id, kind, amount_cents, currency, at: isoOf(reversed_at) };
      changePayment(page, stream, (facts) => ({ ...facts, reversals: [...facts.reversals, reversal] }));
    },
    PaymentReversalLifted({ stream, data: { reversal_id, lifted_at } }, page) {
      const lifted = { reversal_id, at: isoOf(lifted_at) };
      changePayment(page, stream, (facts) => ({ ...facts, lifted: [...facts.lifted, lifted] }));
    },
    SubscriptionChanged({ stream, data: { subscription_id, status, cancel_at, changed_at } }, page) {
      const at = isoOf(changed_at);
      changeSubscription(page, idOf(stream), subscription_id, (facts) => ({
        ...facts,
        // The log has the states of a subscription in the order of their times.
        cancel_at: cancel_at === null ? null : isoOf(cancel_at),
        canceled_at: facts.canceled_at ?? (status === 'canceled' ? at : null),
        stops: STOPPED.includes(status) ? [...facts.stops, { at, payment_id: null }] : facts.stops,
      }));
    },
    SubscriptionDowngraded({ stream, data: { subscription_id, payment_id }, metadata: { at } }, page) {
      changeSubscription(page, idOf(stream), subscription_id, (facts) => ({
        ...facts,
        stops: [...facts.stops, { at, payment_id }],
      }));
    },
    UserErased: ({ stream, metadata: { at } }, page) =>
      changeCustomer(page, idOf(stream), (customer) => ({ ...customer, erased_at: at })),
    UserForgotten({ stream }, page) {
      const user_id = idOf(stream);
      const { erased_at } = page.customers.get(user_id) ?? newCustomer(user_id);
      // The counts stay.
      page.customers.set(user_id, { ...newCustomer(user_id), erased_at, is_forgotten: true });
    },
  },
  async end({ counts, payments, customers }, open) {
    await replaceAll(await open(revenuePayments), payments.values());
    await replaceAll(await open(revenueCustomers), customers.values());
    await counts.writeTo(await open(revenueCounts));
  },
});

const newCustomer = (user_id: string): RevenueCustomerDocument => ({
  _id: user_id,
  subscriptions: [],
  erased_at: null,
  is_forgotten: false,
});

/** Counts what the facts amount to now instead of what they amounted to before. */
function recount({ counts }: Page, before: readonly Entry[], after: readonly Entry[]): void {
  for (const { day, name, by } of before) counts.add(day, name, -by);
  for (const { day, name, by } of after) counts.add(day, name, by);
}

type Change<Facts> = (facts: Facts) => Facts;

function changePayment(page: Page, stream: string, change: Change<RevenuePaymentDocument>): void {
  const payment_id = idOf(stream);
  const before = page.payments.get(payment_id) ?? { _id: payment_id, received: null, reversals: [], lifted: [] };
  const after = change(before);
  recount(page, moneyOf(before), moneyOf(after));
  page.payments.set(payment_id, after);
}

function changeCustomer(page: Page, user_id: string, change: Change<RevenueCustomerDocument>): void {
  const before = page.customers.get(user_id) ?? newCustomer(user_id);
  if (before.is_forgotten) return;
  const after = change(before);
  recount(page, movementsOf(before), movementsOf(after));
  page.customers.set(user_id, after);
}

function changeSubscription(
  page: Page,
  user_id: string,
  subscription_id: string,
  change: Change<SubscriptionFacts>,
): void {
  changeCustomer(page, user_id, (customer) => {
    const none = { subscription_id, payments: [], stops: [], canceled_at: null, cancel_at: null };
    const known = customer.subscriptions.find((each) => each.subscription_id === subscription_id);
    const others = customer.subscriptions.filter((each) => each !== known);
    return { ...customer, subscriptions: [...others, change(known ?? none)] };
  });
}
