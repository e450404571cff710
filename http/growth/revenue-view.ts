// The figures of money as administrators see them: a schema with their meanings, and what makes them of the counters.
import { Nullable, Type } from '../../events/schema.ts';
import type { Counted } from '../../readmodels/growth/day-counts.ts';
import { arpuOf, mrrLevels, type Revenue } from '../../readmodels/growth/revenue.ts';
import { Count } from '../frame/schemas.ts';
import { Cents, Day, moneyAt, Share } from './growth-view.ts';

const movements = {
  new_cents: Cents('MRR of users who had none before.'),
  expansion_cents: Cents('What the MRR of users who had some has grown by.'),
  reactivation_cents: Cents('MRR of users who had lost theirs.'),
  contraction_cents: Cents('What the MRR of users who keep some has shrunk by.'),
  churn_cents: Cents('MRR of users who have none any more.'),
};
const money = {
  gross_cents: Cents('The money that was paid, with taxes.'),
  refunds_cents: Cents('What was refunded. A refund that failed is subtracted on the day on which it failed.'),
  disputes_cents: Cents('What holders of cards took back. A dispute that was won is subtracted on that day.'),
  net_cents: Cents('gross_cents - refunds_cents - disputes_cents.'),
};

export const RevenueView = Type.Object(
  {
    currency: Type.String({ description: 'ISO 4217, in lower case. Amounts are in its smallest unit.' }),
    mrr_start_cents: Cents('Monthly recurring revenue (MRR) at the beginning of the first day.'),
    mrr_end_cents: Cents(
      'MRR at the end of the last day: mrr_start + new + expansion + reactivation - contraction - churn.',
    ),
    ...movements,
    customers_start: Count('Users with MRR at the beginning of the first day.'),
    customers_end: Count('Users with MRR at the end of the last day.'),
    new_customers: Count('Users who had MRR for the first time.'),
    reactivated_customers: Count('Users who had MRR again.'),
    churned_customers: Count('Users who lost all MRR.'),
    customer_churn_rate: Share('churned_customers / customers_start; null without customers.'),
    gross_mrr_churn_rate: Share('(contraction + churn) / mrr_start; null without MRR.'),
    net_mrr_churn_rate: Share('(contraction + churn - expansion - reactivation) / mrr_start; null without MRR.'),
    arpu_cents: Nullable(Cents('mrr_end / customers_end; null without customers.')),
    payments: Count('Payments of more than nothing.'),
    ...money,
    credited_cents: Cents("What customers' balances at the provider paid: no money came."),
    outstanding_cents: Cents('What is still owed of invoices that the provider counts as paid.'),
    packages_cents: Cents('The part of gross_cents that bought packages of credits.'),
    subscriptions_cents: Cents('The part of gross_cents that paid plans.'),
  },
  { $id: 'Revenue' },
);
export const revenueExample: Revenue = {
  ...{ currency: 'usd', mrr_start_cents: 29_000, mrr_end_cents: 34_800 },
  ...{ new_cents: 8_700, expansion_cents: 2_000, reactivation_cents: 0, contraction_cents: 2_000, churn_cents: 2_900 },
  ...{ customers_start: 10, customers_end: 12, new_customers: 3, reactivated_customers: 0, churned_customers: 1 },
  ...{ customer_churn_rate: 0.1, gross_mrr_churn_rate: 0.169, net_mrr_churn_rate: 0.1, arpu_cents: 2_900 },
  ...{ payments: 17, gross_cents: 45_300, packages_cents: 4_500, subscriptions_cents: 40_800 },
  ...{ credited_cents: 1_000, outstanding_cents: 0 },
  ...{ refunds_cents: 500, disputes_cents: 0, net_cents: 44_800 },
};

export const RevenuePoint = Type.Object({
  day: Day('The day, in UTC.'),
  mrr_cents: Cents('MRR at the end of the day.'),
  ...movements,
  customers: Count('Users with MRR at the end of the day.'),
  arpu_cents: Nullable(Cents('mrr_cents / customers; null without customers.')),
  ...money,
});
export const revenuePointExample = {
  ...{ day: '2026-01-31', mrr_cents: 34_800 },
  ...{ new_cents: 2_900, expansion_cents: 0, reactivation_cents: 0, contraction_cents: 0, churn_cents: 0 },
  ...{ customers: 12, arpu_cents: 2_900 },
  ...{ gross_cents: 3_400, refunds_cents: 500, disputes_cents: 0, net_cents: 2_900 },
};

export function revenueSeries(counted: Counted, currency: string) {
  const { mrr, customers } = mrrLevels(counted, currency);
  return counted.each_day.map((day) => {
    const at = moneyAt(counted, day, currency);
    const [gross_cents, refunds_cents, disputes_cents] = [
      at('packages') + at('subscriptions'),
      at('refunds'),
      at('disputes'),
    ];
    const [mrr_cents, paying] = [mrr.get(day)!, customers.get(day)!];
    return {
      ...{ day, mrr_cents, new_cents: at('new'), expansion_cents: at('expansion') },
      ...{ reactivation_cents: at('reactivation'), contraction_cents: at('contraction'), churn_cents: at('churn') },
      ...{ customers: paying, arpu_cents: arpuOf(mrr_cents, paying) },
      ...{ gross_cents, refunds_cents, disputes_cents, net_cents: gross_cents - refunds_cents - disputes_cents },
    };
  });
}
