// Accounts of a service with an identity provider: sign-in, the first fingerprint, the provider's webhook, and the events of
// agencies and the console.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { until } from '../support/behind.ts';
import { AUDIENCE, startProvider, type TestProvider } from '../support/identity-provider.ts';
import { type Answer, answerOf, openTestClient, startTestService, type TestService } from '../support/service.ts';

const WEBHOOK_SECRET = `whsec_${Buffer.alloc(24, 'k').toString('base64')}`;
const AGENCY_SECRET = 'a-secret-of-agencies';

let provider: TestProvider;
let service: TestService;
test.before(async () => {
  provider = await startProvider();
  service = await startTestService({
    ...{ IDENTITY_JWKS_URL: provider.jwks_url, IDENTITY_ISSUER: provider.issuer, IDENTITY_AUDIENCE: AUDIENCE },
    ...{ IDENTITY_ADMIN_CLAIM: 'groups', IDENTITY_ADMIN_VALUE: 'operators' },
    ...{ IDENTITY_WEBHOOK_SECRET: WEBHOOK_SECRET, AGENCY_SECRET, TRUSTED_PROXIES: '127.0.0.1' },
    ...{ PAYMENT_SANDBOX: 'on', TRIAL_CREDITS: '777' },
  });
});
test.after.always(async () => {
  await service?.stop();
  await provider?.stop();
});

const signIn = async (user_id: string, claims = {}) =>
  openTestClient(service.url, await provider.signIn(user_id, claims));
const from = (ip: string) => ({ 'x-real-client-ip': ip });
const balanceOf = (answer: Answer) => answer.body.credit_balance;

test('the credits of a new account come with its first fingerprint, once', async (t) => {
  const alice = await signIn('alice');
  t.like((await alice.ask('GET', '/users/me')).body, {
    ...{ user_id: 'alice', email: 'alice@example.com', plan: 'free', subscription: null, signup_bonus: 'pending' },
    ...{ credit_balance: 0, jobs_created: 0, last_job_at: null },
    flags: { is_admin: false, is_trial: false, has_fingerprint: false, has_custom_limit: false },
  });
  const machine = { os: 'Linux', device_type: null, screen_size: '1920x1080' };
  const calls = await Promise.all(
    Array.from({ length: 20 }, () => alice.ask('POST', '/users/me/fingerprint', machine, from('198.51.100.1'))),
  );
  for (const call of calls) {
    t.is(call.status, 200);
    t.deepEqual(call.body, { fingerprint: machine, signup_bonus: 'granted' });
  }
  const credits = (await alice.ask('GET', '/users/me/credits')).body;
  t.like(credits, { credit_balance: 300, available_credits: 300, lots: [{ remaining: 300, expires_at: null }] });
  const { body: me } = await alice.ask('GET', '/users/me');
  t.like(me, { signup_bonus: 'granted', flags: { has_fingerprint: true } });
});

test('an address gets three bonuses, whoever claims to forward for it', async (t) => {
  const bonuses: string[] = [];
  for (let n = 0; n < 4; n++) {
    const user = await signIn(`of-one-address-${n}`);
    // The first hop is forged: the trusted proxy appended the second.
    const headers = { 'x-forwarded-for': `203.0.113.${n}, 198.51.100.7` };
    bonuses.push((await user.ask('POST', '/users/me/fingerprint', { os: `os ${n}` }, headers)).body.signup_bonus);
  }
  t.deepEqual(bonuses, ['granted', 'granted', 'granted', 'withheld']);
  const last = await signIn('of-one-address-3');
  t.is(balanceOf(await last.ask('GET', '/users/me/credits')), 0);
  t.is((await last.ask('GET', '/users/me')).body.signup_bonus, 'withheld');
  const again = await last.ask('POST', '/users/me/fingerprint', { os: 'another' }, from('198.51.100.8'));
  t.is(again.body.signup_bonus, 'withheld', 'the first decision stays');
  const quotaOf = async (user_id: string) => (await (await signIn(user_id)).ask('GET', '/users/me/quota')).body;
  t.true((await quotaOf('of-one-address-2')).trial.is_available);
  t.false((await quotaOf('of-one-address-3')).trial.is_available);
});

test('a fingerprint may be empty, and names each wrong field', async (t) => {
  const user = await signIn('careless');
  t.deepEqual((await user.ask('POST', '/users/me/fingerprint', {}, from('198.51.100.20'))).body.fingerprint, {
    ...{ os: null, device_type: null, screen_size: null },
  });
  const wrong = await user.ask('POST', '/users/me/fingerprint', { os: 7, screen_size: 'x'.repeat(201), ram: 1 });
  t.is(wrong.status, 422);
  t.deepEqual(wrong.body.detail.map(({ loc }: { loc: string[] }) => loc.join('.')).sort(), [
    'body.os',
    'body.ram',
    'body.screen_size',
  ]);
});

test('the quota and the usage follow a job', async (t) => {
  const user = await signIn('worker');
  await user.ask('POST', '/users/me/fingerprint', {}, from('198.51.100.30'));
  const { body: job } = await user.upload('http://127.0.0.1:9/a\nhttp://127.0.0.1:9/b\n');
  await user.ended(job.job_id);
  const { body: usage } = await user.ask('GET', '/users/me/period-usage');
  t.like(usage, { plan: 'free', credits_used: 2, limit: null, remaining: 298 });
  const { body: quota } = await user.ask('GET', '/users/me/quota');
  t.like(quota, { usage: { credits_used: 2 }, is_exhausted: false, exhausted_by: null });
  t.like(quota, { trial: { is_active: false, ends_at: null }, limits: { plan_credits: 300, custom_limit: null } });
  t.like((await user.ask('GET', '/users/me')).body, { jobs_created: 1, last_job_at: job.created_at });
});

test('transactions are filtered by type, each with the balance after it', async (t) => {
  const user = await signIn('saver');
  await user.ask('POST', '/users/me/fingerprint', {}, from('198.51.100.40'));
  const { body: job } = await user.upload('http://127.0.0.1:9/a\n');
  await user.ended(job.job_id);
  const all = (await user.ask('GET', '/users/me/credit-transactions')).body;
  t.deepEqual(
    all.items.map((one: Answer['body']) => [one.transaction_type, one.amount, one.balance_after]),
    [
      ['reservation', -1, 299],
      ['signup_bonus', 300, 300],
    ],
  );
  const path = '/users/me/credit-transactions?transaction_type=reservation';
  t.like((await user.ask('GET', path)).body, { total: 1, items: [{ reference_id: job.job_id }] });
  t.is((await user.ask('GET', '/users/me/credit-transactions?transaction_type=theft')).status, 422);
});

test('tokens with two addresses, presented in turn, do not change the account with each request', async (t) => {
  const both = [
    await signIn('mover', { email: 'old@example.com' }),
    await signIn('mover', { email: 'new@example.com' }),
  ];
  for (let n = 0; n < 10; n++) t.is((await both[n % 2]!.ask('GET', '/users/me/quota')).status, 200);
  const { history } = (await both[1]!.ask('GET', '/users/me/export')).body;
  const changes = history.filter(({ type }: { type: string }) => type === 'UserUpdated');
  t.deepEqual(
    changes.map(({ email }: { email: string }) => email),
    ['new@example.com'],
  );
});

test('a claim of the settings makes an administrator', async (t) => {
  const root = await signIn('root', { groups: ['users', 'operators'] });
  t.is((await root.ask('GET', '/domains/blocked')).status, 200);
  const boss = await signIn('boss', { role: 'admin' });
  t.is((await boss.ask('GET', '/domains/blocked')).status, 403);
});

/** Sends what the provider would. Svix, which many providers use, has other names for the headers. */
async function deliver(
  message: unknown,
  { id = randomUUID() as string, at = new Date(), prefix = 'webhook', secret = WEBHOOK_SECRET, sent = '' } = {},
): Promise<Answer> {
  const body = typeof message === 'string' ? message : JSON.stringify(message);
  const headers = {
    [`${prefix}-id`]: id,
    [`${prefix}-timestamp`]: String(Math.floor(at.getTime() / 1000)),
    [`${prefix}-signature`]: new Webhook(secret).sign(id, at, body),
  };
  const path = `${service.url}/internal/identity-webhook`;
  return answerOf(await fetch(path, { method: 'POST', headers, body: sent || body }));
}
const MINUTE_MS = 60_000;
const user = (id: string, email: string, minute: number, type = 'user.updated') => ({
  ...{ type, data: { id, email, updated_at: Date.UTC(2026, 0, 1) + minute * MINUTE_MS } },
});
const emailOf = async (client: Awaited<ReturnType<typeof signIn>>) => (await client.ask('GET', '/users/me')).body.email;

test("the provider's webhook sets the address, and a late or repeated message changes nothing", async (t) => {
  const created = { id: 'msg-1' };
  t.is((await deliver(user('wanda', 'Wanda@Old.example', 1, 'user.created'), created)).status, 204);
  const wanda = await signIn('wanda', { email: 'token@example.com' });
  t.is(await emailOf(wanda), 'wanda@old.example');
  t.is((await deliver(user('wanda', 'wanda@new.example', 5), { prefix: 'svix' })).status, 204);
  t.is((await deliver(user('wanda', 'wanda@stale.example', 3))).status, 204);
  t.is((await deliver(user('wanda', 'Wanda@Old.example', 1, 'user.created'), created)).status, 204);
  await until(async () => (await emailOf(wanda)) === 'wanda@new.example');
  t.is(await emailOf(wanda), 'wanda@new.example');
});

test("a message with a provider's list of addresses sets the primary one, when it is verified", async (t) => {
  const addresses = (status: string) => [
    { id: 'idn_1', email_address: 'other@example.com' },
    { id: 'idn_2', email_address: 'Primary@Example.com', verification: { status } },
  ];
  const data = { id: 'lister', primary_email_address_id: 'idn_2', object: 'user', image_url: null };
  const sent = (status: string, updated_at: number) =>
    deliver({ type: 'user.updated', data: { ...data, email_addresses: addresses(status), updated_at } });
  const lister = await signIn('lister');
  t.is((await sent('verified', 1_769_850_300_000)).status, 204);
  await until(async () => (await emailOf(lister)) === 'primary@example.com');
  t.is((await sent('unverified', 1_769_850_301_000)).status, 204);
  await until(async () => (await emailOf(lister)) === null);
  t.pass();
});

test('a message with a bad signature is refused', async (t) => {
  const message = user('victim', 'thief@example.com', 1);
  const other = `whsec_${Buffer.alloc(24, 'x').toString('base64')}`;
  const refused = [
    await deliver(message, { secret: other }),
    await deliver(message, { sent: JSON.stringify(user('victim', 'changed@example.com', 1)) }),
    await deliver(message, { at: new Date(Date.now() - 10 * MINUTE_MS) }),
    await deliver(message, { at: new Date(Date.now() + 10 * MINUTE_MS) }),
    await answerOf(await fetch(`${service.url}/internal/identity-webhook`, { method: 'POST', body: '{}' })),
  ];
  for (const { status, body } of refused) t.deepEqual([status, body.code], [401, 'invalid_signature']);
});

test('a signed message that the service cannot read names the field, and one of another type is taken', async (t) => {
  const problemsOf = async (message: unknown) => {
    const { status, body } = await deliver(message);
    t.is(status, 422, JSON.stringify(body));
    return body.detail.map(({ loc }: { loc: string[] }) => loc.join('.'));
  };
  t.deepEqual(await problemsOf({ data: {} }), ['body.type']);
  t.deepEqual(await problemsOf({ type: 'user.updated', data: { email: 'a@example.com' } }), ['body.data.id']);
  t.deepEqual(await problemsOf({ type: 'user.updated', data: { id: 'a' } }), ['body.data.updated_at']);
  t.deepEqual(await problemsOf({ type: 'user.deleted', data: { id: 'a b' } }), ['body.data.id']);
  for (const updated_at of ['2016-12-31T23:59:60Z', '9999-12-31T23:59:59-23:59', 8.64e15]) {
    const problems = await problemsOf({ type: 'user.updated', data: { id: 'a', updated_at } });
    t.deepEqual([...new Set(problems)], ['body.data.updated_at']);
  }
  t.is((await deliver('{"type":')).status, 400);
  t.is((await deliver({ type: 'session.created', data: { anything: [] } })).status, 204);
});

test('user.deleted erases the user, also one who never came, and a late user.created changes nothing', async (t) => {
  const gone = await signIn('gone');
  t.is(await emailOf(gone), 'gone@example.com');
  const deleted = (id: string) => deliver({ type: 'user.deleted', data: { id, deleted: true } });
  t.is((await deleted('gone')).status, 204);
  t.is((await deleted('gone')).status, 204);
  t.is((await deleted('never-came')).status, 204);
  t.is((await deliver(user('never-came', 'a@example.com', 9, 'user.created'))).status, 204);
  const late = await signIn('never-came');
  t.is((await late.ask('GET', '/users/me')).status, 401);
});

test('nobody who has the id of test keys is reported or erased, and nobody erased goes on by them', async (t) => {
  const owner = await signIn('tester');
  const { key } = (await owner.ask('POST', '/users/me/api-keys', { test: true })).body;
  const usage = async () => (await openTestClient(service.url, key, '/api/v2').ask('GET', '/api/v2/usage')).status;
  t.is(await usage(), 200);
  t.is((await deliver(user('uc_test:tester', 'thief@example.com', 9, 'user.created'))).status, 204);
  t.is((await deliver({ type: 'user.deleted', data: { id: 'uc_test:tester' } })).status, 204);
  t.is(await usage(), 200);
  const operator = await signIn('operator-of-tests', { groups: ['operators'] });
  t.is((await operator.ask('GET', '/admin/users/uc_test%3Atester')).status, 404);
  t.is((await deliver({ type: 'user.deleted', data: { id: 'tester' } })).status, 204);
  t.is(await usage(), 401);
});

const report = async (body: unknown, secret: string | null = AGENCY_SECRET) => {
  const headers = { 'content-type': 'application/json', ...(secret && { 'x-agency-secret': secret }) };
  const path = `${service.url}/agency-events`;
  return answerOf(await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) }));
};

test('an agency with the secret reports events', async (t) => {
  const event = { event: 'client_added', agency_id: 'agency-7' };
  t.is((await report(event)).status, 202);
  t.is((await report({ ...event, occurred_at: '2026-01-31T10:00:00+01:00', properties: { a: [1] } })).status, 202);
  for (const secret of [null, `${AGENCY_SECRET}x`, 'x']) {
    const refused = await report(event, secret);
    t.deepEqual([refused.status, refused.body.code], [401, 'invalid_secret']);
  }
  t.is((await report({ event: 'client_added' })).status, 422);
  for (const occurred_at of ['yesterday', '2016-12-31T23:59:60Z', '0000-01-01T00:00:00+23:59']) {
    t.is((await report({ ...event, occurred_at })).status, 422);
  }
  t.is((await report({ ...event, properties: { text: 'x'.repeat(20_000) } })).status, 413);
});

test('a user reports events of the paywall, up to the limit of a minute', async (t) => {
  const buyer = await signIn('buyer');
  const shown = () => buyer.ask('POST', '/paywall-events', { event: 'paywall_shown', properties: { plan: 'pro' } });
  t.is((await shown()).status, 202);
  const answers = await Promise.all(Array.from({ length: 90 }, shown));
  const refused = answers.filter(({ status }) => status === 429);
  // Room for one more comes back each second.
  t.true(refused.length > 0 && refused.length <= 31, String(refused.length));
  t.is(refused[0]!.body.code, 'rate_limited');
  t.regex(refused[0]!.headers.get('retry-after')!, /^\d+$/);
});

test('a person gets all that is kept of them as one file, without secrets', async (t) => {
  const reader = await signIn('reader');
  await reader.ask('POST', '/users/me/fingerprint', { os: 'OS of the reader' }, from('198.51.100.50'));
  const { body: key } = await reader.ask('POST', '/users/me/api-keys', { name: 'nightly' });
  const of_key = openTestClient(service.url, key.key, '/api/v2');
  const { body: hook } = await of_key.ask('POST', '/api/v2/webhooks/endpoints', { url: 'https://example.com/mine' });
  const { body: job } = await reader.upload('http://127.0.0.1:9/a\n', '', 'my-list.csv');
  await reader.ended(job.job_id);
  const { body: share } = await reader.ask('POST', `/jobs/${job.job_id}/share`, {});
  await reader.ask('POST', '/paywall-events', { event: 'paywall_shown', properties: { plan: 'pro' } });

  const { status, headers, body } = await reader.ask('GET', '/users/me/export');
  t.is(status, 200);
  t.regex(headers.get('content-disposition')!, /^attachment; filename="url-checker-data.json"/);
  t.like(body, {
    user_id: 'reader',
    profile: { email: 'reader@example.com', fingerprint: { os: 'OS of the reader' }, bonus: { status: 'granted' } },
    balance: { balance: 299 },
    credit_lots: [{ transaction_type: 'signup_bonus', remaining: 299 }],
    credit_transactions: [{ amount: 300 }, { amount: -1, reference_id: job.job_id }],
    payments: [],
    jobs: [{ job_id: job.job_id, filename: 'my-list.csv', total_urls: 1, shares: [{ id: share.id }] }],
    api_keys: [{ name: 'nightly', prefix: key.prefix }],
    webhook_endpoints: [{ id: hook.id, url: 'https://example.com/mine' }],
    paywall_events: [{ event: 'paywall_shown', properties: { plan: 'pro' } }],
  });
  const types = new Set(body.history.map(({ type }: { type: string }) => type));
  for (const type of ['UserRegistered', 'FingerprintRecorded', 'ApiKeyCreated', 'WebhookEndpointCreated']) {
    t.true(types.has(type), type);
  }
  const text = JSON.stringify(body);
  for (const secret of [key.key, hook.signing_secret, share.token, 'key_hash']) t.false(text.includes(secret), secret);
  const stranger = await signIn('stranger');
  t.false(JSON.stringify((await stranger.ask('GET', '/users/me/export')).body).includes('reader'));
});

test('the export has the payments behind bought credits', async (t) => {
  const payer = await signIn('payer');
  const { body: checkout } = await payer.ask('POST', '/credits/purchase', { package_id: 'credits_5000' });
  const paid = await fetch(`${service.url}/sandbox/checkout/${checkout.session_id}/pay`, { method: 'POST' });
  t.is(paid.status, 200, await paid.text());
  await until(async () => balanceOf(await payer.ask('GET', '/users/me/credits')) === 5000);
  const { body } = await payer.ask('GET', '/users/me/export');
  t.like(body.payments, [{ type: 'PaymentReceived', credits: 5000, user_id: 'payer' }]);
  t.like(body.mails, [{ kind: 'receipt', user_id: 'payer' }]);
  t.like(body.credit_lots, [{ transaction_type: 'purchase', remaining: 5000, expires_at: null }]);
});

test('a user limits the credits of a period, which jobs and the account show', async (t) => {
  const ivy = await signIn('isolde');
  await ivy.ask('GET', '/users/me');
  t.deepEqual((await ivy.ask('PUT', '/users/me/spending-limit', { limit: 2 })).body, { limit: 2 });
  const quota = async () => (await ivy.ask('GET', '/users/me/quota')).body;
  t.like(await quota(), { usage: { limit: 2 }, limits: { custom_limit: null, spending_limit: 2 } });
  t.false((await ivy.ask('GET', '/users/me')).body.flags.has_custom_limit, 'no administrator has');
  await ivy.ask('PUT', '/users/me/spending-limit', { limit: null });
  t.like(await quota(), { usage: { limit: null }, limits: { spending_limit: null } });
  t.is((await ivy.ask('PUT', '/users/me/spending-limit', { limit: -1 })).status, 422);
});
