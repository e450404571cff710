// A key does what its scopes allow, by whichever way, until its end.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { openTestClient, startTestService, type TestService } from '../support/service.ts';

let service: TestService;
test.before(async () => void (service = await startTestService()));
test.after.always(() => service?.stop());

async function keyWith(limits: object) {
  const owner = await service.client(`user-${randomUUID()}`);
  const made = await owner.ask('POST', '/users/me/api-keys', limits);
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  return { owner, made: made.body, client: openTestClient(service.url, made.body.key, '/api/v2') };
}

const ASKED = {
  read: ['GET', '/api/v2/jobs', undefined],
  check: ['POST', '/api/v2/jobs', { urls: ['http://127.0.0.1:9/'] }],
  webhooks: ['GET', '/api/v2/webhooks/endpoints', undefined],
  billing: ['GET', '/api/v2/usage', undefined],
} as const;

test('each scope admits to its own operations and to no others', async (t) => {
  for (const scope of Object.keys(ASKED)) {
    const { client } = await keyWith({ scopes: [scope] });
    for (const [other, [method, path, body]] of Object.entries(ASKED)) {
      const { status, body: answer } = await client.ask(method, path, body);
      const is_allowed = other === scope || (scope === 'read' && other === 'billing');
      t.is(status < 300, is_allowed, `${scope}: ${method} ${path} ${status}`);
      if (!is_allowed) t.like(answer.error, { code: 'forbidden', details: { reason: 'scope_missing' } });
    }
  }
  const { client, made, owner } = await keyWith({});
  t.deepEqual([...made.scopes].sort(), Object.keys(ASKED).sort());
  for (const [method, path, body] of Object.values(ASKED)) t.true((await client.ask(method, path, body)).status < 300);
  const { items } = (await owner.ask('GET', '/users/me/api-keys')).body;
  t.deepEqual(items[0].scopes, made.scopes);
});

test('an agent is bound by the scopes of its key', async (t) => {
  const { made } = await keyWith({ scopes: ['read'] });
  const call = async (name: string, args: object) => {
    const response = await fetch(`${service.url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${made.key}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
    });
    return await response.text();
  };
  t.regex(await call('start_job', { urls: ['http://127.0.0.1:9/'] }), /scopes/);
  t.notRegex(await call('get_usage', {}), /none of the scopes/);
});

test('a key ends when its owner said', async (t) => {
  const soon = new Date(Date.now() + 3_600_000).toISOString();
  const { client, made, owner } = await keyWith({ expires_at: soon });
  t.is(made.expires_at, soon);
  t.is((await client.ask('GET', '/api/v2/jobs')).status, 200);
  const past = await owner.ask('POST', '/users/me/api-keys', { expires_at: '2020-01-01T00:00:00Z' });
  t.deepEqual(past.body.detail[0].loc, ['body', 'expires_at']);
  const brief = await keyWith({ expires_at: new Date(Date.now() + 400).toISOString() });
  const until = Date.parse(brief.made.expires_at);
  let status = 200;
  while (Date.now() <= until) status = (await brief.client.ask('GET', '/api/v2/jobs')).status;
  status = (await brief.client.ask('GET', '/api/v2/jobs')).status;
  t.is(status, 401);
});
