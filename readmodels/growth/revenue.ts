// The read models of money: counters by day for each currency, and the facts of payments and subscriptions that they follow from.
// Decision 67 says why.
import type { ReversalKind } from '../../events/payment.ts';
import { type Document, kept, type ReadModelSpec } from '../documents.ts';
import { type Counted, dayCounts, levelsOf, sumOf, totalOf } from './day-counts.ts';
import { shareOf } from './growth.ts';

/** Money of a day, in the smallest unit of its currency. */
export const MOVEMENTS = ['new', 'expansion', 'reactivation', 'contraction', 'churn'] as const;
export type Movement = (typeof MOVEMENTS)[number];
/**
 * What was paid, and what went back. A reversal that is lifted counts against its kind on the day on which it is lifted. `credited` was
 * paid by the balance that a customer has at the provider, and `outstanding` is not paid yet: neither is cash.
 */
export type MoneyName = 'packages' | 'subscriptions' | 'credited' | 'outstanding' | `${ReversalKind}s`;
/** Counters of customers and payments. `mrr` and `customers` are changes: their running sums are the levels. */
export type RevenueName =
  | Movement
  | MoneyName
  | ('mrr' | 'customers' | 'payments')
  | `${'new' | 'reactivated' | 'churned'}_customers`;

/** Each currency is counted by itself. `currency`: ISO 4217 in lower case. */
export const counterOf = (currency: string, name: RevenueName): string => `${currency}_${name}`;
export const revenueCounts = dayCounts('revenue_counts', kept('300 a day and a month', 'never', 'none'));

export interface PaymentFacts {
  received: {
    day: string;
    currency: string;
    /** Cash alone. */
    amount_cents: number;
    credited_cents: number;
    outstanding_cents: number;
    is_package: boolean;
  } | null;
  /** All news of each, in order of arrival. `at` is in ISO 8601. */
  reversals: { reversal_id: string; kind: ReversalKind; at: string; currency: string; amount_cents: number }[];
  lifted: { reversal_id: string; at: string }[];
}
/** `_id` is the payment's id. */
export interface RevenuePaymentDocument extends Document, PaymentFacts {}
export const revenuePayments: ReadModelSpec<RevenuePaymentDocument> = {
  name: 'revenue_payments',
  ...kept('150 a payment', 'never', 'derived'),
  fields: {},
  indexes: [],
};

export interface SubscriptionFacts {
  subscription_id: string;
  payments: { payment_id: string; paid_at: string; period_end: string; currency: string; monthly_cents: number }[];
  /** Times at which it stopped until the next payment. `payment_id`: only when that payment was not made before. */
  stops: { at: string; payment_id: string | null }[];
  canceled_at: string | null;
  /** It ends then unless it is paid again. */
  cancel_at: string | null;
}
/** `_id` is the user's id. */
export interface RevenueCustomerDocument extends Document {
  subscriptions: SubscriptionFacts[];
  /** All subscriptions end with the user's erasure. */
  erased_at: string | null;
  /** Whether the erasure is done: nothing else is kept, and later news do not count. */
  is_forgotten: boolean;
}
export const revenueCustomers: ReadModelSpec<RevenueCustomerDocument> = {
  name: 'revenue_customers',
  ...kept('200 a payment', 'never; that a user is erased stays', 'derived'),
  fields: {},
  indexes: [],
};

/** Figures of one currency over some days, in the smallest unit of the currency. */
export function revenueOf(counted: Counted, currency: string) {
  const total = (name: RevenueName) => totalOf(counted, counterOf(currency, name));
  const before = (name: RevenueName) => counted.before[counterOf(currency, name)] ?? 0;
  const [mrr_start_cents, customers_start] = [before('mrr'), before('customers')];
  const [mrr_end_cents, customers_end] = [mrr_start_cents + total('mrr'), customers_start + total('customers')];
  const [expansion, reactivation, contraction, churn] = (
    ['expansion', 'reactivation', 'contraction', 'churn'] as const
  ).map(total) as [number, number, number, number];
  const [packages_cents, subscriptions_cents] = [total('packages'), total('subscriptions')];
  const [refunds_cents, disputes_cents] = [total('refunds'), total('disputes')];
  const [credited_cents, outstanding_cents] = [total('credited'), total('outstanding')];
  const gross_cents = packages_cents + subscriptions_cents;
  return {
    currency,
    ...{ mrr_start_cents, mrr_end_cents },
    ...{ new_cents: total('new'), expansion_cents: expansion, reactivation_cents: reactivation },
    ...{ contraction_cents: contraction, churn_cents: churn },
    ...{ customers_start, customers_end, new_customers: total('new_customers') },
    ...{ reactivated_customers: total('reactivated_customers'), churned_customers: total('churned_customers') },
    customer_churn_rate: shareOf(total('churned_customers'), customers_start),
    gross_mrr_churn_rate: shareOf(contraction + churn, mrr_start_cents),
    net_mrr_churn_rate: shareOf(contraction + churn - expansion - reactivation, mrr_start_cents),
    arpu_cents: arpuOf(mrr_end_cents, customers_end),
    ...{ payments: total('payments'), gross_cents, packages_cents, subscriptions_cents },
    ...{ credited_cents, outstanding_cents },
    ...{ refunds_cents, disputes_cents, net_cents: gross_cents - refunds_cents - disputes_cents },
  };
}
export type Revenue = ReturnType<typeof revenueOf>;

/** The MRR of a customer on average; null without customers. */
export const arpuOf = (mrr_cents: number, customers: number): number | null =>
  customers === 0 ? null : Math.round(mrr_cents / customers);

/** MRR and customers at the end of each day. */
export const mrrLevels = (counted: Counted, currency: string) => ({
  mrr: levelsOf(counted, counterOf(currency, 'mrr')),
  customers: levelsOf(counted, counterOf(currency, 'customers')),
});

/** The currencies that have a figure on or before the days, in order. */
export function currenciesOf({ before, by_day }: Counted): string[] {
  const names = Object.keys(sumOf([before, ...by_day.values()]));
  return [...new Set(names.map((name) => name.slice(0, name.indexOf('_'))))].sort();
}
