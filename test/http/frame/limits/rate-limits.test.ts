import test from 'ava';
import { Type } from 'typebox';
import { openMemoryRates } from '../../../../adapters/rate-counters/memory.ts';
import { testUserOf } from '../../../../events/test-user.ts';
import { GATEWAY } from '../../../../http/apis/gateway.ts';
import { PUBLIC } from '../../../../http/apis/public.ts';
import { openRateLimits } from '../../../../http/frame/limits/rate-limits.ts';
import { type Route, routeOf } from '../../../../http/frame/route.ts';
import { API_KEY, startSample } from '../../sample-app.ts';

const route = routeOf<unknown>(GATEWAY, 'sample');
const publicRoute = routeOf<unknown>(PUBLIC, 'sample');
const about = {
  method: 'GET',
  summary: 'A sample',
  responses: { 200: { description: 'Fine.', schema: Type.Object({}) } },
  handler: () => ({ body: {} }),
} as const;
const ROUTES: Route<unknown>[] = [
  publicRoute({ ...about, path: '/usage', access: 'user' }),
  publicRoute({ ...about, method: 'POST', path: '/usage', access: 'user' }),
  route({ ...about, path: '/public', access: 'none' }),
  route({ ...about, path: '/mine', access: 'user' }),
  route({ ...about, method: 'POST', path: '/mine', access: 'user' }),
];
const OTHER_KEY = API_KEY.replaceAll('A', 'B');
const caller = { user_id: 'alice', email: null, is_admin: false, kind: 'key' } as const;

const AMPLE = { of_user: 1000, changes_of_user: 1000, of_address: 1000 };

function limits(per_minute: number, per_day: number, shared = openMemoryRates(), gateway = AMPLE) {
  return openRateLimits({
    shared,
    own: openMemoryRates(),
    per_minute,
    per_day,
    reads_per_minute: per_minute,
    gateway,
    now: Date.now,
  });
}
const start = (per_minute: number, per_day: number) =>
  startSample(ROUTES, undefined, {
    admit: limits(per_minute, per_day).admit,
    api_key: async (key) =>
      key === API_KEY || key === OTHER_KEY ? { ...caller, key_id: key === API_KEY ? 'k1' : 'k2' } : null,
  });

function headersOf({ headers }: Response) {
  const of = (name: string) => (headers.has(name) ? Number(headers.get(name)) : null);
  return {
    limit: of('x-ratelimit-limit'),
    remaining: of('x-ratelimit-remaining'),
    reset: of('x-ratelimit-reset'),
    retry_after: of('retry-after'),
  };
}

test('each key has a limit a minute, and every answer shows the requests that are left', async (t) => {
  const sample = await start(2, 100);
  const began_s = Math.floor(Date.now() / 1000);
  const ask = (as: string) => sample.request('/api/v2/usage', { as });
  const first = headersOf(await ask(API_KEY));
  t.like(first, { limit: 2, remaining: 1, retry_after: null });
  t.true(first.reset! >= began_s + 29 && first.reset! <= Date.now() / 1000 + 31, String(first.reset));
  t.like(headersOf(await ask(API_KEY)), { limit: 2, remaining: 0 });
  const refused = await ask(API_KEY);
  t.is(refused.status, 429);
  const { retry_after, ...said } = headersOf(refused);
  t.like(said, { limit: 2, remaining: 0 });
  t.true(retry_after! >= 1 && retry_after! <= 60, String(retry_after));
  t.true(said.reset! > Date.now() / 1000 + retry_after!);
  t.like(((await refused.json()) as { error: object }).error, { code: 'rate_limited' });
  t.is((await ask(OTHER_KEY)).status, 200);
  await sample.close();
});

test('the day has its own limit, and headers show the tighter limit', async (t) => {
  const sample = await start(3, 4);
  const ask = async () => headersOf(await sample.request('/api/v2/usage', { as: API_KEY, method: 'POST' }));
  t.like(await ask(), { limit: 3, remaining: 2 });
  await sample.close();
  const small = await start(100, 2);
  const of_day = headersOf(await small.request('/api/v2/usage', { as: API_KEY, method: 'POST' }));
  t.like(of_day, { limit: 2, remaining: 1 });
  t.true(of_day.reset! > Date.now() / 1000 + 43_000);
  await small.request('/api/v2/usage', { as: API_KEY, method: 'POST' });
  const refused = await small.request('/api/v2/usage', { as: API_KEY, method: 'POST' });
  t.is(refused.status, 429);
  t.true(headersOf(refused).retry_after! > 43_000);
  await small.close();
});

test('a request that the minute refuses does not count for the day', async (t) => {
  const counted: string[] = [];
  const counters = {
    open: ({ name }: { name: string }) => ({
      async count() {
        counted.push(name);
        return { used: counted.filter((one) => one === name).length, next_in_ms: 1000, resets_in_ms: 1000 };
      },
    }),
    close: async () => {},
  };
  const { admit } = limits(1, 10, counters);
  const request = { api: PUBLIC, caller: { ...caller, key_id: 'k1' }, ip: '::1', method: 'POST' };
  await admit(request);
  await t.throwsAsync(admit(request), { message: /1 requests a minute/ });
  t.deepEqual(counted, ['key-minute', 'key-day', 'key-minute']);
});

test('all test keys of a user count as one, and no other keys do', async (t) => {
  const { admit } = limits(2, 10);
  const by = (key_id: string, user_id: string) =>
    admit({ api: PUBLIC, caller: { ...caller, user_id, key_id }, ip: '::1', method: 'POST' });
  for (const key_id of ['t1', 't2']) await by(key_id, testUserOf('alice'));
  await t.throwsAsync(by('t3', testUserOf('alice')), { message: /2 requests a minute/ });
  await by('t4', testUserOf('bob'));
  for (const key_id of ['k1', 'k1', 'k2', 'k2']) await by(key_id, 'alice');
});

test('reads of a key count for nothing but reads', async (t) => {
  const { admit } = limits(2, 2);
  const request = (method: string) => admit({ api: PUBLIC, caller: { ...caller, key_id: 'k1' }, ip: '::1', method });
  await request('POST');
  await request('GET');
  await request('HEAD');
  await t.throwsAsync(request('GET'), { message: /2 reads a minute/ });
  await request('POST');
  await t.throwsAsync(request('POST'), { message: /2 requests a minute/ });
});

test('requests without a valid key count for their address, and leave valid keys alone', async (t) => {
  const sample = await start(3, 100);
  const statuses: number[] = [];
  for (const path of ['/api/v2/usage', '/api/v2/nowhere', '/api/v2/usage', '/api/v2/usage', '/api/v2/nowhere']) {
    const response = await sample.request(path, { as: `uc_live_${'x'.repeat(43)}` });
    t.is(headersOf(response).limit, 3);
    statuses.push(response.status);
  }
  t.deepEqual(statuses, [401, 404, 401, 429, 429]);
  t.is((await sample.request('/api/v2/usage', { method: 'POST' })).status, 429);
  t.is((await sample.request('/api/v2/usage', { as: API_KEY })).status, 200);
  await sample.close();
});

test('the addresses of an IPv6 network (/64) count as one, and an IPv4 address as itself in every way to write it', async (t) => {
  const { admit } = limits(2, 100);
  const from = (ip: string) => admit({ api: PUBLIC, caller: null, ip, method: 'GET' });
  await from('2001:db8:1:2::1');
  await from('2001:db8:1:2::2');
  await t.throwsAsync(from('2001:db8:1:2:ffff::9'), { message: /2 requests a minute/ });
  await from('2001:db8:1:3::1');
  await from('198.51.100.7');
  await from('::ffff:c633:6407');
  await t.throwsAsync(from('198.51.100.7'), { message: /2 requests a minute/ });
  await from('198.51.100.8');
});

const startGateway = (gateway: Partial<typeof AMPLE>) =>
  startSample(ROUTES, undefined, { admit: limits(1, 1, openMemoryRates(), { ...AMPLE, ...gateway }).admit });

test('an address has a limit at every route of the gateway, and a refusal costs no look at credentials', async (t) => {
  const sample = await startGateway({ of_address: 4 });
  t.teardown(sample.close);
  t.like(headersOf(await sample.request('/public')), { limit: 4, remaining: 3, retry_after: null });
  t.is((await sample.request('/mine', { as: 'no token' })).status, 401);
  t.is((await sample.request('/nowhere')).status, 404);
  t.is((await sample.request('/public', { method: 'PUT' })).status, 405);
  for (const [path, as] of [
    ['/public', null],
    ['/nowhere', null],
    ['/mine', 'no token'],
    ['/mine', sample.tokens.alice],
  ] as const) {
    const refused = await sample.request(path, { as });
    t.is(refused.status, 429, path);
    const { retry_after, ...said } = headersOf(refused);
    t.like(said, { limit: 4, remaining: 0 });
    t.true(retry_after! >= 1 && retry_after! <= 60, String(retry_after));
    t.like(await refused.json(), { code: 'rate_limited' });
  }
  t.is((await sample.request('/healthz')).status, 200, 'probes have no limit');
});

test('a user has a limit at the gateway, whatever the address, and a tighter one for changes', async (t) => {
  const sample = await startGateway({ of_user: 4, changes_of_user: 2 });
  t.teardown(sample.close);
  const ask = (as: string, method = 'GET') => sample.request('/mine', { as, method });
  const { alice, bob } = sample.tokens;
  t.like(headersOf(await ask(alice)), { limit: 4, remaining: 3 });
  t.like(headersOf(await ask(alice, 'POST')), { limit: 2, remaining: 1 });
  t.is((await ask(alice, 'POST')).status, 200);
  const refused = await ask(alice, 'POST');
  t.is(refused.status, 429);
  t.regex(((await refused.json()) as { detail: string }).detail, /^A user may send 2 changes a minute\./);
  t.is((await ask(alice)).status, 429);
  t.is((await ask(bob, 'POST')).status, 200);
});

test('a /48 of IPv6 has four times as many requests as a /64', async (t) => {
  const { admit } = limits(1, 1, openMemoryRates(), { ...AMPLE, of_address: 2 });
  const from = (ip: string) => admit({ api: GATEWAY, caller: undefined, ip, method: 'GET' });
  for (const network of [1, 2, 3, 4]) for (const host of [1, 2]) await from(`2001:db8:7:${network}::${host}`);
  await t.throwsAsync(from('2001:db8:7:5::1'), { message: /8 requests a minute/ });
  await from('2001:db8:8:5::1');
});

test('what a /64 sends above its limit does not count for the rest of its /48', async (t) => {
  const { admit } = limits(1, 1, openMemoryRates(), { ...AMPLE, of_address: 2 });
  const from = (ip: string) => admit({ api: GATEWAY, caller: undefined, ip, method: 'GET' });
  for (let n = 0; n < 20; n++) await from('2001:db8:7:1::1').catch(() => {});
  await t.notThrowsAsync(from('2001:db8:7:2::1'));
});

test('requests without a valid key count for their /48 too, with whatever key each comes', async (t) => {
  const { admit } = limits(2, 100);
  const from = (ip: string) => admit({ api: PUBLIC, caller: null, ip, method: 'GET' });
  for (const network of [1, 2, 3, 4]) for (const host of [1, 2]) await from(`2001:db8:7:${network}::${host}`);
  await t.throwsAsync(from('2001:db8:7:5::1'), { message: /8 requests a minute/ });
});

test('limits hold for the clients that a trusted proxy names, by /64 and /48, and nobody else is believed', async (t) => {
  const { admit } = limits(1, 1, openMemoryRates(), { ...AMPLE, of_address: 2 });
  const sample = await startSample(ROUTES, undefined, { admit, trusted_proxies: ['127.0.0.1/32'] });
  t.teardown(sample.close);
  const from = async (forwarded: string) =>
    (await sample.request('/public', { headers: { 'x-forwarded-for': forwarded } })).status;
  t.is(await from('2001:db8:7:1::1'), 200);
  // What the client itself wrote stands before what the proxy saw.
  t.is(await from('198.51.100.1, 2001:db8:7:1:ffff::2'), 200);
  t.is(await from('198.51.100.2, [2001:db8:7:1::3]:443'), 429);
  for (const network of [2, 3, 4])
    for (const host of [1, 2]) t.is(await from(`2001:db8:7:${network}::${host}`), 200, `${network} ${host}`);
  t.is(await from('2001:db8:7:5::1'), 429, 'the /48 is full');
  t.is(await from('2001:db8:8:1::1'), 200);

  const direct = await startSample(ROUTES, undefined, {
    admit: limits(1, 1, openMemoryRates(), { ...AMPLE, of_address: 2 }).admit,
  });
  t.teardown(direct.close);
  const statuses = [];
  for (let n = 1; n <= 3; n++)
    statuses.push((await direct.request('/public', { headers: { 'x-forwarded-for': `2001:db8:${n}::1` } })).status);
  t.deepEqual(statuses, [200, 200, 429]);
});
