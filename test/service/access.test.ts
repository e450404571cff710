// Who gets in where, from outside: every route of the service asked by every kind of caller, each with the status it
// must get. A route that is not in the table fails the test, and so does one whose access is not what the table says.
import test from 'ava';
import pino from 'pino';
import { Registry } from 'prom-client';
import { issueLocalToken } from '../../adapters/identity/index.ts';
import { ALL_ROUTES } from '../../http/all-routes.ts';
import { MCP } from '../../http/apis/mcp.ts';
import { systemRoutes } from '../../http/docs/system.ts';
import type { Route } from '../../http/frame/route.ts';
import { accessOf, allCredentials, CALLERS as COMMON_CALLERS, expectedAccess, type Shown } from '../support/access.ts';
import { until } from '../support/behind.ts';
import { type Descriptions, readDescriptions } from '../support/described.ts';
import { type Answer, answerOf, startTestService, type TestClient, type TestService } from '../support/service.ts';

/** Those of any frame, and two more of the public API. */
const CALLERS = [...COMMON_CALLERS, 'revoked_key', 'other_key', 'test_key'] as const;
type Caller = (typeof CALLERS)[number];

interface Row {
  access: Shown;
  /** The answer to who gets in. */
  status: number;
  /** The answer about someone else's job, where the route is about a job that has an owner. */
  foreign?: 403 | 404;
  /** Who gets in, and is refused by the handler for a reason of its own. */
  but?: Partial<Record<Caller, number>>;
  /** After `?`. */
  query?: string;
  body?: () => RequestInit;
  /** Asks about a job that has just ended each time: the route does not leave it as it is. */
  fresh?: true;
}

const json = (value: unknown): RequestInit => ({
  body: JSON.stringify(value),
  headers: { 'content-type': 'application/json' },
});
function upload(): RequestInit {
  const form = new FormData();
  form.append('file', new Blob(['http://127.0.0.1:9/a\n']), 'a.csv');
  return { body: form };
}

/** Of webhook endpoints, which are in both APIs. `others`: callers who get in and have no such endpoint. */
const webhookRows = (base: string, access: Shown, others: readonly Caller[]): Record<string, Row> => {
  const path = `${base}/webhooks/endpoints`;
  const but = Object.fromEntries(others.map((caller) => [caller, 404]));
  return {
    [`POST ${path}`]: { access, status: 201, body: () => json({ url: 'https://example.com/hook' }) },
    [`GET ${path}`]: { access, status: 200 },
    [`GET ${path}/{id}`]: { access, status: 200, but },
    [`DELETE ${path}/{id}`]: { access, status: 204, but },
    [`POST ${path}/{id}/enable`]: { access, status: 200, but },
    [`POST ${path}/{id}/test`]: { access, status: 202, but },
    [`POST ${path}/{id}/secret`]: { access, status: 200, but, body: () => json({ overlap_seconds: 0 }) },
    [`GET ${path}/{id}/deliveries`]: { access, status: 200, but },
    [`POST ${path}/{id}/deliveries/{delivery_id}/resend`]: { access, status: 404 },
  };
};

/** The job, the API key and the webhook endpoint in a path are the user's. A row for each route: one that has none fails the test. */
const TABLE: Readonly<Record<string, Row>> = {
  'GET /healthz': { access: 'none', status: 200 },
  'GET /readyz': { access: 'none', status: 200 },
  'GET /metrics': { access: 'none', status: 200 },
  'GET /': { access: 'none', status: 200 },
  'GET /audit/heads': { access: 'none', status: 200 },
  'GET /audit/consistency': { access: 'none', status: 200, query: 'first=0' },
  'GET /audit/inclusion': { access: 'user', status: 404, query: 'transaction_id=none' },
  'GET /console': { access: 'none', status: 200 },
  'GET /console/{area}': { access: 'none', status: 200, query: 'any=thing' },
  'GET /console/{area}/{item}': { access: 'none', status: 200 },
  'GET /console/{area}/{item}/{part}': { access: 'none', status: 200 },
  'GET /console/assets/{file}': { access: 'none', status: 404 },
  'GET /console/provider/sign-in': { access: 'none', status: 404 },
  'GET /console/provider/return': { access: 'none', status: 404, query: 'code=x&state=y' },
  'POST /console/session': { access: 'none', status: 401, body: () => json({ code: 'x' }) },
  'DELETE /console/session': { access: 'user', status: 204 },
  'GET /docs': { access: 'none', status: 200 },
  'GET /docs/{file}': { access: 'none', status: 404 },
  'GET /openapi.json': { access: 'none', status: 200 },
  'GET /api/v2/openapi.json': { access: 'none', status: 200 },
  'POST /jobs': { access: 'user', status: 201, body: upload },
  'GET /jobs': { access: 'user', status: 200, query: 'email=alice@example.com', but: { other_user: 403 } },
  'GET /jobs/{job_id}': { access: 'owner', status: 200, foreign: 404 },
  'GET /jobs/{job_id}/events': { access: 'owner', status: 200, foreign: 404 },
  'GET /jobs/{job_id}/results': { access: 'none', status: 200 },
  'GET /jobs/{job_id}/rejected': { access: 'owner', status: 200, foreign: 404 },
  'GET /jobs/{job_id}/changes': {
    access: 'owner',
    status: 404,
    foreign: 404,
    query: `since=${'0'.repeat(8)}-0000-4000-8000-${'0'.repeat(12)}`,
  },
  'GET /jobs/{job_id}/stats': { access: 'none', status: 200 },
  'GET /jobs/{job_id}/filter-options': { access: 'none', status: 200 },
  'GET /jobs/{job_id}/url-list': { access: 'none', status: 200 },
  'POST /jobs/{job_id}/pause': { access: 'owner', status: 409, foreign: 404 },
  'POST /jobs/{job_id}/resume': { access: 'owner', status: 409, foreign: 404 },
  'POST /jobs/{job_id}/cancel': { access: 'owner', status: 409, foreign: 404 },
  'DELETE /jobs/{job_id}': { access: 'owner-or-admin', status: 200, foreign: 403, fresh: true },
  'POST /jobs/bulk-delete': { access: 'user', status: 200, body: () => json({ job_ids: ['unknown'] }) },
  'GET /jobs/{job_id}/export': { access: 'owner', status: 200, foreign: 404 },
  'GET /jobs/{job_id}/download': { access: 'owner', status: 200, foreign: 404 },
  'GET /downloads/{job_id}': { access: 'none', status: 403, query: 'expires=9999999999&signature=x' },
  'GET /files': { access: 'none', status: 403, query: 'key=a&name=a&type=text/csv&expires=9999999999&signature=x' },
  'POST /jobs/{job_id}/share': { access: 'owner', status: 201, foreign: 404 },
  'GET /jobs/{job_id}/shares': { access: 'owner', status: 200, foreign: 404 },
  'DELETE /jobs/{job_id}/share/{token}': { access: 'owner', status: 404, foreign: 404 },
  'GET /share/{token}': { access: 'none', status: 404 },
  'POST /check-domains': { access: 'user', status: 200, body: () => json({ domains: ['example.com'] }) },
  'POST /analyze-csv': { access: 'user', status: 200, body: upload },
  'GET /domains/blocked': { access: 'admin', status: 200 },
  'POST /domains/blocked': { access: 'admin', status: 201, body: () => json({ domain: 'blocked.example' }) },
  'DELETE /domains/blocked/{domain}': { access: 'admin', status: 404 },
  'GET /domains/health': { access: 'admin', status: 200 },
  'GET /domains/breakdown': { access: 'admin', status: 200, query: 'domain=127.0.0.1' },
  'GET /admin/growth-dashboard': { access: 'admin', status: 200 },
  'GET /admin/revenue-review': { access: 'admin', status: 200 },
  'GET /admin/cohort-table': { access: 'admin', status: 200 },
  'GET /admin/retention-stats': { access: 'admin', status: 200 },
  'GET /admin/user-activity/{user_id}': { access: 'admin', status: 404 },
  'GET /admin/paywall-users': { access: 'admin', status: 200 },
  'POST /admin/growth-notes': { access: 'admin', status: 201, body: () => json({ text: 'A new price' }) },
  'DELETE /admin/growth-notes/{note_id}': { access: 'admin', status: 404 },
  'GET /public-stats': { access: 'none', status: 200 },
  'GET /admin/jobs': { access: 'admin', status: 200 },
  'GET /admin/jobs/{job_id}': { access: 'admin', status: 200 },
  'GET /robots.txt': { access: 'none', status: 200 },
  'GET /llms.txt': { access: 'none', status: 200 },
  'GET /admin/users': { access: 'admin', status: 200 },
  'GET /admin/users/{user_id}': { access: 'admin', status: 404 },
  'PATCH /admin/users/{user_id}': { access: 'admin', status: 404, body: () => json({ custom_limit: 5 }) },
  'POST /admin/users/{user_id}/adjust-credits': { access: 'admin', status: 404, query: 'amount=5' },
  'POST /admin/users/{user_id}/set-usage': { access: 'admin', status: 404, query: 'new_usage=5' },
  'PATCH /admin/users/{user_id}/notes': { access: 'admin', status: 404, body: () => json({ notes: 'a' }) },
  'GET /admin/users/{user_id}/sessions': { access: 'admin', status: 200 },
  'DELETE /admin/users/{user_id}/sessions': { access: 'admin', status: 204 },
  'PATCH /admin/users/{user_id}/star': { access: 'admin', status: 404 },
  'GET /admin/audit-trail': { access: 'admin', status: 200 },
  'POST /admin/jobs/{job_id}/rerun': { access: 'admin', status: 409 },
  'GET /admin/jobs/{job_id}/input-csv': { access: 'admin', status: 200 },
  'GET /admin/backups': { access: 'admin', status: 200 },
  'POST /admin/backups': { access: 'admin', status: 202 },
  'GET /logs': { access: 'admin', status: 200 },
  'GET /logs/filter-options': { access: 'admin', status: 200 },
  'GET /logs/stats': { access: 'admin', status: 200 },
  'DELETE /logs': { access: 'admin', status: 200, query: 'older_than_hours=1' },
  'DELETE /logs/{log_id}': { access: 'admin', status: 404 },
  'POST /logs/truncate': { access: 'admin', status: 200 },
  'GET /admin/maintenance': { access: 'admin', status: 200 },
  'POST /admin/maintenance': { access: 'admin', status: 200, body: () => json({ enabled: false }) },
  'GET /admin/services': { access: 'admin', status: 200 },
  'GET /admin/projections': { access: 'admin', status: 200 },
  'POST /admin/projections/{projection}/rebuild': { access: 'admin', status: 404, body: () => json({}) },
  'GET /proxies': { access: 'admin', status: 200 },
  'GET /proxies/{proxy_id}/blocked-domains': { access: 'admin', status: 404 },
  'POST /proxies/refresh': { access: 'admin', status: 409 },
  'GET /proxies/stats': { access: 'admin', status: 200 },
  'GET /users/me': { access: 'user', status: 200 },
  'GET /users/me/quota': { access: 'user', status: 200 },
  'GET /users/me/period-usage': { access: 'user', status: 200 },
  'GET /users/me/export': { access: 'user', status: 200 },
  'POST /users/me/fingerprint': { access: 'user', status: 200, body: () => json({ os: 'Linux' }) },
  'POST /paywall-events': { access: 'user', status: 202, body: () => json({ event: 'paywall_shown' }) },
  'POST /agency-events': { access: 'shared-secret', status: 202, body: () => json({ event: 'a', agency_id: 'a' }) },
  'POST /internal/identity-webhook': { access: 'signature', status: 204, body: () => json({ type: 'user.created' }) },
  'GET /users/me/credits': { access: 'user', status: 200 },
  'GET /users/me/credit-transactions': { access: 'user', status: 200 },
  'PUT /users/me/spending-limit': { access: 'user', status: 200, body: () => json({ limit: null }) },
  'GET /users/me/credit-mails': { access: 'user', status: 200 },
  'PUT /users/me/credit-mails': {
    ...{ access: 'user', status: 200 },
    body: () => json({ low_balance: null, expiring_credits: true }),
  },
  'GET /users/me/payments': { access: 'user', status: 200 },
  'GET /users/me/payments/{payment_id}/document': { access: 'user', status: 404 },
  'GET /credits/packages': { access: 'none', status: 200 },
  'POST /credits/purchase': { access: 'user', status: 200, body: () => json({ package_id: 'credits_5000' }) },
  'GET /v2/subscription/plans': { access: 'none', status: 200 },
  'POST /checkout/create': { access: 'user', status: 200, body: () => json({ plan: 'pro' }) },
  'POST /v2/subscription/checkout': { access: 'user', status: 200, body: () => json({ plan: 'starter' }) },
  'GET /admin/mails': { access: 'admin', status: 200 },
  'POST /admin/mails/test': { access: 'admin', status: 200, body: () => json({ to: 'op@example.com' }) },
  'GET /admin/payment-issues': { access: 'admin', status: 200 },
  'POST /admin/payment-issues/{issue_id}/resolve': { access: 'admin', status: 422 },
  'POST /portal/create': { access: 'user', status: 200 },
  'POST /subscriptions/{subscription_id}/end': { access: 'user', status: 404 },
  'POST /admin/users/{user_id}/subscriptions/{subscription_id}/end': { access: 'admin', status: 404 },
  'POST /webhooks/payment': { access: 'signature', status: 401, body: () => json({}) },
  'GET /sandbox/checkout/{session_id}': { access: 'none', status: 404 },
  'POST /sandbox/checkout/{session_id}/pay': { access: 'none', status: 404 },
  'POST /sandbox/checkout/{session_id}/decline': { access: 'none', status: 404 },
  'GET /sandbox/portal/{session_id}': { access: 'none', status: 404 },
  'POST /sandbox/portal/{session_id}/{action}': { access: 'none', status: 422 },
  'GET /checkouts/{outcome}': { access: 'none', status: 422 },
  'POST /users/me/api-keys': { access: 'user', status: 201, body: () => json({ name: 'a' }) },
  'GET /users/me/sessions': { access: 'user', status: 200 },
  'DELETE /users/me/sessions': { access: 'user', status: 204 },
  'DELETE /users/me/sessions/{id}': { access: 'user', status: 404 },
  'GET /users/me/api-keys': { access: 'user', status: 200 },
  'DELETE /users/me/api-keys/{id}': { access: 'user', status: 204, but: { other_user: 404, admin: 404 } },
  'POST /api/v2/jobs': {
    access: 'api-key',
    status: 201,
    but: { test_key: 422 },
    body: () => json({ urls: ['http://127.0.0.1:9/b'] }),
  },
  'POST /api/v2/jobs/wait': {
    access: 'api-key',
    status: 201,
    but: { test_key: 422 },
    query: 'wait_seconds=0',
    body: () => json({ urls: ['http://127.0.0.1:9/b'] }),
  },
  'DELETE /api/v2/jobs/{id}': { access: 'api-key', status: 409, foreign: 404 },
  'POST /mcp': {
    access: 'key-or-token',
    status: 200,
    body: () => {
      const { headers, ...rest } = json({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
      return { ...rest, headers: { ...headers, accept: 'application/json, text/event-stream' } };
    },
  },
  'GET /.well-known/oauth-protected-resource': { access: 'none', status: 404 },
  'GET /.well-known/oauth-protected-resource/mcp': { access: 'none', status: 404 },
  'GET /api/v2/usage': { access: 'api-key', status: 200 },
  'GET /api/v2/jobs': { access: 'api-key', status: 200 },
  'GET /api/v2/jobs/{id}': { access: 'api-key', status: 200, foreign: 404 },
  'GET /api/v2/jobs/{id}/export': { access: 'api-key', status: 200, foreign: 404 },
  'GET /api/v2/jobs/{id}/rejected': { access: 'api-key', status: 200, foreign: 404 },
  'POST /api/v2/jobs/{id}/resume': { access: 'api-key', status: 409, foreign: 404 },
  'GET /api/v2/jobs/{id}/results': { access: 'api-key', status: 200, foreign: 404 },
  ...webhookRows('/api/v2', 'api-key', ['other_key', 'test_key']),
  ...webhookRows('', 'user', ['other_user', 'admin']),
};

/** As the table of the service has them. */
const ROUTES: readonly Route<never>[] = [
  ...ALL_ROUTES,
  ...systemRoutes(ALL_ROUTES, {
    log: pino({ level: 'silent' }),
    registry: new Registry(),
    readiness: {},
    metrics_on_port: true,
  }),
];
const nameOf = ({ method, path }: Route<never>) => `${method} ${path}`;

let service: TestService;
let alice: TestClient;
let described: Descriptions;
let credentials: Record<Caller, string | null>;
let job_id: string;
let key_id: string;
let endpoint_id: string;
let deleted_endpoint_id: string;

test.before(async () => {
  service = await startTestService();
  // Each role says that it works a moment after its start.
  await until(async () => (await fetch(`${service.url}/readyz`)).ok);
  described = await readDescriptions(service.url);
  alice = await service.client('alice');
  const [bob, root, key, other_key] = await Promise.all([
    service.client('bob'),
    service.client('root', { is_admin: true }),
    service.keyHolder('alice'),
    service.keyHolder('bob'),
  ]);
  const of_alice = { user_id: 'alice', email: 'alice@example.com', is_admin: true };
  const expired = await issueLocalToken(service.data_dir, { ...of_alice, hours: -1 });
  const good = { user: alice.token, other_user: bob.token, admin: root.token, api_key: key.token, expired };
  const makeKey = async (name: string) => (await alice.ask('POST', '/users/me/api-keys', { name })).body;
  const tested = (await alice.ask('POST', '/users/me/api-keys', { name: 'test', test: true })).body;
  const revoked = await makeKey('revoked');
  await alice.ask('DELETE', `/users/me/api-keys/${revoked.id}`);
  credentials = {
    ...(await allCredentials(good)),
    revoked_key: `Bearer ${revoked.key}`,
    other_key: `Bearer ${other_key.token}`,
    test_key: `Bearer ${tested.key}`,
  };
  key_id = (await makeKey('spare')).id;
  job_id = await endedJob();
  const makeEndpoint = async () => {
    const made = await key.ask('POST', '/api/v2/webhooks/endpoints', { url: 'https://example.com/hook' });
    return made.body.id;
  };
  [endpoint_id, deleted_endpoint_id] = [await makeEndpoint(), await makeEndpoint()];
});
/** Of alice. */
async function endedJob(): Promise<string> {
  const { body: job } = await alice.upload('http://127.0.0.1:9/refused\n');
  await alice.ended(job.job_id);
  return job.job_id;
}
test.after.always(() => service?.stop());

test('the access table has every served route', (t) => {
  const by_name = (names: readonly string[]) => [...names].sort();
  t.deepEqual(by_name(Object.keys(TABLE)), by_name(ROUTES.map(nameOf)));
  // MCP describes itself: its answers are JSON-RPC's.
  t.deepEqual(by_name(described.operations), by_name(ROUTES.filter(({ api }) => api !== MCP).map(nameOf)));
  for (const route of ROUTES) t.is(accessOf(route), TABLE[nameOf(route)]?.access as Shown, nameOf(route));
});

function expectedOf({ access, foreign, status, but }: Row, caller: Caller): number {
  const of_others = { job: foreign === undefined ? null : 'job', foreign: foreign ?? 404 };
  const gates = expectedAccess({ access, ...of_others });
  const gate = {
    ...gates,
    revoked_key: gates.unknown_key,
    other_key: access === 'api-key' ? (foreign ?? 'in') : gates.api_key,
    test_key: access === 'api-key' ? (foreign ?? 'in') : gates.api_key,
  }[caller];
  return gate === 'in' ? (but?.[caller] ?? status) : gate;
}

async function idIn(name: string, row: Row): Promise<string> {
  if (name.includes(' /users/me/api-keys/')) return key_id;
  if (name.includes('/webhooks/endpoints')) return name.startsWith('DELETE') ? deleted_endpoint_id : endpoint_id;
  return row.fresh ? await endedJob() : job_id;
}

async function ask(name: string, row: Row, caller: Caller, asked_method?: string): Promise<Answer> {
  const [method, template] = name.split(' ') as [string, string];
  const path = template.replace(/\{\w+\}/, await idIn(name, row));
  const init = row.body?.() ?? {};
  const headers = new Headers(init.headers);
  const authorization = credentials[caller];
  if (authorization !== null) headers.set('authorization', authorization);
  const url = `${service.url}${path}${row.query ? `?${row.query}` : ''}`;
  return answerOf(await fetch(url, { ...init, method: asked_method ?? method, headers }));
}

/** All tests at once would make the first requests of some wait longer for their turn than the service lets them. */
const AT_ONCE = 8;
const lanes = Array.from({ length: AT_ONCE }, () => Promise.resolve());
let entered = 0;
function inTurn(run: () => Promise<void>): Promise<void> {
  const lane = entered++ % AT_ONCE;
  const done = lanes[lane]!.then(run);
  lanes[lane] = done.catch(() => {});
  return done;
}

for (const [name, row] of Object.entries(TABLE)) {
  const [method, path] = name.split(' ') as [string, string];
  test(`${name} admits: ${row.access}`, async (t) => {
    const wrong: string[] = [];
    const asked_head = new Set<boolean>();
    await inTurn(async () => {
      for (const caller of CALLERS) {
        const expected = expectedOf(row, caller);
        const answer = await ask(name, row, caller);
        const { status, headers } = answer;
        if (status !== expected) wrong.push(`as ${caller}: ${status}, not ${expected}`);
        if (status === 401 && !headers.get('www-authenticate')) wrong.push(`as ${caller}: 401 without a challenge`);
        const problem = path === '/mcp' ? null : described.problemOf(method, path, answer);
        if (problem !== null) wrong.push(`as ${caller}: ${problem}`);
        // A HEAD takes the way of its GET: one caller who is refused and one who is not show as much as all.
        if (method !== 'GET' || asked_head.has(expected < 400)) continue;
        asked_head.add(expected < 400);
        const head = await ask(name, row, caller, 'HEAD');
        if (head.status !== expected) wrong.push(`HEAD as ${caller}: ${head.status}, not ${expected}`);
      }
    });
    t.deepEqual(wrong, []);
  });
}

test('a refusal does not reveal whether the job exists', async (t) => {
  const about = async (caller: Caller, path: string) => {
    const { status, body } = await ask(`GET ${path}`, { access: 'none', status: 0 }, caller);
    return { status, body };
  };
  const absent = '00000000-0000-4000-8000-000000000000';
  t.deepEqual(await about('other_user', '/jobs/{job_id}'), await about('other_user', `/jobs/${absent}`));
  t.deepEqual(await about('other_key', '/api/v2/jobs/{id}'), await about('other_key', `/api/v2/jobs/${absent}`));
});

test('the public API refuses callers with one code', async (t) => {
  for (const [caller, reason] of [
    ['none', 'unauthenticated'],
    ['garbage', 'invalid_api_key'],
    ['revoked_key', 'invalid_api_key'],
    ['user', 'token_on_public_api'],
  ] as const) {
    const { status, body } = await ask('GET /api/v2/jobs/{id}', TABLE['GET /api/v2/jobs/{id}']!, caller);
    t.deepEqual([status, body.error.code, body.error.details], [401, 'unauthorized', { reason }], caller);
  }
});
