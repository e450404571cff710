// Payments by Stripe, from outside: a service beside a fake of Stripe's API, and the events that it would send.
import test from 'ava';
import { until } from '../support/behind.ts';
import { type FakeStripe, stripeEvent } from '../support/fake-stripe.ts';
import type { TestClient, TestService } from '../support/service.ts';
import { startStripeService } from '../support/stripe-service.ts';

let service: TestService;
let fake: FakeStripe;
let stop: () => Promise<void>;
test.before(async () => {
  ({ service, fake, stop } = await startStripeService());
});
test.after.always(() => stop?.());

async function post(type: string, object: object, created?: number): Promise<number> {
  const { raw, headers } = stripeEvent(type, object, created);
  return (await fetch(`${service.url}/webhooks/payment`, { method: 'POST', body: raw, headers })).status;
}
/** The webhook is answered before the read models have what it brought. */
const holds = (client: TestClient, credits: number) =>
  until(async () => (await client.ask('GET', '/users/me/credits')).body.credit_balance === credits);
const session = (user_id: string, payment_intent: string) => ({
  id: `cs_${payment_intent}`,
  mode: 'payment',
  payment_status: 'paid',
  payment_intent,
  customer: `cus_${user_id}`,
  ...{ amount_total: 500, currency: 'usd' },
  metadata: { user_id, package_id: 'credits_5000', credits: '5000' },
});
const refund = (id: string, payment_intent: string, amount: number, status = 'succeeded') => ({
  ...{ id, payment_intent, amount, currency: 'usd', status },
});

test('a payment by Stripe brings its credits once, however often it is reported', async (t) => {
  const alice = await service.client('alice');
  const { status, body } = await alice.ask('POST', '/credits/purchase', { package_id: 'credits_5000' });
  t.is(status, 200);
  t.regex(body.checkout_url, /^https:\/\/stripe\.example\//);
  const paid = session('alice', 'pi_alice');
  const statuses = await Promise.all([1, 2, 3, 4].map(() => post('checkout.session.completed', paid)));
  t.deepEqual(statuses, [200, 200, 200, 200]);
  await holds(alice, 5000);
  const { items } = (await alice.ask('GET', '/users/me/credit-transactions')).body;
  t.is(items.length, 1);
  // The customer is known from the payment.
  await until(async () => (await alice.ask('POST', '/portal/create')).status === 200);
  t.true(fake.posted.some(({ path, form }) => path.includes('portal') && form.customer === 'cus_alice'));
});

test('a refund that comes before its payment is taken back with it', async (t) => {
  const bob = await service.client('bob');
  t.is((await bob.ask('POST', '/portal/create')).body.code, 'no_customer');
  t.is(await post('refund.created', refund('re_1', 'pi_bob', 200)), 200);
  t.is(await post('checkout.session.completed', session('bob', 'pi_bob')), 200);
  await holds(bob, 3000);
  t.is(await post('refund.failed', refund('re_1', 'pi_bob', 200, 'failed')), 200);
  await holds(bob, 5000);
});

test('a subscription is what its newest event says, whichever comes last', async (t) => {
  const carol = await service.client('carol');
  await carol.ask('POST', '/checkout/create', { plan: 'pro' });
  const ordered = fake.posted.find(({ form }) => form['subscription_data[metadata][user_id]'] === 'carol');
  const price = ordered!.form['line_items[0][price]']!;
  const now_s = Math.floor(Date.now() / 1000);
  const [start, end] = [now_s - 10, now_s + 30 * 86_400];
  const subscription = (status: string) => ({
    ...{ id: 'sub_1', customer: 'cus_carol', status, cancel_at: null, cancel_at_period_end: false },
    metadata: { user_id: 'carol' },
    items: { data: [{ price: { id: price }, current_period_start: start, current_period_end: end }] },
  });
  const invoice = {
    ...{ id: 'in_1', customer: 'cus_carol', total: 2900, currency: 'usd' },
    parent: { subscription_details: { subscription: 'sub_1', metadata: { user_id: 'carol' } } },
    lines: { has_more: false, data: [{ amount: 2900, period: { start, end }, pricing: { price_details: { price } } }] },
  };
  const key = await service.keyHolder('carol');
  const plan = async () => (await key.ask('GET', '/api/v2/usage')).body.plan;
  await post('invoice.paid', invoice, now_s);
  await post('customer.subscription.updated', subscription('active'), now_s - 5);
  await post('customer.subscription.created', subscription('incomplete'), now_s - 9);
  await until(async () => (await plan()) === 'pro');
  await holds(carol, 50_000);
  t.is((await carol.ask('POST', '/v2/subscription/checkout', { plan: 'agency' })).body.code, 'already_subscribed');
  await post('customer.subscription.deleted', subscription('canceled'), now_s - 1);
  await post('customer.subscription.updated', subscription('active'), now_s);
  await until(async () => (await plan()) === 'free');
});

test.serial('while Stripe is away, checkouts and events that need it are refused for a while', async (t) => {
  const dave = await service.client('dave');
  fake.is_down = true;
  try {
    const { status, headers } = await dave.ask('POST', '/credits/purchase', { package_id: 'credits_5000' });
    t.is(status, 503);
    t.truthy(headers.get('retry-after'));
    t.is(await post('refund.created', refund('re_2', 'pi_dave', 500)), 503);
  } finally {
    fake.is_down = false;
  }
  await post('checkout.session.completed', session('dave', 'pi_dave'));
  t.is(await post('refund.created', refund('re_2', 'pi_dave', 500)), 200);
  await holds(dave, 0);
});

test('the free plan and the trial are what the operator gives', async (t) => {
  const { items } = (await (await fetch(`${service.url}/v2/subscription/plans`)).json()) as { items: object[] };
  t.like(items[0], { plan: 'free', credits_per_month: 0 });
  const user = await service.client('without-gifts');
  const quota = (await user.ask('GET', '/users/me/quota')).body;
  t.like(quota, { plan: 'free', limits: { plan_credits: 0 }, trial: { is_active: false, is_available: false } });
});

test('what needs a person is listed for administrators, counted, and resolved by them', async (t) => {
  const root = await service.client('root', { is_admin: true });
  const { raw, headers } = stripeEvent('invoice.paid', { id: 'in_x' }, undefined, { livemode: true });
  const post_event = () => fetch(`${service.url}/webhooks/payment`, { method: 'POST', body: raw, headers });
  t.is((await post_event()).status, 200, 'an event of the live mode to a test key');
  const open = async () => (await root.ask('GET', '/admin/payment-issues?status=open')).body;
  await until(async () => (await open()).total === 1);
  const [issue] = (await open()).items;
  t.like(issue, { reason: 'other_mode', status: 'open', user_id: null });
  const path = `/admin/payment-issues/${issue.issue_id}/resolve`;
  t.is((await root.ask('POST', path, { note: 'sent to the other endpoint' })).status, 204);
  t.is((await post_event()).status, 200);
  t.is((await open()).total, 0);
  t.is((await root.ask('POST', `/admin/payment-issues/${'0'.repeat(32)}/resolve`, { note: '' })).status, 404);
});

test('a user lists payments, with what went back, and finds the document of each', async (t) => {
  const pat = await service.client('pat');
  fake.invoices.set('pi_pat_2', 'in_package_pat');
  const paid_at = Math.floor(Date.now() / 1000) - 60;
  await post('refund.created', refund('re_pat', 'pi_pat_1', 100));
  await post(
    'checkout.session.completed',
    { ...session('pat', 'pi_pat_1'), total_details: { amount_tax: 80 } },
    paid_at,
  );
  await post('checkout.session.completed', session('pat', 'pi_pat_2'));
  const list = async () => (await pat.ask('GET', '/users/me/payments')).body;
  await until(async () => (await list()).total === 2);
  const { items } = await list();
  t.like(items, [
    { payment_id: 'pi_pat_2', amount_cents: 500, tax_cents: 0, returned_cents: 0, has_document: true, plan: null },
    { payment_id: 'pi_pat_1', amount_cents: 500, tax_cents: 80, returned_cents: 100, package_id: 'credits_5000' },
  ]);
  await post('refund.failed', refund('re_pat', 'pi_pat_1', 100, 'failed'), Math.floor(Date.now() / 1000) + 1);
  await until(async () => (await list()).items[1].returned_cents === 0);
  const of = async (client: TestClient, payment_id: string) =>
    await client.ask('GET', `/users/me/payments/${payment_id}/document`);
  t.deepEqual((await of(pat, 'pi_pat_2')).body, {
    ...{ number: 'A1-1', url: 'https://stripe.example/in_package_pat' },
    pdf_url: 'https://stripe.example/in_package_pat/pdf',
  });
  t.like((await of(pat, 'pi_pat_1')).body, { number: '1234-5678', url: 'https://stripe.example/receipt/pi_pat_1' });
  const other = await service.client('other');
  t.is((await other.ask('GET', '/users/me/payments')).body.total, 0);
  t.is((await of(other, 'pi_pat_1')).body.code, 'document_not_found');
});
