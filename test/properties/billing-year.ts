// A drawn year of a user's payments, as the notices of a provider: renewals, upgrades, failed cards, refunds, disputes, purchases and a
// cancellation. Each notice has the provider's own time.
import fc from 'fast-check';
import type { PaidLine, PaymentNotice } from '../../commands/billing/billing.ts';
import { addMonths } from '../../commands/billing/months.ts';
import { MONTHS, PLANS } from '../../commands/billing/plans.ts';
import type { BillingInterval, PlanName } from '../../events/subscription.ts';

const DAY = 86_400_000;
export const iso = (ms: number) => new Date(ms).toISOString();
const later = (time: string, ms: number) => iso(Date.parse(time) + ms);

interface Reversing {
  kind: 'refund' | 'dispute';
  /** Of the payment, in hundredths. */
  share: number;
  /** Days after the payment. */
  after: number;
  /** The refund fails, or the dispute is won. */
  is_lifted: boolean;
}
interface Period {
  card: 'works' | 'works later' | 'fails';
  reversals: Reversing[];
  /** A change to the largest plan, on this day of the period. */
  upgrade_on: number | null;
}
export interface Year {
  /** Months of 28 to 31 days follow from it; 2028 is a leap year. */
  start: string;
  plan: 'starter' | 'pro';
  interval: BillingInterval;
  periods: Period[];
  purchases: { on: number; reversals: Reversing[] }[];
  cancelled_on: number | null;
}

const reversals = fc.array(
  fc.record({
    kind: fc.constantFrom('refund' as const, 'dispute' as const),
    share: fc.integer({ min: 1, max: 100 }),
    after: fc.integer({ min: 0, max: 90 }),
    is_lifted: fc.boolean(),
  }),
  { maxLength: 2 },
);

export const year: fc.Arbitrary<Year> = fc.record({
  start: fc.constantFrom(
    '2027-12-31T23:59:59.000Z',
    '2028-01-31T09:00:00.000Z',
    '2028-02-29T00:00:00.000Z',
    '2027-03-30T12:00:00.000Z',
  ),
  plan: fc.constantFrom('starter' as const, 'pro' as const),
  interval: fc.constantFrom('month' as const, 'month' as const, 'year' as const),
  periods: fc.array(
    fc.record({
      card: fc.constantFrom(
        'works' as const,
        'works' as const,
        'works' as const,
        'works later' as const,
        'fails' as const,
      ),
      reversals,
      upgrade_on: fc.option(fc.integer({ min: 1, max: 27 }), { freq: 5 }),
    }),
    { minLength: 1, maxLength: 12 },
  ),
  purchases: fc.array(fc.record({ on: fc.integer({ min: 0, max: 360 }), reversals }), { maxLength: 4 }),
  cancelled_on: fc.option(fc.integer({ min: 0, max: 360 }), { freq: 3 }),
});

/** In order of the provider's times. `user_id` is a part of every id. */
export function noticesOf(
  { start, plan, interval, periods, purchases, cancelled_on }: Year,
  user_id: string,
): PaymentNotice[] {
  const notices: PaymentNotice[] = [];
  const subscription_id = `sub_${user_id}`;
  const of = { user_id, customer_id: null, currency: 'usd' };
  let current: PlanName = plan;

  const reverse = (payment_id: string, amount_cents: number, paid_at: string, drawn: readonly Reversing[]) => {
    for (const [n, { kind, share, after, is_lifted }] of drawn.entries()) {
      const at = later(paid_at, after * DAY);
      const reversal_id = `${kind}_${n}_${payment_id}`;
      const reversed_cents = Math.floor((amount_cents * share) / 100);
      notices.push({
        ...{ type: 'reversed', at, payment_id },
        reversal: { reversal_id, kind, amount_cents: reversed_cents, currency: 'usd' },
      });
      if (is_lifted) notices.push({ type: 'lifted', at: later(at, 20 * DAY), payment_id, reversal_id });
    }
  };
  const change = (at: string, status: 'active' | 'past_due' | 'canceled', period_start: string) => {
    const period = { plan: current, interval, period_start, period_end: addMonths(period_start, MONTHS[interval]) };
    const subscription = { subscription_id, customer_id: null, ...period, status, cancel_at: null };
    notices.push({ type: 'subscription_changed', at, user_id, subscription });
  };
  const pay = (payment_id: string, at: string, lines: PaidLine[]) => {
    const amount_cents = Math.max(
      0,
      lines.reduce((sum, line) => sum + line.amount_cents, 0),
    );
    notices.push({ type: 'period_paid', at, ...of, payment_id, subscription_id, lines, amount_cents });
    return amount_cents;
  };

  for (const [n, { card, reversals: drawn, upgrade_on }] of periods.entries()) {
    const period_start = addMonths(start, n * MONTHS[interval]);
    if (Date.parse(period_start) >= Date.parse(start) + 365 * DAY) break;
    const period_end = addMonths(period_start, MONTHS[interval]);
    const payment_id = `in_${n}_${user_id}`;
    if (card !== 'works') {
      for (const days of [0, 3, 5]) {
        notices.push({
          type: 'period_failed',
          at: later(period_start, days * DAY),
          user_id,
          subscription_id,
          payment_id,
        });
      }
      change(period_start, 'past_due', period_start);
    }
    const paid_at = card === 'works' ? period_start : later(period_start, 10 * DAY);
    if (card === 'fails') {
      change(paid_at, 'canceled', period_start);
      break;
    }
    const line = { plan: current, interval, period_start, period_end, is_proration: false };
    const amount_cents = pay(payment_id, paid_at, [{ ...line, amount_cents: PLANS[current].price_cents[interval] }]);
    change(paid_at, 'active', period_start);
    reverse(payment_id, amount_cents, paid_at, drawn);
    if (upgrade_on === null || current === 'agency') continue;
    const at = later(period_start, (10 + upgrade_on / 2) * DAY);
    const rest = { interval, period_start: at, period_end, is_proration: true };
    const [former, next] = [PLANS[current].price_cents[interval], PLANS.agency.price_cents[interval]];
    pay(`up_${n}_${user_id}`, at, [
      { ...rest, plan: current, amount_cents: -Math.round(former / 2) },
      { ...rest, plan: 'agency', amount_cents: Math.round(next / 2) },
    ]);
    current = 'agency';
    change(at, 'active', period_start);
  }
  for (const [n, { on, reversals: drawn }] of purchases.entries()) {
    const at = later(start, on * DAY);
    const payment_id = `pi_${n}_${user_id}`;
    const bought = { package_id: 'credits_5000', credits: 5000, amount_cents: 500 };
    notices.push({ type: 'purchase_paid', at, ...of, payment_id, ...bought });
    reverse(payment_id, bought.amount_cents, at, drawn);
  }
  if (cancelled_on !== null) {
    const at = later(start, cancelled_on * DAY);
    const states = notices.filter((notice) => notice.type === 'subscription_changed' && notice.at <= at);
    const last = states.at(-1);
    if (last?.type === 'subscription_changed') {
      const subscription = { ...last.subscription, cancel_at: last.subscription.period_end };
      notices.push({ type: 'subscription_changed', at, user_id, subscription });
    }
  }
  return notices.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
}
