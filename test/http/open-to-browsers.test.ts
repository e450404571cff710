// What pages of other origins, browsers and link decorators may do; and that a path says what it takes.
import test from 'ava';
import { openDocuments } from '../support/documents.ts';
import { startTestService, type TestService } from '../support/service.ts';

const APP = 'https://app.example.com';
let service: TestService;
test.before(async () => void (service = await startTestService({ CORS_ORIGINS: `${APP}, https://other.example.com` })));
test.after.always(() => service?.stop());

const send = (path: string, init: RequestInit = {}) => fetch(service.url + path, init);
const preflight = (path: string, origin: string, method = 'POST') =>
  send(path, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': method,
      'access-control-request-headers': 'authorization,idempotency-key',
    },
  });

test('pages of the named origins read both APIs, their errors too, and no other origin does', async (t) => {
  for (const path of ['/api/v2/jobs', '/jobs?email=a@example.com']) {
    const ours = await send(path, { headers: { origin: APP } });
    t.is(ours.status, 401);
    t.is(ours.headers.get('access-control-allow-origin'), APP);
    t.regex(ours.headers.get('access-control-expose-headers') ?? '', /Retry-After/);
    t.regex(ours.headers.get('vary') ?? '', /Origin/);
    t.is(ours.headers.get('access-control-allow-credentials'), null);
    const theirs = await send(path, { headers: { origin: 'https://evil.example' } });
    t.is(theirs.headers.get('access-control-allow-origin'), null);
    t.regex(theirs.headers.get('vary') ?? '', /Origin/);
  }
  const allowed = await preflight('/api/v2/jobs', APP);
  t.is(allowed.status, 204);
  t.is(allowed.headers.get('access-control-allow-methods'), allowed.headers.get('allow'));
  t.regex(allowed.headers.get('allow') ?? '', /POST/);
  t.is(allowed.headers.get('access-control-allow-headers'), 'authorization,idempotency-key');
  t.is((await preflight('/api/v2/jobs', 'https://evil.example')).headers.get('access-control-allow-origin'), null);
  for (const origin of [APP, 'https://evil.example']) t.is((await preflight('/api/v2/nowhere', origin)).status, 404);
});

test('a client of MCP in a page reads where to sign in', async (t) => {
  const answer = await send('/mcp', {
    method: 'POST',
    headers: { origin: APP, 'content-type': 'application/json' },
    body: '{}',
  });
  t.is(answer.status, 401);
  t.regex(answer.headers.get('www-authenticate') ?? '', /^Bearer/);
  t.regex(answer.headers.get('access-control-expose-headers') ?? '', /\bWWW-Authenticate\b/);
});

test('the public figures, prices and documents are for every origin', async (t) => {
  const paths = [
    '/public-stats',
    '/credits/packages',
    '/v2/subscription/plans',
    '/openapi.json',
    '/api/v2/openapi.json',
  ];
  for (const path of paths) {
    const answer = await send(path, { headers: { origin: 'https://any.example' } });
    t.is(answer.status, 200, path);
    t.is(answer.headers.get('access-control-allow-origin'), '*', path);
    t.is(answer.headers.get('cross-origin-resource-policy'), 'cross-origin', path);
  }
  t.is(
    (await preflight('/public-stats', 'https://any.example', 'GET')).headers.get('access-control-allow-origin'),
    '*',
  );
});

test('each path of the documents takes what OPTIONS says, and refuses the rest with the same list', async (t) => {
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
  for (const { paths } of Object.values(openDocuments()) as { paths: Record<string, object> }[]) {
    for (const [template, item] of Object.entries(paths)) {
      const path = template.replace(/\{\w+\}/g, 'x1');
      const documented = methods.filter((method) => method.toLowerCase() in item);
      const { headers, status } = await send(path, { method: 'OPTIONS' });
      t.is(status, 204, path);
      const allow = (headers.get('allow') ?? '').split(', ');
      const taken = [...documented, ...(documented.includes('GET') ? ['HEAD'] : []), 'OPTIONS'];
      t.deepEqual(allow.toSorted(), taken.toSorted(), path);
      const refused = await send(path, { method: methods.find((method) => !documented.includes(method))! });
      t.is(refused.headers.get('allow'), headers.get('allow'), path);
      t.is(refused.status, 405, path);
    }
  }
});

test('a parameter without a value counts as absent, except in a deletion', async (t) => {
  const admin = await service.client('root', { is_admin: true });
  for (const path of ['/logs?domain=&status_code=&page=', '/admin/users?search=&limit=', '/domains/blocked?sort_by=']) {
    t.is((await admin.ask('GET', path)).status, 200, path);
  }
  t.is((await admin.ask('DELETE', '/logs?domain=&older_than_hours=1')).status, 422);
});

test('what mail programs and caches add to links counts for nothing on open routes alone', async (t) => {
  for (const path of ['/public-stats', '/credits/packages', '/api/v2/openapi.json', '/']) {
    t.is((await send(`${path}?utm_source=mail&utm_campaign=x&fbclid=1&_=17&cb=2`)).status, 200, path);
  }
  t.is((await send('/public-stats?period=7d')).status, 422);
  const admin = await service.client('root', { is_admin: true });
  t.is((await admin.ask('GET', '/admin/users?utm_source=mail')).status, 422);
});

test('every list takes limit and offset up to the same maximum, and those that count pages say both', async (t) => {
  const admin = await service.client('root', { is_admin: true });
  const lists = Object.entries(openDocuments().gateway.paths as Record<string, { get?: { parameters?: Parameter[] } }>);
  interface Parameter {
    name: string;
    in: string;
    schema: { maximum?: number };
  }
  for (const [path, { get }] of lists) {
    const limit = get?.parameters?.find((one) => one.in === 'query' && one.name === 'limit');
    const page = get?.parameters?.find((one) => one.in === 'query' && one.name === 'page');
    if (page) t.truthy(limit, path);
    if (limit) t.is(limit.schema.maximum, 1000, path);
    if (limit)
      t.truthy(
        get?.parameters?.find((one) => one.name === 'offset'),
        path,
      );
  }
  const { body } = await admin.ask('GET', '/logs?limit=10&offset=20');
  t.like(body, { limit: 10, offset: 20, page: 3, page_size: 10, items: [] });
  t.like((await admin.ask('GET', '/proxies?page=3&limit=10')).body, { limit: 10, offset: 20, page: 3, page_size: 10 });
});

test('messages are words', async (t) => {
  const admin = await service.client('root', { is_admin: true });
  const wrong: [string, string, object | undefined, RegExp][] = [
    ['GET', '/admin/users?limit=0', undefined, /must be at least 1$/],
    ['GET', '/admin/users?limit=5000', undefined, /must be at most 1000$/],
    ['POST', '/admin/growth-notes', { text: '' }, /must not be empty|must not be blank/],
    ['POST', '/admin/growth-notes', { text: ' ' }, /must not be blank/],
    ['POST', '/domains/blocked', { domain: 'a.example', block_type: 'a b' }, /must have no spaces/],
    ['GET', '/share/x?status_codes=abc', undefined, /status codes with commas/],
  ];
  for (const [method, path, body, words] of wrong) {
    const answer = await admin.ask(method, path, body);
    t.is(answer.status, 422, path);
    const [{ msg }] = answer.body.detail;
    t.regex(msg, words, path);
    t.notRegex(msg, /[\^\\$]|NOT|pattern|format/, path);
  }
});
