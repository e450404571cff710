// The adapter of Stripe: what it asks of the API, and what it reads in events.
import test, { type ExecutionContext } from 'ava';
import { openStripe } from '../../../adapters/payments/stripe.ts';
import type { Selling } from '../../../adapters/payments/stripe-checkouts.ts';
import { PLAN_PRICES } from '../../../commands/billing/plans.ts';
import { type Order, PaymentProviderError } from '../../../http/billing/payments.ts';
import { openFakeStripe, stripeEvent, WEBHOOK_SECRET } from '../../support/fake-stripe.ts';

const ORDER = {
  ...{ user_id: 'alice', email: 'alice@example.com', customer_id: null, currency: 'usd' },
  ...{ success_url: 'http://127.0.0.1:8080/done', cancel_url: 'http://127.0.0.1:8080/cancelled' },
};
const PACKAGE: Order = {
  ...ORDER,
  item: { kind: 'package', package_id: 'credits_5000', name: '5,000 credits', credits: 5000, price_cents: 500 },
};
const PRO: Order = {
  ...ORDER,
  item: { kind: 'plan', plan: 'pro', interval: 'month', name: 'Pro', credits: 50_000, price_cents: 2900 },
};

async function opened(t: ExecutionContext, selling: Partial<Selling> = {}) {
  const fake = await openFakeStripe();
  t.teardown(fake.close);
  const open = () =>
    openStripe({
      ...{ secret_key: 'sk_test_1', webhook_secret: WEBHOOK_SECRET, api_url: fake.url, prices: PLAN_PRICES, selling },
    });
  const stripe = open();
  const read = ({ raw, headers }: ReturnType<typeof stripeEvent>) =>
    stripe.read(raw, (name) => (headers as Record<string, string>)[name] ?? '');
  const notices = async (type: string, object: object, created = 1_800_000_000) =>
    (await read(stripeEvent(type, object, created)))?.notices;
  return { fake, stripe, open, read, notices };
}
const AT = '2027-01-15T08:00:00.000Z';

test('a subscription is ended at once, and one that Stripe does not have counts as ended', async (t) => {
  const { fake, stripe } = await opened(t);
  await stripe.endSubscription('sub_1');
  t.deepEqual(fake.ended, ['sub_1']);
  await stripe.endSubscription('sub_1');
  t.deepEqual(fake.ended, ['sub_1']);
  fake.is_down = true;
  await t.throwsAsync(stripe.endSubscription('sub_2'), { instanceOf: PaymentProviderError });
});

test('a package is sold in a session that names its user and its credits', async (t) => {
  const { fake, stripe } = await opened(t);
  t.deepEqual(await stripe.checkout(PACKAGE), { session_id: 'fake_1', checkout_url: 'https://stripe.example/fake_1' });
  t.like(fake.posted[0]!.form, {
    mode: 'payment',
    'line_items[0][price_data][unit_amount]': '500',
    'metadata[user_id]': 'alice',
    'metadata[credits]': '5000',
    customer_email: 'alice@example.com',
    customer_creation: 'always',
    success_url: ORDER.success_url,
  });
  await stripe.checkout({ ...PACKAGE, customer_id: 'cus_1' });
  t.is(fake.posted[1]!.form.customer, 'cus_1');
  t.is(fake.posted[1]!.form.customer_email, undefined);
});

test('the price of a plan is made once, and found by its key', async (t) => {
  const { fake, stripe, open } = await opened(t);
  await stripe.checkout(PRO);
  await stripe.checkout(PRO);
  await open().checkout(PRO);
  const made = fake.posted.filter(({ path }) => path === '/v1/prices');
  t.is(made.length, 1);
  t.like(made[0]!.form, { lookup_key: 'url_checker_pro_month', unit_amount: '2900', 'recurring[interval]': 'month' });
  t.is(made[0]!.idempotency_key, 'url_checker_pro_month_2900_usd');
  const sessions = fake.posted.filter(({ path }) => path === '/v1/checkout/sessions');
  t.is(new Set(sessions.map(({ form }) => form['line_items[0][price]'])).size, 1);
  t.like(sessions[0]!.form, { mode: 'subscription', 'subscription_data[metadata][user_id]': 'alice' });
});

test('the portal moves to smaller plans at the end of the period only', async (t) => {
  const { fake, stripe } = await opened(t);
  const user = { user_id: 'alice', return_url: ORDER.success_url };
  t.is(await stripe.portal({ ...user, customer_id: null }), null);
  t.regex((await stripe.portal({ ...user, customer_id: 'cus_1' }))!.portal_url, /^https:\/\/stripe\.example\//);
  await stripe.portal({ ...user, customer_id: 'cus_1' });
  const made = fake.posted.filter(({ path }) => path === '/v1/billing_portal/configurations');
  t.is(made.length, 1);
  const update = 'features[subscription_update]';
  t.is(made[0]!.form[`${update}[schedule_at_period_end][conditions][0][type]`], 'decreasing_item_amount');
  t.is(made[0]!.form[`${update}[products][5][prices][0]`] === undefined, false);
});

test('an API that is away is an error of its own, and is asked again', async (t) => {
  const { fake, stripe } = await opened(t);
  fake.is_down = true;
  await t.throwsAsync(stripe.checkout(PRO), { instanceOf: PaymentProviderError });
  await t.throwsAsync(stripe.portal({ user_id: 'a', customer_id: 'c', return_url: 'http://a' }), {
    instanceOf: PaymentProviderError,
  });
  fake.is_down = false;
  t.truthy(await stripe.checkout(PRO));
  t.truthy(await stripe.portal({ user_id: 'a', customer_id: 'c', return_url: 'http://a' }));
});

test('a customer whom Stripe has deleted becomes a new customer', async (t) => {
  const { fake, stripe } = await opened(t);
  fake.unknown_customer = 'cus_gone';
  for (const order of [PACKAGE, PRO]) {
    t.truthy((await stripe.checkout({ ...order, customer_id: 'cus_gone' })).checkout_url);
    t.like(fake.posted.at(-1)!.form, { customer: undefined, customer_email: 'alice@example.com' });
  }
  const return_url = 'http://127.0.0.1:8080/done';
  t.is(await stripe.portal({ user_id: 'alice', customer_id: 'cus_gone', return_url }), null);
});

test('an event of an API version that cannot be read is asked for again', async (t) => {
  const { stripe, fake, notices } = await opened(t);
  await stripe.checkout(PRO);
  const price = { id: fake.posted.at(-1)!.form['line_items[0][price]'] };
  const invoice = {
    id: 'in_1',
    customer: 'cus_1',
    total: 2900,
    currency: 'usd',
    subscription: 'sub_1',
    lines: { data: [] },
  };
  const subscription = { id: 'sub_1', status: 'active', metadata: { user_id: 'alice' }, items: { data: [{ price }] } };
  for (const [type, object] of [
    ['invoice.paid', invoice],
    ['invoice.payment_failed', invoice],
    ['customer.subscription.updated', { ...subscription, current_period_end: 1_802_678_400 }],
  ] as const) {
    await t.throwsAsync(notices(type, object), { instanceOf: PaymentProviderError, message: /API version/ }, type);
  }
});

test('the adapter refuses an event with a wrong, old or missing signature', async (t) => {
  const { stripe } = await opened(t);
  const { raw, headers } = stripeEvent('ping', {});
  const signature = headers['stripe-signature'];
  const read = (body: Buffer, given: string) => stripe.read(body, () => given);
  t.truthy(await read(raw, signature));
  for (const wrong of ['', 'x', signature.replace('v1=', 'v1=0'), signature.replace(/^t=\d+/, 't=1'), 'v1=']) {
    t.is(await read(raw, wrong), null, wrong);
  }
  t.is(await read(Buffer.concat([raw, Buffer.from(' ')]), signature), null);
  t.is(await read(Buffer.from('no json'), signature), null);
});

test('a paid session is a purchase, and the adapter ignores sessions of other services of the account', async (t) => {
  const { notices } = await opened(t);
  const session = {
    ...{ id: 'cs_1', mode: 'payment', payment_status: 'paid', payment_intent: 'pi_1', customer: 'cus_1' },
    ...{ amount_total: 500, currency: 'usd' },
    metadata: { user_id: 'alice', package_id: 'credits_5000', credits: '5000' },
  };
  const purchase = {
    ...{ type: 'purchase_paid', at: AT, payment_id: 'pi_1', user_id: 'alice', customer_id: 'cus_1' },
    ...{ package_id: 'credits_5000', credits: 5000, amount_cents: 500, currency: 'usd' },
  };
  const completed = 'checkout.session.completed';
  t.deepEqual(await notices(completed, session), [purchase] as never);
  t.deepEqual(await notices('checkout.session.async_payment_succeeded', session), [purchase] as never);
  t.deepEqual(await notices(completed, { ...session, payment_status: 'unpaid' }), []);
  t.deepEqual(await notices(completed, { ...session, mode: 'subscription' }), []);
  t.deepEqual(await notices(completed, { ...session, metadata: {} }), []);
  const spoilt = { ...session, metadata: { ...session.metadata, credits: '1e9' } };
  t.deepEqual(await notices(completed, spoilt), [{ ...purchase, credits: 0 }] as never, 'the money came');
});

test('invoices and subscriptions name the plan of their price', async (t) => {
  const { fake, stripe, notices } = await opened(t);
  await stripe.checkout(PRO);
  const price = fake.posted.at(-1)!.form['line_items[0][price]']!;
  const [start, end] = [1_800_000_000, 1_802_678_400];
  const parent = { subscription_details: { subscription: 'sub_1', metadata: { user_id: 'alice' } } };
  const line = {
    ...{ amount: 2900, period: { start, end }, pricing: { price_details: { price } } },
    parent: { subscription_item_details: { proration: false } },
  };
  const invoice = {
    ...{ id: 'in_1', customer: 'cus_1', total: 2900, currency: 'usd', parent },
    lines: { has_more: false, data: [line, { ...line, pricing: null }] },
  };
  const period = { period_start: AT, period_end: '2027-02-15T08:00:00.000Z' };
  t.deepEqual(await notices('invoice.paid', invoice), [
    {
      ...{ type: 'period_paid', at: AT, user_id: 'alice', subscription_id: 'sub_1', payment_id: 'in_1' },
      ...{ customer_id: 'cus_1', amount_cents: 2900, currency: 'usd' },
      lines: [{ plan: 'pro', interval: 'month', ...period, is_proration: false, amount_cents: 2900 }],
    },
  ] as never);
  t.deepEqual(await notices('invoice.payment_failed', invoice), [
    { type: 'period_failed', at: AT, payment_id: 'in_1', user_id: 'alice', subscription_id: 'sub_1' },
  ] as never);
  t.deepEqual(await notices('invoice.paid', { ...invoice, parent: null }), []);
  const subscription = {
    ...{ id: 'sub_1', customer: 'cus_1', status: 'active', cancel_at: null, cancel_at_period_end: true },
    metadata: { user_id: 'alice' },
    items: { data: [{ price: { id: price }, current_period_start: start, current_period_end: end }] },
  };
  const changed = { subscription_id: 'sub_1', customer_id: 'cus_1', plan: 'pro', interval: 'month', status: 'active' };
  t.deepEqual(await notices('customer.subscription.updated', subscription), [
    {
      ...{ type: 'subscription_changed', at: AT, user_id: 'alice' },
      subscription: { ...changed, ...period, cancel_at: period.period_end },
    },
  ] as never);
  t.deepEqual(await notices('customer.subscription.updated', { ...subscription, metadata: {} }), []);
});

test('an invoice says how it was settled: by money, by the balance, or not yet', async (t) => {
  const { notices } = await opened(t);
  const parent = { subscription_details: { subscription: 'sub_1', metadata: { user_id: 'alice' } } };
  const invoice = { id: 'in_1', customer: 'cus_1', currency: 'usd', parent, lines: { has_more: false, data: [] } };
  const settled = async (figures: object) => {
    const [notice] = (await notices('invoice.paid', { ...invoice, ...figures }))!;
    const { amount_cents, settled: of } = notice as { amount_cents: number; settled?: object };
    return [amount_cents, of];
  };
  const paid = { total: 2900, amount_due: 2900, amount_paid: 2900, amount_remaining: 0 };
  t.deepEqual(await settled(paid), [2900, undefined]);
  const by_balance = { ...paid, amount_due: 1900, amount_paid: 1900, starting_balance: -1000, ending_balance: 0 };
  t.deepEqual(await settled(by_balance), [2900, { paid_cents: 1900, credited_cents: 1000, outstanding_cents: 0 }]);
  // Less than can be charged goes on the balance, and is collected with the next invoice.
  const small = {
    total: 30,
    amount_due: 0,
    amount_paid: 0,
    amount_remaining: 0,
    starting_balance: 0,
    ending_balance: 30,
  };
  t.deepEqual(await settled(small), [30, { paid_cents: 0, credited_cents: 0, outstanding_cents: 30 }]);
  const next = { ...paid, amount_due: 2930, amount_paid: 2930, starting_balance: 30, ending_balance: 0 };
  t.deepEqual(await settled(next), [2900, { paid_cents: 2930, credited_cents: 0, outstanding_cents: -30 }]);
  t.deepEqual(await settled({ ...paid, total: -500, amount_due: 0, amount_paid: 0 }), [0, undefined]);
});

test('a line has its own price and quantity, and a change has the period that Stripe states', async (t) => {
  const { fake, stripe, notices } = await opened(t);
  await stripe.checkout(PRO);
  const price = fake.posted.at(-1)!.form['line_items[0][price]']!;
  const [start, changed, end] = [1_800_000_000, 1_801_000_000, 1_802_678_400];
  const parent = { subscription_details: { subscription: 'sub_1', metadata: { user_id: 'alice' } } };
  const line = {
    ...{ amount: 5400, quantity: 3, period: { start: changed, end }, pricing: { price_details: { price } } },
    parent: { subscription_item_details: { proration: true } },
  };
  const invoice = { id: 'in_1', customer: 'cus_1', total: 5400, currency: 'usd', parent };
  const lineOf = async () => {
    const [notice] = (await notices('invoice.paid', { ...invoice, lines: { has_more: false, data: [line] } }))!;
    return (notice as { lines: object[] }).lines[0];
  };
  t.like(await lineOf(), { quantity: 3, whole_period: undefined });
  const item = { current_period_start: start, current_period_end: end };
  fake.subscriptions.set('sub_1', { id: 'sub_1', items: { data: [item] } });
  t.like(await lineOf(), { whole_period: { start: AT, end: '2027-02-15T08:00:00.000Z' } });
  // The next period has begun by now.
  const next = { current_period_start: end, current_period_end: end + 28 * 86_400 };
  fake.subscriptions.set('sub_1', { id: 'sub_1', items: { data: [next] } });
  t.like(await lineOf(), { whole_period: undefined });
});

test('refunds and disputes name the invoice or the payment that they take back', async (t) => {
  const { fake, notices } = await opened(t);
  fake.invoices.set('pi_2', 'in_2');
  const refund = { id: 're_1', amount: 100, currency: 'usd', payment_intent: 'pi_1', status: 'succeeded' };
  const reversal = (kind: string, reversal_id: string) => ({ reversal_id, kind, amount_cents: 100, currency: 'usd' });
  t.deepEqual(await notices('refund.created', refund), [
    { type: 'reversed', at: AT, payment_id: 'pi_1', reversal: reversal('refund', 're_1') },
  ] as never);
  t.deepEqual(await notices('refund.failed', { ...refund, status: 'failed' }), [
    { type: 'lifted', at: AT, payment_id: 'pi_1', reversal_id: 're_1' },
  ] as never);
  const dispute = { ...refund, id: 'du_1', payment_intent: 'pi_2', status: 'needs_response' };
  t.deepEqual(await notices('charge.dispute.created', dispute), [
    { type: 'reversed', at: AT, payment_id: 'in_2', reversal: reversal('dispute', 'du_1') },
  ] as never);
  t.deepEqual(await notices('charge.dispute.closed', { ...dispute, status: 'won' }), [
    { type: 'lifted', at: AT, payment_id: 'in_2', reversal_id: 'du_1' },
  ] as never);
  t.deepEqual(await notices('charge.dispute.created', { ...dispute, status: 'warning_needs_response' }), []);
});

test('taxes, invoices and promotion codes are asked for where they are wanted, and nowhere else', async (t) => {
  const ours = /tax|promotion|invoice_creation|customer_update/;
  const asked = async (order: Order, selling: Partial<Selling>) => {
    const { fake, stripe } = await opened(t, selling);
    await stripe.checkout(order);
    const form = fake.posted.flatMap(({ form }) => Object.entries(form));
    return Object.fromEntries(form.filter(([name]) => ours.test(name)));
  };
  t.deepEqual(await asked(PACKAGE, {}), {});
  t.deepEqual(await asked(PRO, { invoices: true }), {}, 'a plan has one anyway');
  t.like(await asked(PACKAGE, { invoices: true }), { 'invoice_creation[enabled]': 'true' });
  t.deepEqual(await asked(PRO, { promotion_codes: true }), { allow_promotion_codes: 'true' });
  const tax = { 'automatic_tax[enabled]': 'true', 'tax_id_collection[enabled]': 'true' };
  t.deepEqual(await asked(PRO, { automatic_tax: true }), { ...tax, tax_behavior: 'exclusive' });
  t.like(await asked({ ...PACKAGE, customer_id: 'cus_1' }, { automatic_tax: true }), {
    ...{ ...tax, 'line_items[0][price_data][tax_behavior]': 'exclusive' },
    ...{ 'customer_update[address]': 'auto', 'customer_update[name]': 'auto' },
  });
});

test('the refund of a package with an invoice is of its payment', async (t) => {
  const { fake, notices } = await opened(t, { invoices: true });
  fake.invoices.set('pi_package', 'in_package_1').set('pi_plan', 'in_1');
  const refund = (payment_intent: string) => ({
    ...{ id: 're_1', status: 'succeeded', amount: 500, currency: 'usd', payment_intent },
  });
  const payments = async (intent: string) =>
    (await notices('refund.created', refund(intent)))!.map((each) => 'payment_id' in each && each.payment_id);
  t.deepEqual(await payments('pi_package'), ['pi_package']);
  t.deepEqual(await payments('pi_plan'), ['in_1']);
});

test('prices that the operator keeps at Stripe bring their other currencies', async (t) => {
  const { fake, stripe, notices } = await opened(t);
  const keep = async (lookup_key: string, unit_amount: number, more: Record<string, string>) => {
    const body = new URLSearchParams({ lookup_key, unit_amount: String(unit_amount), currency: 'usd', ...more });
    return ((await (await fetch(`${fake.url}/v1/prices`, { method: 'POST', body })).json()) as { id: string }).id;
  };
  const euros = (cents: number) => ({ 'currency_options[eur][unit_amount]': String(cents) });
  const package_price = await keep('url_checker_credits_5000', 500, euros(450));
  await stripe.checkout(PACKAGE);
  t.is(fake.posted.at(-1)!.form['line_items[0][price]'], package_price);
  await keep('url_checker_credits_25000', 1, euros(1));
  const dearer = { ...PACKAGE.item, package_id: 'credits_25000', price_cents: 2000 } as Order['item'];
  await stripe.checkout({ ...PACKAGE, item: dearer });
  t.is(fake.posted.at(-1)!.form['line_items[0][price_data][unit_amount]'], '2000', 'not that of the catalogue');

  const plan = { 'metadata[plan]': 'pro', 'metadata[interval]': 'month', ...euros(2700) };
  const price = await keep('url_checker_pro_month', 2900, plan);
  await stripe.checkout(PRO);
  t.is(fake.posted.at(-1)!.form['line_items[0][price]'], price);
  const invoice = {
    ...{ id: 'in_1', customer: 'cus_1', total: 2700, currency: 'eur' },
    parent: { subscription_details: { subscription: 'sub_1', metadata: { user_id: 'alice' } } },
    lines: {
      data: [
        {
          ...{ amount: 2700, currency: 'eur', period: { start: 1_800_000_000, end: 1_802_678_400 } },
          pricing: { price_details: { price } },
        },
      ],
    },
  };
  const [paid] = (await notices('invoice.paid', invoice))!;
  t.like(paid, { type: 'period_paid', amount_cents: 2700, currency: 'eur' });
  t.like((paid as { lines: object[] }).lines[0], {
    plan: 'pro',
    interval: 'month',
    price_cents: 2700,
    amount_cents: 2700,
  });
});
