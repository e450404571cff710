// One customer for each user, one open checkout, one plan: two tabs, two processes and what is known only later.
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

const customersOf = (user_id: string) =>
  fake.posted.filter(({ path, form }) => path === '/v1/customers' && form['metadata[user_id]'] === user_id);
const sessionsOf = (user_id: string) =>
  fake.posted.filter(({ path, form }) => path === '/v1/checkout/sessions' && form.client_reference_id === user_id);
const portalOf = async (client: TestClient) => {
  await client.ask('POST', '/portal/create');
  return fake.posted.filter(({ path }) => path === '/v1/billing_portal/sessions').at(-1)!.form.customer;
};
const order = (client: TestClient, plan: string) => client.ask('POST', '/checkout/create', { plan });

async function post(type: string, object: object, created?: number): Promise<number> {
  const { raw, headers } = stripeEvent(type, object, created);
  return (await fetch(`${service.url}/webhooks/payment`, { method: 'POST', body: raw, headers })).status;
}
const now_s = Math.floor(Date.now() / 1000);
const subscription = (id: string, user_id: string, customer: string, price: string, status = 'active') => ({
  ...{ id, customer, status, cancel_at: null, cancel_at_period_end: false, metadata: { user_id } },
  items: {
    data: [{ price: { id: price }, current_period_start: now_s - 10, current_period_end: now_s + 30 * 86_400 }],
  },
});
const priceOf = (user_id: string) => sessionsOf(user_id).at(-1)!.form['line_items[0][price]']!;

test('ten tabs at once get one customer and one checkout', async (t) => {
  const alice = await service.client('alice');
  const opened = await Promise.all(Array.from({ length: 10 }, () => order(alice, 'pro')));
  t.deepEqual([...new Set(opened.map(({ status }) => status))], [200]);
  t.is(new Set(opened.map(({ body }) => body.session_id)).size, 1);
  t.is(customersOf('alice').length, 1);
  t.is(sessionsOf('alice').length, 1);
  // A pack in another tab is of the same customer.
  await alice.ask('POST', '/credits/purchase', { package_id: 'credits_5000' });
  t.is(new Set(sessionsOf('alice').map(({ form }) => form.customer)).size, 1);
  t.is(customersOf('alice').length, 1);
});

test('a checkout of another plan closes the open one, and a paid one is not opened again', async (t) => {
  const bob = await service.client('bob');
  const first = (await order(bob, 'pro')).body.session_id;
  const second = (await order(bob, 'agency')).body.session_id;
  t.not(first, second);
  t.is(fake.checkouts.get(first)!.status, 'expired');
  t.is((await order(bob, 'agency')).body.session_id, second);
  fake.checkouts.get(second)!.status = 'complete';
  await post('customer.subscription.created', subscription('sub_bob', 'bob', 'cus_1', priceOf('bob')), now_s);
  t.is((await order(bob, 'pro')).body.code, 'already_subscribed');
  const packs = ['credits_5000', 'credits_25000'].map((package_id) => ({ package_id }));
  for (const pack of packs) t.is((await bob.ask('POST', '/credits/purchase', pack)).status, 200);
  t.is((await bob.ask('POST', '/credits/purchase', packs[1]!)).status, 200);
  t.is(sessionsOf('bob').length, 4);
});

test('a customer that the provider has deleted is followed by one other', async (t) => {
  const carol = await service.client('carol');
  const { session_id } = (await order(carol, 'pro')).body;
  const former = sessionsOf('carol')[0]!.form.customer!;
  fake.unknown_customer = former;
  fake.checkouts.get(session_id)!.status = 'expired';
  try {
    await Promise.all([order(carol, 'pro'), order(carol, 'pro')]);
    const next = sessionsOf('carol').at(-1)!.form.customer!;
    t.not(next, former);
    t.is(customersOf('carol').length, 2);
  } finally {
    fake.unknown_customer = null;
  }
});

test('the portal is that of the living plan, and the next one when that has ended', async (t) => {
  const dave = await service.client('dave');
  await order(dave, 'pro');
  const price = priceOf('dave');
  for (const n of [1, 2]) {
    await post('customer.subscription.created', subscription(`sub_d${n}`, 'dave', `cus_d${n}`, price), now_s + n);
  }
  await until(async () => (await dave.ask('GET', '/users/me')).body.other_subscriptions.length === 1);
  const shown = await portalOf(dave);
  const [ended, other] = shown === 'cus_d1' ? ['1', '2'] : ['2', '1'];
  const gone = subscription(`sub_d${ended}`, 'dave', `cus_d${ended}`, price, 'canceled');
  await post('customer.subscription.deleted', gone, now_s + 5);
  t.is(await portalOf(dave), `cus_d${other}`);
  t.is((await order(dave, 'agency')).body.code, 'already_subscribed');
});

test('a second plan is shown to its user and to administrators, who can end it', async (t) => {
  const [erin, root] = [await service.client('erin'), await service.client('root', { is_admin: true })];
  await order(erin, 'pro');
  const price = priceOf('erin');
  for (const n of [1, 2, 3]) {
    await post('customer.subscription.created', subscription(`sub_e${n}`, 'erin', 'cus_e', price), now_s + n);
  }
  const others = async (client: TestClient, path: string) => (await client.ask('GET', path)).body.other_subscriptions;
  await until(async () => (await others(erin, '/users/me')).length === 2);
  const [one, two] = await others(root, '/admin/users/erin');
  t.like(one, { plan: 'pro', status: 'active' });
  const ended = await erin.ask('POST', `/subscriptions/${one.subscription_id}/end`);
  t.is(ended.status, 200);
  t.true(fake.ended.includes(one.subscription_id));
  await until(async () => (await others(erin, '/users/me')).length === 1);
  const by_admin = await root.ask('POST', `/admin/users/erin/subscriptions/${two.subscription_id}/end`);
  t.is(by_admin.status, 200);
  await until(async () => (await others(erin, '/users/me')).length === 0);
  // The last one is ended in the portal, at the end of what is paid.
  const last = ['sub_e1', 'sub_e2', 'sub_e3'].find((id) => ![one, two].some((each) => each.subscription_id === id));
  t.is((await erin.ask('POST', `/subscriptions/${last}/end`)).body.code, 'last_subscription');
  t.is((await erin.ask('POST', '/subscriptions/sub_of_another/end')).status, 404);
  t.is((await erin.ask('GET', '/users/me')).body.plan, 'pro');
});

test('a plan of the sandbox, which moved no money, does not keep a user from a plan', async (t) => {
  const frank = await service.client('frank');
  await order(frank, 'pro');
  const of_sandbox = subscription('sandbox_1', 'frank', 'cus_f', priceOf('frank'));
  await post('customer.subscription.created', of_sandbox, now_s);
  await until(async () => (await frank.ask('GET', '/users/me')).body.plan === 'pro');
  t.is((await order(frank, 'agency')).status, 200);
});
