// Every POST that makes something makes it once for each idempotency key, whatever becomes of the first answer.
import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import type { EventStore } from '../../../events/event-store.ts';
import { openOnce } from '../../../http/frame/once.ts';
import type { Reply, Route, RouteRequest } from '../../../http/frame/route.ts';
import { startTestService, type TestClient, type TestService } from '../../support/service.ts';
import { openSite, type Site } from '../../support/sites.ts';
import { openTestStores } from '../../support/stores.ts';

let service: TestService;
let site: Site;
test.before(async () => {
  service = await startTestService({ PAYMENT_SANDBOX: 'on', WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8' });
  site = await openSite();
});
test.after.always(async () => {
  await service?.stop();
  await site?.close();
});

const totalOf = async (client: TestClient, path: string) => (await client.ask('GET', path)).body.total as number;

test('the same key gets the first answer, with its secrets, and makes nothing more', async (t) => {
  const client = await service.client(`user-${randomUUID()}`);
  const by_key = await service.keyHolder(`user-${randomUUID()}`);
  const admin = await service.client('root', { is_admin: true });
  const { job_id } = (await client.upload(`${site.url}/a`)).body;
  await client.ended(job_id);
  const hook = { url: `${site.url}/hook` };
  const makers: [TestClient, string, object, string | null][] = [
    [client, '/users/me/api-keys', { name: 'a' }, '/users/me/api-keys'],
    [client, `/jobs/${job_id}/share`, { expires_in_hours: 2 }, `/jobs/${job_id}/shares`],
    [client, '/webhooks/endpoints', hook, '/webhooks/endpoints'],
    [by_key, '/api/v2/webhooks/endpoints', hook, '/api/v2/webhooks/endpoints'],
    [admin, '/admin/growth-notes', { text: 'a' }, null],
    [client, '/credits/purchase', { package_id: 'credits_5000' }, null],
    [client, '/checkout/create', { plan: 'pro' }, null],
    [admin, '/domains/blocked', { domain: `${randomUUID()}.example` }, '/domains/blocked'],
    [client, '/paywall-events', { event: 'shown' }, null],
  ];
  for (const [who, path, body, list] of makers) {
    const headers = { 'idempotency-key': `my key, ${randomUUID()}` };
    const before = list && (await totalOf(who, list));
    const first = await who.ask('POST', path, body, headers);
    t.true(first.status < 300, `${path}: ${first.status} ${JSON.stringify(first.body)}`);
    const again = await who.ask('POST', path, body, headers);
    t.deepEqual([again.status, again.body], [first.status, first.body], path);
    t.is(again.headers.get('idempotency-replayed'), 'true', path);
    t.is(first.headers.get('idempotency-replayed'), null, path);
    if (list) t.is(await totalOf(who, list), Number(before) + 1, path);
    const other = await who.ask('POST', path, { ...body, wrong: 1 }, headers);
    t.is(other.status, 422);
  }
  const headers = { 'idempotency-key': randomUUID() };
  t.is((await client.ask('POST', '/users/me/api-keys', { name: 'a' }, headers)).status, 201);
  const mismatch = await client.ask('POST', '/users/me/api-keys', { name: 'b' }, headers);
  t.like(mismatch, { status: 409, body: { code: 'idempotency_key_mismatch' } });
});

test('the secrets that an answer shows once are nowhere in the stores', async (t) => {
  const client = await service.client(`user-${randomUUID()}`);
  const headers = { 'idempotency-key': randomUUID() };
  const { key } = (await client.ask('POST', '/users/me/api-keys', {}, headers)).body;
  const other = (await client.ask('POST', '/users/me/api-keys', {}, { 'idempotency-key': randomUUID() })).body.key;
  t.not(key, other);
  for (const name of await readdir(service.data_dir)) {
    if (name.includes('.db')) t.false((await readFile(join(service.data_dir, name))).includes(key), name);
  }
});

test('any text of up to 255 characters is a key', async (t) => {
  const client = await service.client(`user-${randomUUID()}`);
  const ask = (key: string) => client.ask('POST', '/users/me/api-keys', {}, { 'idempotency-key': key });
  // fetch sends Latin-1 alone, so UTF-8 comes as its bytes.
  for (const key of [
    'a',
    'with spaces; and, "signs"',
    Buffer.from('ü'.repeat(255)).toString('latin1'),
    'x'.repeat(255),
  ]) {
    t.is((await ask(key)).status, 201, key);
  }
  t.is((await ask('x'.repeat(256))).status, 422);
});

test('a request whose process died is made again under the same id, so that what it made exists once', async (t) => {
  const { log } = await openTestStores(t);
  const made = new Set<string>();
  let dies = true;
  const handler = async ({ command, secret }: RouteRequest): Promise<Reply> => {
    made.add(command().command_id);
    if (dies) throw new Error('killed');
    return { body: { id: command().command_id, key: secret('key').toString('hex') } };
  };
  const restore = (body: object, { secret }: RouteRequest) => ({ ...body, key: secret('key').toString('hex') });
  const route = { method: 'POST', responses: { 201: {} }, makes: { secrets: ['key'], restore }, handler };
  const once = openOnce(log as EventStore, Buffer.from('secret'))(route as unknown as Route);
  const asked = () => ({
    headers: { 'idempotency-key': 'k' },
    caller: { user_id: 'alice' },
    ctx: { path: '/things' },
    query: {},
    body: {},
    command: () => ({ command_id: randomUUID(), causation_id: 'c', actor: 'user:alice', now: Date.now() }),
  });
  const ask = async () => await once.handler(asked() as unknown as RouteRequest, undefined);
  await t.throwsAsync(ask, { message: 'killed' });
  dies = false;
  const { body: first } = await ask();
  const { body: again } = await ask();
  t.deepEqual(again, first);
  t.is(made.size, 1);
});
