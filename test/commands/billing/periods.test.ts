// Changes of a plan within periods of every length: the credits and the revenue are the share of the period that the provider states.
import test from 'ava';
import { openBilling, type PaymentNotice } from '../../../commands/billing/billing.ts';
import { addMonths } from '../../../commands/billing/months.ts';
import { newestLine, type PaidLine } from '../../../commands/billing/paid-lines.ts';
import { openPayments } from '../../../commands/billing/payment.ts';
import { PLANS } from '../../../commands/billing/plans.ts';
import { openCredits } from '../../../commands/ledger/credits.ts';
import { commandContext, openTestStores } from '../../support/stores.ts';

const DAY = 86_400_000;
const iso = (ms: number) => new Date(ms).toISOString();

/** Takes a paid invoice with these lines, and returns what the log has of the payment. */
async function received(log: Parameters<typeof openPayments>[0], lines: PaidLine[], payment_id: string, more = {}) {
  const amount_cents = Math.max(
    0,
    lines.reduce((sum, line) => sum + line.amount_cents, 0),
  );
  const notice: PaymentNotice = {
    ...{ type: 'period_paid', at: lines[0]!.period_start, user_id: payment_id, customer_id: null, payment_id },
    ...{ subscription_id: `sub_${payment_id}`, currency: 'usd', lines, amount_cents, ...more },
  };
  const context = { ...commandContext(), now: Date.parse(lines[0]!.period_start) };
  await openBilling(log, openCredits(log), 'stripe').take(notice, context);
  return (await openPayments(log).read(payment_id)).state.received!;
}

function upgrade(at: string, period_end: string, share: number): PaidLine[] {
  const rest = { interval: 'month', period_start: at, period_end, is_proration: true } as const;
  return [
    { ...rest, plan: 'pro', amount_cents: -Math.round(PLANS.pro.price_cents.month * share) },
    { ...rest, plan: 'agency', amount_cents: Math.round(PLANS.agency.price_cents.month * share) },
  ];
}

test('with every day of a leap year as anchor, an upgrade brings the share of its period', async (t) => {
  const { log } = await openTestStores(t);
  for (let n = 0; n < 366; n++) {
    const anchor = iso(Date.parse('2028-01-01T09:00:00.000Z') + n * DAY);
    // The provider holds the anchor's day in every month that has it: two periods of each anchor.
    for (const month of [0, 1]) {
      const [start, end] = [addMonths(anchor, month), addMonths(anchor, month + 1)];
      const length = Date.parse(end) - Date.parse(start);
      const at = iso(Date.parse(end) - Math.round(length / 3 / 1000) * 1000);
      const share = (Date.parse(end) - Date.parse(at)) / length;
      const { credits, period } = await received(log, upgrade(at, end, share), `in_${n}_${month}`);
      t.is(credits, Math.round((PLANS.agency.credits - PLANS.pro.credits) * share), start);
      t.is(period!.monthly_cents, PLANS.agency.price_cents.month, start);
    }
  }
});

test('an upgrade minutes before the end of a period moves the revenue to the new plan', async (t) => {
  const { log } = await openTestStores(t);
  const end = '2028-03-31T09:00:00.000Z';
  for (const seconds of [1, 60, 300, 3600]) {
    const at = iso(Date.parse(end) - seconds * 1000);
    const lines = upgrade(at, end, (seconds * 1000) / (31 * DAY));
    const { period, credits } = await received(log, lines, `in_${seconds}`);
    t.like(period, { plan: 'agency', monthly_cents: PLANS.agency.price_cents.month });
    t.true(credits < 400);
  }
});

test('a stated period decides, whatever was charged', async (t) => {
  const { log } = await openTestStores(t);
  const [start, at, end] = ['2028-01-31T00:00:00.000Z', '2028-02-15T00:00:00.000Z', '2028-02-29T00:00:00.000Z'];
  const lines = upgrade(at, end, 0.5).map((line) => ({ ...line, whole_period: { start, end } }));
  t.is((await received(log, lines, 'in_1')).credits, Math.round((150_000 * 14) / 29));
});

test('three of a plan bring three times its credits, and the time of a trial brings none', async (t) => {
  const { log } = await openTestStores(t);
  const [period_start, period_end] = ['2028-01-31T00:00:00.000Z', '2028-02-29T00:00:00.000Z'];
  const line = { plan: 'agency', interval: 'month', period_start, period_end, is_proration: false } as const;
  const three = await received(log, [{ ...line, amount_cents: 29_700, quantity: 3 }], 'in_3');
  t.like(three, { credits: 600_000, period: { monthly_cents: 29_700, quantity: 3 } });
  const trial = await received(log, [{ ...line, amount_cents: 0 }], 'in_0');
  t.like(trial, { credits: 0, period: { monthly_cents: 0 } });
  // Its end is moved, and the plan is changed meanwhile.
  const moved = upgrade(period_start, period_end, 0).map((each) => ({ ...each, amount_cents: 0 }));
  t.is((await received(log, moved, 'in_moved')).credits, 0);
});

test('a coupon lowers the revenue, taxes do not raise it', async (t) => {
  const { log } = await openTestStores(t);
  const [period_start, period_end] = ['2028-01-31T00:00:00.000Z', '2028-02-29T00:00:00.000Z'];
  const line = { plan: 'pro', interval: 'month', period_start, period_end, is_proration: false } as const;
  const paid = await received(log, [{ ...line, amount_cents: 2900 }], 'in_1', { amount_cents: 1740, net_cents: 1450 });
  t.like(paid, { credits: 50_000, amount_cents: 1740, period: { monthly_cents: 1450 } });
});

test('a change to a smaller plan leaves the smaller one, though the line that gives the dearer one back ends with it', (t) => {
  const rest = { interval: 'month', period_start: iso(0), period_end: iso(DAY), is_proration: true } as const;
  const given_back: PaidLine = { ...rest, plan: 'agency', amount_cents: -100 };
  t.is(newestLine([given_back, { ...rest, plan: 'starter', amount_cents: 10 }])?.plan, 'starter');
  t.is(newestLine([given_back]), undefined);
});
