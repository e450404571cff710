// What clients get: bodies, errors, headers, and the lines that each request leaves in the log and the metrics.
import test from 'ava';
import { Registry } from 'prom-client';
import { Type } from 'typebox';
import { GATEWAY } from '../../../../http/apis/gateway.ts';
import { PUBLIC } from '../../../../http/apis/public.ts';
import { HttpError } from '../../../../http/frame/errors.ts';
import { type Route, routeOf } from '../../../../http/frame/route.ts';
import { DocumentsNotReady } from '../../../../readmodels/read-models.ts';
import { API_KEY, type Sample, startSample, until } from '../../sample-app.ts';

const route = routeOf<object>(GATEWAY, 'sample');
const publicRoute = routeOf<object>(PUBLIC, 'sample');
const ok = { description: 'Fine.', schema: Type.Object({}, { additionalProperties: true }) };
const about = { access: 'none', summary: 'A sample', responses: { 200: ok } } as const;
class Unavailable extends Error {
  readonly code = 'unavailable';
}

const csv = { 200: { description: 'A file.', content_type: 'text/csv; charset=utf-8', schema: Type.String() } };

const ROUTES: Route<object>[] = [
  route({ ...about, method: 'GET', path: '/things/{id}', handler: ({ params }) => ({ body: params }) }),
  route({
    ...about,
    method: 'DELETE',
    path: '/things/{id}',
    responses: { 204: { description: 'Gone.' } },
    handler: () => ({}),
  }),
  route({ ...about, method: 'GET', path: '/things/first', handler: () => ({ body: { first: true } }) }),
  route({
    ...about,
    method: 'POST',
    path: '/things',
    responses: { 201: ok },
    handler: ({ request_id }) => ({
      body: { request_id },
      headers: { location: '/things/1', 'cache-control': 'private' },
    }),
  }),
  route({ ...about, method: 'GET', path: '/me', access: 'user', handler: () => ({ body: {} }) }),
  publicRoute({ ...about, method: 'GET', path: '/usage', access: 'user', handler: () => ({ body: {} }) }),
  route({
    ...about,
    method: 'GET',
    path: '/fail/{how}',
    handler: ({ params }) => {
      if (params.how === 'known') throw new HttpError(409, 'busy', 'It is busy.', { since: 1 }, { 'retry-after': '3' });
      if (params.how === 'unavailable') throw new Unavailable('mongodb://root:hunter2@db did not answer');
      throw new Error('secret internals');
    },
  }),
  publicRoute({
    ...about,
    method: 'GET',
    path: '/fail',
    handler: () => Promise.reject(new Error('secret internals')),
  }),
  publicRoute({
    ...about,
    method: 'GET',
    path: '/no-credits',
    handler: () => Promise.reject(new HttpError(402, 'no_credits', 'None.')),
  }),
  route({
    ...about,
    method: 'GET',
    path: '/undeclared',
    responses: { 200: { description: '', schema: Type.Object({ a: Type.Integer() }) } },
    handler: () => ({ body: { a: 1, b: 2 } }),
  }),
  route({ ...about, method: 'GET', path: '/text', responses: csv, handler: () => ({ body: '<b>a</b>,1\n' }) }),
  route({ ...about, method: 'GET', path: '/plain', handler: () => ({ body: '<script>' }) }),
  route({ ...about, method: 'GET', path: '/large', handler: () => ({ body: { text: 'x'.repeat(2_000_000) } }) }),
];

let not_ready: string[] = [];
const registry = new Registry();
let sample: Sample;
test.before(async () => {
  const check = (name: string) => async () => {
    if (not_ready.includes(name)) throw new Error('hunter2');
  };
  sample = await startSample(
    ROUTES,
    {},
    {
      registry,
      readiness: { log: check('log'), documents: check('documents') },
    },
  );
});
test.after.always(() => sample?.close());

const json = async (response: Response) => (await response.json()) as Record<string, unknown>;

test("a reply without a status has the route's first success status", async (t) => {
  const response = await sample.request('/things', { method: 'POST' });
  t.is(response.status, 201);
  t.is(response.headers.get('location'), '/things/1');
  t.is(response.headers.get('content-type'), 'application/json; charset=utf-8');
});

test('an empty reply has no body', async (t) => {
  const response = await sample.request('/things/1', { method: 'DELETE' });
  t.is(response.status, 204);
  t.is(response.headers.get('content-type'), null);
  t.is(await response.text(), '');
});

test('a literal path comes before one with a parameter', async (t) => {
  t.deepEqual(await json(await sample.request('/things/first')), { first: true });
  t.deepEqual(await json(await sample.request('/things/second')), { id: 'second' });
});

test('an unknown path is 404 in the shape of its API', async (t) => {
  const gateway = await sample.request('/nothing/here');
  t.is(gateway.status, 404);
  t.deepEqual(await json(gateway), { detail: 'There is no route /nothing/here.', code: 'not_found' });
  const v2 = await sample.request('/api/v2/nothing');
  t.is(v2.status, 404);
  t.deepEqual(await json(v2), { error: { code: 'not_found', message: 'There is no route /api/v2/nothing.' } });
  for (const path of ['/things/', '/Things/1', '/things/1/', '//', '/things//'])
    t.is((await sample.request(path)).status, 404, path);
});

test('a wrong method is 405 with the methods of the path', async (t) => {
  const response = await sample.request('/things/1', { method: 'PUT' });
  t.is(response.status, 405);
  t.is(response.headers.get('allow'), 'HEAD, GET, DELETE, OPTIONS');
  t.is((await json(response)).code, 'method_not_allowed');
  const v2 = await sample.request('/api/v2/usage', { method: 'POST' });
  t.is(v2.status, 405);
  t.is(((await json(v2)).error as { code: string }).code, 'method_not_allowed');
});

test('OPTIONS lists the methods of a path', async (t) => {
  const response = await sample.request('/things/1', { method: 'OPTIONS' });
  t.is(response.status, 204);
  t.is(response.headers.get('allow'), 'HEAD, GET, DELETE, OPTIONS');
});

test('HEAD is GET without the body', async (t) => {
  const [head, get] = [await sample.request('/things/1', { method: 'HEAD' }), await sample.request('/things/1')];
  t.is(head.status, 200);
  t.is(await head.text(), '');
  for (const name of ['content-type', 'content-length', 'etag'])
    t.is(head.headers.get(name), get.headers.get(name), name);
  t.is((await sample.request('/me', { method: 'HEAD' })).status, 401);
});

test('an error of a handler has its status, code, details and headers', async (t) => {
  const response = await sample.request('/fail/known');
  t.is(response.status, 409);
  t.is(response.headers.get('retry-after'), '3');
  t.deepEqual(await json(response), { detail: 'It is busy.', code: 'busy', details: { since: 1 } });
  const v2 = await sample.request('/api/v2/no-credits');
  t.is(v2.status, 402);
  t.deepEqual(await json(v2), { error: { code: 'no_credits', message: 'None.' } });
});

test('an unexpected error is a 500 with its request id alone, and the log has the rest', async (t) => {
  const response = await sample.request('/fail/badly', { headers: { 'x-request-id': 'req-77' } });
  t.is(response.status, 500);
  t.deepEqual(await json(response), {
    detail: 'The service failed. Quote the request ID when you report it: req-77.',
    code: 'internal_error',
  });
  const line = sample.logged.find(({ msg, request_id }) => msg === 'request failed' && request_id === 'req-77');
  t.regex((line?.err as Error | undefined)?.stack ?? '', /secret internals[\s\S]*replies\.test\.ts/);
  const v2 = await json(await sample.request('/api/v2/fail'));
  t.is((v2.error as { code: string }).code, 'internal_error');
  t.notRegex(JSON.stringify(v2), /secret/);
});

test('a store that is away is a 503 with Retry-After', async (t) => {
  const response = await sample.request('/fail/unavailable');
  t.is(response.status, 503);
  t.is(response.headers.get('retry-after'), '5');
  const body = await json(response);
  t.is(body.code, 'unavailable');
  t.notRegex(JSON.stringify(body), /hunter2/);
});

test('read models that are not ready cost one log line a minute, without a stack', async (t) => {
  let now_ms = 0;
  const reads = route({
    ...{ method: 'GET', path: '/reads', access: 'none', summary: 'Reads', responses: { 200: ok } },
    handler() {
      throw new DocumentsNotReady('they are built');
    },
  });
  const building = await startSample([reads], {}, { monotonic: () => now_ms });
  t.teardown(building.close);
  const asked = async () => t.is((await building.request('/reads')).status, 503);
  await asked();
  await asked();
  now_ms = 60_000;
  await asked();
  const lines = building.logged.filter(({ level }) => Number(level) >= 40);
  t.deepEqual(
    lines.map(({ reason, err }) => [reason, err]),
    Array(2).fill(['they are built', undefined]),
  );
});

test('a reply that its route does not declare is an error in tests', async (t) => {
  t.is((await sample.request('/undeclared')).status, 500);
});

test('every answer has an id: a valid one of the client, else a new one', async (t) => {
  const id = async (given?: string) =>
    (await sample.request('/nothing', given === undefined ? {} : { headers: { 'x-request-id': given } })).headers.get(
      'x-request-id',
    );
  t.is(await id('abc-1.2:3_4'), 'abc-1.2:3_4');
  for (const given of [undefined, 'a b', 'x'.repeat(65), '<script>'])
    t.regex((await id(given)) ?? '', /^[0-9a-f-]{36}$/);
  const { request_id } = await json(
    await sample.request('/things', { method: 'POST', headers: { 'x-request-id': 'mine' } }),
  );
  t.is(request_id, 'mine');
});

test('every answer has the security headers, and a route may override them', async (t) => {
  for (const path of ['/things/1', '/nothing', '/me', '/fail/badly']) {
    const { headers } = await sample.request(path);
    t.is(headers.get('x-content-type-options'), 'nosniff', path);
    t.is(headers.get('content-security-policy'), "default-src 'none'; frame-ancestors 'none'", path);
    t.is(headers.get('cache-control'), 'no-store', path);
    t.is(headers.get('x-powered-by'), null, path);
    t.is(headers.get('strict-transport-security'), null, path);
  }
  t.is((await sample.request('/things', { method: 'POST' })).headers.get('cache-control'), 'private');
});

test('a service behind https sends Strict-Transport-Security', async (t) => {
  const secure = await startSample(ROUTES, {}, { https: true });
  t.regex((await secure.request('/things/1')).headers.get('strict-transport-security') ?? '', /^max-age=\d+$/);
  await secure.close();
});

test('unchanged JSON is a 304', async (t) => {
  const first = await sample.request('/things/1');
  const etag = first.headers.get('etag') ?? '';
  t.regex(etag, /^W\/"[\w-]{27}"$/);
  const again = await sample.request('/things/1', { headers: { 'if-none-match': etag } });
  t.is(again.status, 304);
  t.is(await again.text(), '');
  t.is((await sample.request('/things/2', { headers: { 'if-none-match': etag } })).status, 200);
  t.is((await sample.request('/large')).headers.get('etag'), null);
});

test('text has the type that its route declares, and is never HTML by guess', async (t) => {
  const text = await sample.request('/text');
  t.is(text.headers.get('content-type'), 'text/csv; charset=utf-8');
  t.is(await text.text(), '<b>a</b>,1\n');
  t.is((await sample.request('/plain')).headers.get('content-type'), 'text/plain; charset=utf-8');
});

test('a request is one line in the log, by its pattern, with no credentials', async (t) => {
  const token = sample.tokens.bob;
  const ask = async (path: string, as: string | null, id: string) => {
    await sample.request(path, { as, headers: { 'x-request-id': id } });
    await until(() => sample.logged.some(({ msg, request_id }) => msg === 'request' && request_id === id));
    return sample.logged.filter(({ msg, request_id }) => msg === 'request' && request_id === id);
  };
  const [line, ...more] = await ask('/things/1?token=hunter2', null, 'log-1');
  t.deepEqual(more, []);
  t.like(line, { level: 30, method: 'GET', route: '/things/{id}', status: 422 });
  t.is(typeof line?.ms, 'number');
  t.like((await ask('/me', token, 'log-2'))[0], { caller: 'bob', route: '/me' });
  t.like((await ask('/api/v2/usage', API_KEY, 'log-3'))[0], { caller: 'key:k1 of alice' });
  t.like((await ask('/nothing', null, 'log-4'))[0], { route: '(none)', status: 404 });
  t.like((await ask('/healthz', null, 'log-5'))[0], { level: 20, route: '/healthz' });
  t.like((await ask('/fail/badly', null, 'log-6'))[0], { level: 50, status: 500 });
  const everything = JSON.stringify(sample.logged);
  for (const secret of [token, API_KEY, 'token=hunter2']) t.false(everything.includes(secret), secret);
});

test('the metrics count requests by route and status', async (t) => {
  await sample.request('/things/measured');
  await sample.request('/nothing/measured');
  const metrics = await (await sample.request('/metrics')).text();
  t.regex(metrics, /http_request_duration_seconds_count\{method="GET",route="\/things\/\{id\}",status="200"\} \d+/);
  t.regex(metrics, /http_request_duration_seconds_count\{method="GET",route="\(none\)",status="404"\} \d+/);
  t.notRegex(metrics, /measured/);
});

test.serial('/readyz answers 200 when every check holds, and names the failing ones', async (t) => {
  t.is((await sample.request('/healthz')).status, 200);
  t.deepEqual(await json(await sample.request('/readyz')), {
    status: 'ok',
    checks: { log: { ok: true }, documents: { ok: true } },
  });
  not_ready = ['documents'];
  const response = await sample.request('/readyz');
  t.is(response.status, 503);
  t.is(response.headers.get('retry-after'), '5');
  t.deepEqual(await json(response), {
    status: 'unavailable',
    failed: ['documents'],
    checks: { log: { ok: true }, documents: { ok: false, detail: 'it does not work' } },
  });
  t.is((await sample.request('/healthz')).status, 200);
  not_ready = [];
});
