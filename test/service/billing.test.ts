// Buying credits and plans at the sandbox, from outside.
import test from 'ava';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
test.before(async () => {
  service = await startTestService({ PAYMENT_RETURN_ORIGINS: 'https://app.example.com' });
});
test.after.always(() => service?.stop());

/** A button of the sandbox's page, as a browser sends it. */
async function press(checkout_url: string, button: 'pay' | 'decline') {
  const response = await fetch(`${checkout_url}/${button}`, { method: 'POST' });
  const leads_to = /content="0;url=([^"]+)"/.exec(await response.text())?.[1];
  return { status: response.status, leads_to };
}

test('a package that is paid at the sandbox brings its credits, once', async (t) => {
  const alice = await service.client('alice');
  const before = (await alice.ask('GET', '/users/me/credits')).body.credit_balance;
  const { body } = await alice.ask('POST', '/credits/purchase', { package_id: 'credits_5000' });
  const shown = await fetch(body.checkout_url);
  t.is(shown.status, 200);
  const html = await shown.text();
  t.regex(html, /SANDBOX/);
  t.regex(html, /5,000 credits/);
  t.regex(html, /5\.00 USD/);
  t.false(/<script/i.test(html));
  t.is((await alice.ask('GET', '/users/me/credits')).body.credit_balance, before, 'the page alone grants nothing');

  const paid = await Promise.all([1, 2, 3].map(() => press(body.checkout_url, 'pay')));
  t.true(paid.some(({ status }) => status === 200));
  t.true(paid.every(({ status }) => status === 200 || status === 409));
  t.is((await press(body.checkout_url, 'decline')).status, 409);
  t.is((await alice.ask('GET', '/users/me/credits')).body.credit_balance, before + 5_000);
  const { items } = (await alice.ask('GET', '/users/me/credit-transactions')).body;
  t.like(items[0], { transaction_type: 'purchase', amount: 5_000 });
  t.regex(await (await fetch(body.checkout_url)).text(), /is paid/);
});

test('a declined checkout brings nothing and cannot be paid', async (t) => {
  const bob = await service.client('bob');
  const before = (await bob.ask('GET', '/users/me/credits')).body;
  const { body } = await bob.ask('POST', '/credits/purchase', { package_id: 'credits_5000', cancel_url: '/docs?a=1' });
  const declined = await press(body.checkout_url, 'decline');
  t.is(declined.status, 200);
  t.is(declined.leads_to, `${service.url}/docs?a=1`);
  t.is((await press(body.checkout_url, 'pay')).status, 409);
  t.deepEqual((await bob.ask('GET', '/users/me/credits')).body, before);
});

test('a plan that is paid begins with its credits, and a second one is refused', async (t) => {
  const carol = await service.client('carol');
  const before = (await carol.ask('GET', '/users/me/credits')).body.credit_balance;
  const { body } = await carol.ask('POST', '/checkout/create', { plan: 'pro', interval: 'year' });
  t.is((await press(body.checkout_url, 'pay')).status, 200);
  t.is((await carol.ask('GET', '/users/me/credits')).body.credit_balance, before + 600_000);
  for (const path of ['/checkout/create', '/v2/subscription/checkout']) {
    const again = await carol.ask('POST', path, { plan: 'starter' });
    t.is(again.status, 409);
    t.is(again.body.code, 'already_subscribed');
  }
  const key = await service.keyHolder('carol');
  t.is((await key.ask('GET', '/api/v2/usage')).body.plan, 'pro');
});

test('a checkout leads back only to pages that are allowed', async (t) => {
  const dave = await service.client('dave');
  const order = (success_url: string) =>
    dave.ask('POST', '/credits/purchase', { package_id: 'credits_5000', success_url });
  for (const url of [
    'https://evil.example/',
    '//evil.example/',
    '/\\evil.example/',
    'javascript:alert(1)',
    'data:text/html,x',
    `${service.url}.evil.example/`,
    `${service.url.replace('//', '//alice:secret@')}/`,
    'https://app.example.com.evil.example/',
    'http://app.example.com/',
    `blob:${service.url}/0a1b`,
    `/${'é'.repeat(400)}`,
  ]) {
    const { status, body } = await order(url);
    t.is(status, 422, url);
    t.deepEqual(body.detail[0].loc, ['body', 'success_url']);
  }
  for (const [url, leads_to] of [
    ['/docs', `${service.url}/docs`],
    [`${service.url}/a?b=c`, `${service.url}/a?b=c`],
    ['https://app.example.com/billing', 'https://app.example.com/billing'],
  ] as const) {
    const { body } = await order(url);
    t.is((await press(body.checkout_url, 'pay')).leads_to, leads_to);
  }
});

test('a session id that somebody changed opens no page of the sandbox', async (t) => {
  const erin = await service.client('erin');
  const { body } = await erin.ask('POST', '/credits/purchase', { package_id: 'credits_5000' });
  const [text, signature] = body.session_id.split('.');
  const order = JSON.parse(Buffer.from(text, 'base64url').toString());
  const changed = Buffer.from(JSON.stringify({ ...order, item: { ...order.item, credits: 1e9 } })).toString(
    'base64url',
  );
  const portal = (await erin.ask('POST', '/portal/create')).body.portal_url.split('/').at(-1);
  for (const session_id of [`${changed}.${signature}`, text, `${text}.`, `${text}.${signature}.x`, portal]) {
    for (const ending of ['', '/pay', '/decline']) {
      const init = ending === '' ? {} : { method: 'POST' };
      const { status } = await fetch(`${service.url}/sandbox/checkout/${session_id}${ending}`, init);
      t.is(status, 404, session_id);
    }
  }
});

test('an event without a right signature changes nothing', async (t) => {
  const body = JSON.stringify({ id: 'x', notices: [] });
  const now_s = Math.floor(Date.now() / 1000);
  for (const signature of ['', 'x', `t=${now_s},v1=${'0'.repeat(64)}`, `t=1,v1=${'0'.repeat(64)}`]) {
    const headers = { 'sandbox-signature': signature, 'stripe-signature': signature };
    const { status } = await fetch(`${service.url}/webhooks/payment`, { method: 'POST', body, headers });
    t.is(status, 401);
  }
});

test('in the portal a plan is renewed, fails and is cancelled, and a payment goes back', async (t) => {
  const frank = await service.client('frank');
  const credits = async () => (await frank.ask('GET', '/users/me/credits')).body.credit_balance;
  const bought = await frank.ask('POST', '/checkout/create', { plan: 'starter' });
  await press(bought.body.checkout_url, 'pay');
  const before = await credits();
  const { portal_url } = (await frank.ask('POST', '/portal/create', { return_url: '/docs' })).body;
  const act = async (action: string) => (await fetch(`${portal_url}/${action}`, { method: 'POST' })).status;
  const page = async () => await (await fetch(portal_url)).text();
  t.regex(await page(), /SANDBOX[\s\S]*starter, by the month: active[\s\S]*15,000 credits/);
  t.is(await act('renew'), 200);
  t.is(await credits(), before + 15_000);
  const payment = /refund\?payment_id=(sandbox_[\w-]+)/.exec(await page())![1];
  t.is(await act(`refund?payment_id=${payment}`), 200);
  t.is(await act(`refund?payment_id=${payment}`), 409, 'once');
  t.is(await credits(), before);
  t.is(await act(`win?payment_id=${payment}`), 200);
  t.is(await credits(), before + 15_000);
  t.is(await act('fail'), 200);
  t.regex(await page(), /past_due/);
  t.is(await act('renew'), 200);
  t.regex(await page(), /: active/, 'the plan goes on after a failure');
  t.is(await act('cancel'), 200);
  t.is(await act('refund?payment_id=another'), 409);
  t.is((await fetch(`${portal_url}x`)).status, 404);
});

test('a button of the portal that is pressed many times at once pays a period once, and takes a payment back once', async (t) => {
  const gwen = await service.client('gwen');
  const bought = await gwen.ask('POST', '/checkout/create', { plan: 'starter' });
  await press(bought.body.checkout_url, 'pay');
  const { portal_url } = (await gwen.ask('POST', '/portal/create')).body;
  const pressed = (action: string) =>
    Promise.all(Array.from({ length: 8 }, () => fetch(`${portal_url}/${action}`, { method: 'POST' })));
  await pressed('renew');
  const { items } = (await gwen.ask('GET', '/users/me/payments')).body;
  const periods = items.map((payment: { period_start: string }) => payment.period_start);
  t.is(new Set(periods).size, periods.length);
  await pressed(`refund?payment_id=${items[0].payment_id}`);
  const [refunded] = (await gwen.ask('GET', '/users/me/payments')).body.items;
  t.is(refunded.returned_cents, refunded.amount_cents);
});

test('of two subscriptions the portal changes the one that it shows', async (t) => {
  for (const user_id of ['grace', 'heidi', 'ivan', 'judy']) {
    const user = await service.client(user_id);
    const orders = ['agency', 'starter'].map((plan) => user.ask('POST', '/checkout/create', { plan }));
    for (const { body } of await Promise.all(orders)) t.is((await press(body.checkout_url, 'pay')).status, 200);
    const { portal_url } = (await user.ask('POST', '/portal/create')).body;
    t.is((await fetch(`${portal_url}/cancel`, { method: 'POST' })).status, 200);
    t.regex(await (await fetch(portal_url)).text(), /agency, by the month: active[^<]*; ends/);
  }
});
