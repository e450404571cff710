import test from 'ava';
import { Type } from 'typebox';
import { GATEWAY } from '../../../http/apis/gateway.ts';
import { PUBLIC } from '../../../http/apis/public.ts';
import { HttpError } from '../../../http/frame/errors.ts';
import { jsonBody, rawBody } from '../../../http/frame/request-bodies.ts';
import { type Route, routeOf } from '../../../http/frame/route.ts';
import { accessDifferences, allCredentials } from '../../support/access.ts';
import { ALICES_JOB, API_KEY, type Sample, startSample } from '../sample-app.ts';

const route = routeOf<unknown>(GATEWAY, 'sample');
const publicRoute = routeOf<unknown>(PUBLIC, 'sample');
const ok = { 200: { description: 'Fine.', schema: Type.Object({}, { additionalProperties: true }) } };
const about = { summary: 'A sample', responses: ok };

const ROUTES: Route<unknown>[] = [
  route({ method: 'GET', path: '/open', access: 'none', ...about, handler: ({ caller }) => ({ body: { caller } }) }),
  route({ method: 'GET', path: '/me', access: 'user', ...about, handler: ({ caller }) => ({ body: { caller } }) }),
  route({
    method: 'GET',
    path: '/jobs/{job_id}',
    access: 'owner',
    ...about,
    handler: ({ params }) => ({ body: params }),
  }),
  route({
    method: 'DELETE',
    path: '/jobs/{job_id}',
    access: 'owner-or-admin',
    foreign: 403,
    ...about,
    handler: ({ params }) => ({ body: params }),
  }),
  route({
    method: 'POST',
    path: '/jobs/{job_id}/share',
    access: 'owner',
    body: jsonBody(Type.Object({}), { optional: true }),
    ...about,
    handler: ({ params }) => ({ body: params }),
  }),
  route({
    method: 'POST',
    path: '/admin/adjust',
    access: 'admin',
    query: Type.Object({ amount: Type.Integer() }),
    ...about,
    handler: ({ query }) => ({ body: query }),
  }),
  publicRoute({
    method: 'GET',
    path: '/jobs/{id}',
    access: 'owner',
    job: 'id',
    ...about,
    handler: ({ caller }) => ({ body: { caller } }),
  }),
  route({ method: 'POST', path: '/agency', access: 'shared-secret', ...about, handler: () => ({ body: {} }) }),
  route({
    method: 'POST',
    path: '/webhooks/payment',
    access: 'signature',
    body: rawBody(),
    ...about,
    handler: ({ body, ctx }) => {
      if (ctx.get('signature') !== String(body.length)) throw new HttpError(401, 'invalid_signature', 'No.');
      return { body: {} };
    },
  }),
];

const SECRET = { header: 'x-agency-secret', value: 'correct horse' };
let sample: Sample;
test.before(async () => void (sample = await startSample(ROUTES, undefined, { shared_secret: SECRET })));
test.after.always(() => sample?.close());

test('every route admits the callers that it declares, and nobody else', async (t) => {
  const { alice, bob, root, expired } = sample.tokens;
  const credentials = await allCredentials({ user: alice, other_user: bob, admin: root, api_key: API_KEY, expired });
  t.deepEqual(await accessDifferences(sample.url, ROUTES, credentials, { job_id: ALICES_JOB, id: ALICES_JOB }), []);
});

test('the access table finds a route that admits too many', async (t) => {
  const { alice, bob, root, expired } = sample.tokens;
  const credentials = await allCredentials({ user: alice, other_user: bob, admin: root, api_key: API_KEY, expired });
  const claimed = ROUTES.filter(({ path }) => path === '/open').map((one) => ({ ...one, access: 'admin' as const }));
  const found = await accessDifferences(sample.url, claimed, credentials, {});
  t.true(found.includes('GET /open as none: 200, not 401'), found.join('\n'));
  t.is(found.length, 10);
});

test('a request without credentials learns how to authenticate', async (t) => {
  const response = await sample.request('/me');
  t.is(response.status, 401);
  t.is(response.headers.get('www-authenticate'), 'Bearer realm="url-checker"');
  t.is(((await response.json()) as { code: string }).code, 'unauthenticated');
});

test('a request with a wrong token learns that the token is wrong', async (t) => {
  const response = await sample.request('/me', { as: 'abc' });
  t.is(response.headers.get('www-authenticate'), 'Bearer realm="url-checker", error="invalid_token"');
  t.deepEqual(await response.json(), { detail: 'The token is not valid, or has expired.', code: 'invalid_token' });
});

test('an API key on the gateway and a token on the public API are told apart from wrong ones', async (t) => {
  type Body = { code: string; detail: string; error: { details: { reason: string }; message: string } };
  const refused = async (path: string, as: string) => {
    const response = await sample.request(path, { as });
    t.is(response.status, 401);
    t.regex(response.headers.get('www-authenticate')!, /^Bearer /);
    return (await response.json()) as Body;
  };
  const on_gateway = await refused('/me', API_KEY);
  t.is(on_gateway.code, 'api_key_on_gateway');
  t.regex(on_gateway.detail, /an API key, which works under \/api\/v2 only/);
  t.is((await refused('/me', sample.tokens.expired)).code, 'invalid_token');

  const path = `/api/v2/jobs/${ALICES_JOB}`;
  for (const token of [sample.tokens.alice, sample.tokens.expired]) {
    const { error } = await refused(path, token);
    t.is(error.details.reason, 'token_on_public_api');
    t.regex(error.message, /a token of the identity provider, which works on the gateway only/);
  }
  t.is((await refused(path, `${API_KEY.slice(0, -1)}B`)).error.details.reason, 'invalid_api_key');
  t.is((await refused(path, 'abc')).error.details.reason, 'invalid_api_key');
});

test('a wrong signature gets a challenge too', async (t) => {
  const response = await sample.request('/webhooks/payment', { method: 'POST', body: 'abc' });
  t.is(response.status, 401);
  t.is(response.headers.get('www-authenticate'), 'Signature');
});

test('a route with a signature gets the raw bytes', async (t) => {
  const init = { method: 'POST', body: '{ "a":1 }', headers: { signature: '9' } };
  t.is((await sample.request('/webhooks/payment', init)).status, 200);
});

test('handlers get the user that the token names', async (t) => {
  const { caller } = (await (await sample.request('/me', { as: sample.tokens.root })).json()) as { caller: unknown };
  t.deepEqual(caller, { user_id: 'root', email: 'root@example.com', is_admin: true, kind: 'user' });
});

test('handlers get the user of an API key', async (t) => {
  const response = await sample.request(`/api/v2/jobs/${ALICES_JOB}`, { as: API_KEY });
  const { caller } = (await response.json()) as { caller: unknown };
  t.deepEqual(caller, { user_id: 'alice', email: null, is_admin: false, kind: 'key', key_id: 'k1' });
});

test('a route for everybody ignores credentials', async (t) => {
  const response = await sample.request('/open', { as: 'garbage' });
  t.deepEqual(await response.json(), { caller: null });
});

test("a missing job and another user's job get the same answer", async (t) => {
  const path = (id: string) => `/jobs/${id}`;
  const foreign = await sample.request(path(ALICES_JOB), { as: sample.tokens.bob });
  const unknown = await sample.request(path('00000000-0000-4000-8000-000000000000'), { as: sample.tokens.bob });
  t.is(foreign.status, 404);
  t.is(unknown.status, 404);
  t.deepEqual(await foreign.json(), await unknown.json());
});

test('a shared secret opens its route', async (t) => {
  const right = { method: 'POST', headers: { 'x-agency-secret': SECRET.value } };
  t.is((await sample.request('/agency', right)).status, 200);
  const wrong = { method: 'POST', headers: { 'x-agency-secret': `${SECRET.value}s` } };
  t.is((await sample.request('/agency', wrong)).status, 401);
});

test('a route with a shared secret is closed when the operator sets none', async (t) => {
  const closed = await startSample(ROUTES, undefined);
  const response = await closed.request('/agency', { method: 'POST', headers: { 'x-agency-secret': '' } });
  t.is(response.status, 401);
  t.is(((await response.json()) as { code: string }).code, 'closed');
  await closed.close();
});

test('the frame reports each authenticated caller once a request', async (t) => {
  const seen: string[] = [];
  const watched = await startSample(ROUTES, undefined, { seen: async (caller) => void seen.push(caller.user_id) });
  await watched.request('/me', { as: watched.tokens.bob });
  await watched.request('/me', { as: 'garbage' });
  await watched.request('/open', { as: watched.tokens.bob });
  await watched.request('/admin/adjust?amount=1', { method: 'POST', as: watched.tokens.bob });
  await watched.request(`/api/v2/jobs/${ALICES_JOB}`, { as: API_KEY });
  t.deepEqual(seen, ['bob', 'alice']);
  await watched.close();
});

test('a handler learns when the credentials are good no longer, and a store that is away proves nothing', async (t) => {
  const away = Object.assign(new Error('away'), { code: 'unavailable' });
  const alice = { user_id: 'alice', email: null, is_admin: false };
  const found = [alice, alice, away, null];
  const verify = async () => {
    const next = found.shift()!;
    if (next instanceof Error) throw next;
    return next;
  };
  const lasting = route({
    method: 'GET',
    path: '/lasting',
    access: 'user',
    ...about,
    handler: async ({ isStillAdmitted: ask }) => ({ body: { admitted: [await ask(), await ask(), await ask()] } }),
  });
  const expiring = await startSample([lasting], undefined, { identity: { verify } });
  const answer = await expiring.request('/lasting', { as: expiring.tokens.alice });
  t.deepEqual(await answer.json(), { admitted: [true, true, false] });
  await expiring.close();
});

test('the rate limiter may refuse requests, and every answer has its headers', async (t) => {
  let left = 1;
  const limited = await startSample(ROUTES, undefined, {
    async admit({ api, caller }) {
      if (caller === undefined) return {};
      const headers = { 'x-ratelimit-remaining': String(left) };
      if (left-- === 0)
        throw new HttpError(429, 'rate_limited', `Later, ${api.credentials}.`, undefined, { 'retry-after': '7' });
      return headers;
    },
  });
  const first = await limited.request('/open');
  t.is(first.headers.get('x-ratelimit-remaining'), '1');
  const second = await limited.request('/open');
  t.is(second.status, 429);
  t.is(second.headers.get('retry-after'), '7');
  t.deepEqual(await second.json(), { detail: 'Later, token.', code: 'rate_limited' });
  await limited.close();
});
