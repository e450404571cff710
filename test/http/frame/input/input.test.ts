import { request as httpRequest } from 'node:http';
import test from 'ava';
import { Type } from 'typebox';
import { GATEWAY } from '../../../../http/apis/gateway.ts';
import { PUBLIC } from '../../../../http/apis/public.ts';
import { jsonBody } from '../../../../http/frame/request-bodies.ts';
import { type Route, routeOf } from '../../../../http/frame/route.ts';
import { type Sample, startSample } from '../../sample-app.ts';

const route = routeOf<unknown>(GATEWAY, 'sample');
const publicRoute = routeOf<unknown>(PUBLIC, 'sample');
const responses = { 200: { description: 'Fine.', schema: Type.Object({}, { additionalProperties: true }) } };
const about = { access: 'none', summary: 'A sample', responses } as const;
const Nullable = Type.Union([Type.Integer({ minimum: 1 }), Type.Null()]);

const ROUTES: Route<unknown>[] = [
  route({
    ...about,
    method: 'GET',
    path: '/list/{id}',
    params: Type.Object({ id: Type.String({ maxLength: 10 }) }),
    query: Type.Object({
      limit: Type.Integer({ default: 50, minimum: 1, maximum: 100 }),
      wide: Type.Boolean({ default: false }),
      rate: Type.Optional(Type.Number()),
      search: Type.String({ default: '' }),
      order: Type.Enum(['asc', 'desc'], { default: 'desc' }),
      tag: Type.Optional(Type.Array(Type.Integer())),
    }),
    headers: Type.Object({ 'idempotency-key': Type.Optional(Type.String({ format: 'uuid' })) }),
    handler: ({ params, query, headers }) => ({ body: { params, query, headers } }),
  }),
  route({
    ...about,
    method: 'GET',
    path: '/required',
    query: Type.Object({ email: Type.String(), amount: Type.Optional(Type.Integer()) }),
    handler: ({ query }) => ({ body: query }),
  }),
  route({
    ...about,
    method: 'POST',
    path: '/jobs',
    body: jsonBody(
      Type.Object({
        urls: Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: 5000 }),
        limit: Type.Optional(Nullable),
        more: Type.Object({ name: Type.String({ default: 'none' }) }, { default: {} }),
      }),
      { limit_bytes: 200_000 },
    ),
    handler: ({ body }) => ({ body }),
  }),
  publicRoute({
    ...about,
    method: 'POST',
    path: '/jobs',
    body: jsonBody(Type.Object({ urls: Type.Array(Type.String()) })),
    handler: ({ body }) => ({ body }),
  }),
  route({
    ...about,
    method: 'POST',
    path: '/share',
    body: jsonBody(Type.Object({ hours: Type.Integer({ default: 24 }) }), { optional: true }),
    handler: ({ body }) => ({ body }),
  }),
  route({
    ...about,
    method: 'POST',
    path: '/free',
    body: jsonBody(Type.Record(Type.String(), Type.Unknown())),
    handler: ({ body }) => ({ body }),
  }),
  route({
    ...about,
    method: 'POST',
    path: '/large',
    body: jsonBody(Type.Object({ text: Type.String() }), { limit_bytes: 16 * 1024 * 1024 }),
    handler: ({ body }) => ({ body }),
  }),
  route({ ...about, method: 'POST', path: '/no-body', handler: () => ({ body: {} }) }),
];

let sample: Sample;
test.before(async () => void (sample = await startSample(ROUTES, undefined)));
test.after.always(() => sample?.close());

// biome-ignore lint/suspicious/noExplicitAny: what an answer holds is what these tests ask
type Answer = { status: number; body: any; headers: Headers };
async function get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await sample.request(path, { headers });
  return { status: response.status, body: await response.json(), headers: response.headers };
}
async function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const raw = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
  const init = { method: 'POST', body: raw as string, headers: { 'content-type': 'application/json', ...headers } };
  const response = await sample.request(path, init);
  return { status: response.status, body: await response.json(), headers: response.headers };
}

test('an absent parameter has its default', async (t) => {
  const { body } = await get('/list/a');
  t.deepEqual(body, {
    params: { id: 'a' },
    query: { limit: 50, wide: false, search: '', order: 'desc' },
    headers: {},
  });
});

test('query text becomes the type of its schema', async (t) => {
  const { body } = await get('/list/a%2Fb?limit=7&wide=TRUE&rate=0.5&search=1&order=asc&tag=1&tag=2');
  t.deepEqual(body.params, { id: 'a/b' });
  t.deepEqual(body.query, { limit: 7, wide: true, rate: 0.5, search: '1', order: 'asc', tag: [1, 2] });
  t.is((await get('/list/a?wide=1')).body.query.wide, true);
  t.is((await get('/list/a?wide=0')).body.query.wide, false);
});

const WRONG_QUERIES: [query: string, loc: string[], type: string][] = [
  ['limit=x', ['query', 'limit'], 'integer_type'],
  ['limit=1e1', ['query', 'limit'], 'integer_type'],
  ['limit=0x1', ['query', 'limit'], 'integer_type'],
  ['limit=1.5', ['query', 'limit'], 'integer_type'],
  ['limit=%201', ['query', 'limit'], 'integer_type'],
  ['limit=0', ['query', 'limit'], 'minimum'],
  ['limit=101', ['query', 'limit'], 'maximum'],
  ['limit=99999999999999999999', ['query', 'limit'], 'integer_type'],
  ['limit=1&limit=2', ['query', 'limit'], 'repeated'],
  ['wide=maybe', ['query', 'wide'], 'boolean_type'],
  ['order=up', ['query', 'order'], 'enum'],
  ['tag=1&tag=x', ['query', 'tag', 1 as never], 'integer_type'],
  ['limti=1', ['query', 'limti'], 'unexpected'],
  ['__proto__=1', ['query', '__proto__'], 'unexpected'],
  ['search=a%00b', ['query', 'search'], 'nul'],
  ['search=a%FF', ['query', 'search'], 'encoding'],
  ['search=%ED%A0%80', ['query', 'search'], 'encoding'],
];
for (const [query, loc, type] of WRONG_QUERIES) {
  test(`the service refuses ?${query}: ${type}`, async (t) => {
    const { status, body } = await get(`/list/a?${query}`);
    t.is(status, 422);
    const [problem] = body.detail;
    t.deepEqual([problem.loc, problem.type], [loc, type]);
    t.is(body.detail.length, 1);
  });
}

test('the answer names a missing parameter', async (t) => {
  const { status, body } = await get('/required?amount=x');
  t.is(status, 422);
  t.deepEqual(
    body.detail.map((problem: { loc: string[]; type: string }) => [problem.loc.join('.'), problem.type]).sort(),
    [
      ['query.amount', 'integer_type'],
      ['query.email', 'missing'],
    ],
  );
});

test('the answer to an unknown parameter lists the known ones', async (t) => {
  const { body } = await get('/required?email=a&mail=b');
  t.deepEqual(body.detail, [
    { loc: ['query', 'mail'], msg: 'unknown field; allowed: email, amount', type: 'unexpected' },
  ]);
});

test('the service validates path parameters and headers', async (t) => {
  t.deepEqual((await get('/list/12345678901')).body.detail[0].loc, ['path', 'id']);
  t.deepEqual((await get('/list/a%00')).body.detail[0].loc, ['path', 'id']);
  t.deepEqual((await get('/list/a', { 'idempotency-key': 'x' })).body.detail[0].loc, ['header', 'idempotency-key']);
  const id = '2f1c9f2e-5d0c-4b7b-9a43-0c5c5f4b7d11';
  t.deepEqual((await get('/list/a', { 'idempotency-key': id })).body.headers, { 'idempotency-key': id });
});

test('a handler gets the body with its defaults', async (t) => {
  t.deepEqual((await post('/jobs', { urls: ['a'], limit: null })).body, {
    urls: ['a'],
    limit: null,
    more: { name: 'none' },
  });
});

const WRONG_BODIES: [what: string, body: unknown, loc: (string | number)[], type: string][] = [
  ['an item of another type', { urls: ['a', 'b', 'c', 7] }, ['body', 'urls', 3], 'string_type'],
  ['a field that is missing', {}, ['body', 'urls'], 'missing'],
  ['a field that is not known', { urls: ['a'], url: 'b' }, ['body', 'url'], 'unexpected'],
  ['a nested one', { urls: ['a'], more: { nam: 'x' } }, ['body', 'more', 'nam'], 'unexpected'],
  ['too few items', { urls: [] }, ['body', 'urls'], 'minItems'],
  ['none of the types of a union', { urls: ['a'], limit: 'x' }, ['body', 'limit'], 'union'],
  ['what a branch of a union refuses', { urls: ['a'], limit: 0 }, ['body', 'limit'], 'minimum'],
  ['a list for an object', ['a'], ['body'], 'object_type'],
  ['null', null, ['body'], 'object_type'],
  ['text', '"a"', ['body'], 'object_type'],
  ['a NUL character', { urls: ['a\0'] }, ['body', 'urls', 0], 'nul'],
  ['a NUL character in a name', { urls: ['a'], more: { 'a\0': 1 } }, ['body', 'more', 'a\0'], 'nul'],
  ['half of a surrogate pair', { urls: ['a', 'b\ud800'] }, ['body', 'urls', 1], 'surrogate'],
  ['half of a pair in a nested text', { urls: ['a'], more: { name: '\udc00' } }, ['body', 'more', 'name'], 'surrogate'],
  ['half of a pair in a name', { urls: ['a'], 'n\ud800': 1 }, ['body', 'n\ufffd'], 'surrogate'],
];
for (const [what, body, loc, type] of WRONG_BODIES) {
  test(`the service refuses a body with ${what}: ${type}`, async (t) => {
    const answer = await post('/jobs', body);
    t.is(answer.status, 422);
    t.is(answer.body.detail.length, 1, JSON.stringify(answer.body));
    t.deepEqual([answer.body.detail[0].loc, answer.body.detail[0].type], [loc, type]);
  });
}

test('a parameter may hold a percent sign, and any character in UTF-8', async (t) => {
  const { status, body } = await get(`/list/a?search=100%${encodeURIComponent(' \ufffd😀')}`);
  t.is(status, 200);
  t.is(body.query.search, '100% \ufffd😀');
});

test('an escaped backslash before u0000 is not a NUL', async (t) => {
  t.deepEqual((await post('/jobs', { urls: ['a\\u0000'] })).body.urls, ['a\\u0000']);
});

test('the answer lists all problems of a small body, and the first of a large one', async (t) => {
  const numbers = (count: number) => ({ urls: Array.from({ length: count }, (_, i) => i) });
  t.is((await post('/jobs', numbers(3))).body.detail.length, 3);
  t.is((await post('/jobs', numbers(1000))).body.detail.length, 50);
  const large = { urls: Array.from({ length: 2000 }, () => 'x'.repeat(40)), limit: 'x', more: 1 };
  t.is((await post('/jobs', large)).body.detail.length, 1);
});

test('an error of the public API has the same problems', async (t) => {
  const { status, body } = await post('/api/v2/jobs', { urls: [1] });
  t.is(status, 422);
  const problems = [{ loc: ['body', 'urls', 0], msg: 'must be string', type: 'string_type' }];
  t.deepEqual(body, {
    error: { code: 'validation_error', message: 'body.urls.0: must be string', details: { problems } },
    detail: problems,
  });
});

const WRONG_FORMS: [what: string, body: string | Uint8Array, type: string, status: number, code: string][] = [
  ['broken JSON', '{"urls": [', 'application/json', 400, 'invalid_json'],
  ['bytes that are not UTF-8', Uint8Array.from([0x22, 0xff, 0x22]), 'application/json', 400, 'invalid_encoding'],
  ['another charset', '{}', 'application/json; charset=utf-16', 415, 'unsupported_charset'],
  ['another content type', 'urls=a', 'application/x-www-form-urlencoded', 415, 'unsupported_media_type'],
  ['more bytes than the route takes', ' '.repeat(200_001), 'application/json', 413, 'too_large'],
  ['endless nesting', '['.repeat(9_000) + ']'.repeat(9_000), 'application/json', 400, 'too_deep'],
];
for (const [what, body, type, status, code] of WRONG_FORMS) {
  test(`${what}: ${status} ${code}`, async (t) => {
    const answer = await post('/jobs', body, { 'content-type': type });
    t.deepEqual([answer.status, answer.body.code], [status, code]);
  });
}

test('the service refuses millions of values before it parses them, and does not count text', async (t) => {
  const refused = await post('/large', `[${'[],'.repeat(400_000)}1]`);
  t.deepEqual([refused.status, refused.body.code], [413, 'too_many_values']);
  const text = '[{"\\\\\\",'.repeat(200_000);
  t.is((await post('/large', { text })).body.text, text);
});

test('the service takes JSON under +json types and with charset=utf-8', async (t) => {
  t.is(
    (await post('/jobs', { urls: ['a'] }, { 'content-type': 'application/problem+json; charset=UTF-8' })).status,
    200,
  );
});

test('the service refuses a compressed body before it inflates it', async (t) => {
  t.deepEqual((await post('/jobs', '{}', { 'content-encoding': 'gzip' })).body.code, 'unsupported_encoding');
});

test('an absent optional body is an empty object', async (t) => {
  const response = await sample.request('/share', { method: 'POST' });
  t.deepEqual(await response.json(), { hours: 24 });
  t.deepEqual((await post('/share', '')).body, { hours: 24 });
});

test('the service refuses a request without its required body', async (t) => {
  const response = await sample.request('/jobs', { method: 'POST' });
  t.is(response.status, 422);
  t.deepEqual(await response.json(), { detail: [{ loc: ['body'], msg: 'is required', type: 'missing' }] });
});

test('a free-form body passes unchanged, and changes no prototype', async (t) => {
  const { body } = await post('/free', '{"a":{"b":[1]},"__proto__":{"polluted":true}}');
  t.deepEqual(body.a, { b: [1] });
  t.is(({} as { polluted?: boolean }).polluted, undefined);
});

test('a route without a body ignores one', async (t) => {
  t.is((await post('/no-body', {})).status, 200);
});

test('the service refuses a chunked body over the limit while it is sent', async (t) => {
  const { status, code } = await new Promise<{ status: number; code: string }>((resolve, reject) => {
    const request = httpRequest(`${sample.url}/jobs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    });
    request.on('error', reject).on('response', async (response) => {
      const chunks = await response.toArray();
      resolve({ status: response.statusCode!, code: JSON.parse(Buffer.concat(chunks).toString()).code });
    });
    // The request never ends: the answer comes all the same.
    request.write(' '.repeat(300_000));
  });
  t.deepEqual([status, code], [413, 'too_large']);
});
