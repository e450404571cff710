// The recurring revenue of payments that the provider dates to the same second.
import test from 'ava';
import type { LogEvent } from '../../../events/vocabulary.ts';
import { moneyOf } from '../../../projections/growth/recurring-revenue.ts';
import { revenueProjection } from '../../../projections/growth/revenue.ts';
import { countsOf, levelsOf } from '../../../readmodels/growth/day-counts.ts';
import { counterOf, revenueCounts, revenueCustomers } from '../../../readmodels/growth/revenue.ts';
import { openTestStores } from '../../support/stores.ts';

const PAID_AT = '2026-01-31T09:00:00.000Z';
const DAYS = { from: '2026-01-30', to: '2026-02-01' };

const paid = (payment_id: string, period_end: string, monthly_cents: number): LogEvent => {
  const period = { subscription_id: 's', plan: 'pro', interval: 'month', period_end, monthly_cents };
  const of = {
    user_id: 'alice',
    amount_cents: monthly_cents,
    currency: 'usd',
    package_id: null,
    period,
    paid_at: PAID_AT,
  };
  const metadata = { command_id: '', causation_id: '', actor: 'test', at: PAID_AT };
  const at = { revision: 0, position: '', metadata };
  return {
    id: payment_id,
    stream: `payment-${payment_id}`,
    type: 'PaymentReceived',
    data: of,
    ...at,
  } as unknown as LogEvent;
};

const permutations = <T>(items: readonly T[]): T[][] =>
  items.length < 2
    ? [[...items]]
    : items.flatMap((first, n) => permutations(items.toSpliced(n, 1)).map((rest) => [first, ...rest]));

test('of payments of one second the one that ends last counts, then the one for more, in whatever order they come', async (t) => {
  const payments = [
    paid('c', '2026-02-28T09:00:00.000Z', 9_900),
    paid('b', '2026-03-31T09:00:00.000Z', 2_900),
    paid('a', '2026-03-31T09:00:00.000Z', 4_900),
    paid('d', '2026-03-31T09:00:00.000Z', 900),
  ];
  const documents_of_first: unknown[] = [];
  for (const order of permutations(payments)) {
    const { documents } = await openTestStores(t);
    for (const event of order) {
      await documents.transaction((inside) => revenueProjection.apply([event], (spec) => inside.collection(spec)));
    }
    const counts = await countsOf(documents.reading(revenueCounts), DAYS);
    t.is(levelsOf(counts, counterOf('usd', 'mrr')).get('2026-02-01'), 4_900);
    const made = [
      await Array.fromAsync(documents.reading(revenueCounts).stream({})),
      await documents.reading(revenueCustomers).get('alice'),
    ];
    if (documents_of_first.length === 0) documents_of_first.push(...made);
    t.deepEqual(made, documents_of_first);
  }
});

test('cash is what was paid, and a dispute counts from its loss on, in whatever order the news come', (t) => {
  const received = {
    ...{ day: '2026-01-31', currency: 'usd', amount_cents: 1900, credited_cents: 1000, outstanding_cents: 0 },
    is_package: false,
  };
  const stepOf = (day: number) => `2026-02-0${day}T00:00:00.000Z`;
  const dispute = { reversal_id: 'du', kind: 'dispute' as const, currency: 'usd', amount_cents: 1900 };
  const reversals = [1, 2, 6].map((day) => ({ ...dispute, at: stepOf(day) }));
  const lifted = [3, 4].map((day) => ({ reversal_id: 'du', at: stepOf(day) }));
  for (const order of permutations(reversals)) {
    const entries = moneyOf({ received, reversals: order, lifted });
    t.deepEqual(
      entries.map(({ day, name, by }) => `${day} ${name} ${by}`),
      [
        '2026-01-31 usd_subscriptions 1900',
        '2026-01-31 usd_payments 1',
        '2026-01-31 usd_credited 1000',
        '2026-02-01 usd_disputes 1900',
        '2026-02-03 usd_disputes -1900',
        '2026-02-06 usd_disputes 1900',
      ],
    );
  }
});
