// Webhooks from outside: an endpoint is made, a job completes, the receiver is told, whatever befalls the service between.
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { SMTPServer } from 'smtp-server';
import { issueLocalToken } from '../../adapters/identity/index.ts';
import { until } from '../support/behind.ts';
import { freePort } from '../support/free-port.ts';
import { assertExactFolder } from '../support/ledger.ts';
import {
  type Answer,
  openTestClient,
  startTestService,
  type TestClient,
  type TestService,
} from '../support/service.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { openSite, type Site } from '../support/sites.ts';
import { openReceiver, verified } from '../support/webhook-receiver.ts';

const ENDPOINTS = '/api/v2/webhooks/endpoints';

const mails: { to: string[]; content: string }[] = [];
const smtp = new SMTPServer({
  authOptional: true,
  hideSTARTTLS: true,
  async onData(stream, { envelope }, done) {
    mails.push({ to: envelope.rcptTo.map(({ address }) => address), content: await text(stream) });
    done();
  },
});
let service: TestService;
let site: Site;
test.before(async () => {
  const listening = smtp.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const { port } = listening.address() as AddressInfo;
  [service, site] = await Promise.all([
    startTestService({
      WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
      RATE_LIMIT_PER_MINUTE: '100000',
      SMTP_URL: `smtp://127.0.0.1:${port}`,
      MAIL_FROM: 'Checker <checker@check.example>',
    }),
    openSite(),
  ]);
});
test.after.always(async () => {
  await service?.stop();
  await site?.close();
  await new Promise<void>((closed) => smtp.close(closed));
});

async function completedJob(client: TestClient, paths: readonly string[]): Promise<Answer['body']> {
  const { body } = await client.ask('POST', '/api/v2/jobs', { urls: paths.map((path) => site.url + path) });
  return client.ended(body.job_id);
}

test('a receiver gets the event of a completed job, signed as Stripe verifies it', async (t) => {
  const alice = await service.keyHolder('hooked');
  const receiver = await openReceiver();
  t.teardown(receiver.close);
  const made = await alice.ask('POST', ENDPOINTS, { url: receiver.url, events: ['job.completed'] });
  t.is(made.status, 201);
  t.like(made.body, { url: receiver.url, events: ['job.completed'], status: 'enabled', disabled_reason: null });
  t.regex(made.body.signing_secret, /^whsec_/);
  const job = await completedJob(alice, ['/a', '/b', '/status/404']);
  await until(() => receiver.received.length > 0);
  const [received] = receiver.received;
  const event = verified(received!, made.body.signing_secret);
  t.deepEqual(event, {
    id: received!.headers['service-event-id'],
    type: 'job.completed',
    created_at: job.completed_at,
    data: { job_id: job.job_id, status: 'completed', total_urls: 3, completed_urls: 3, broken_urls: 1 },
  } as never);
  t.is(received!.headers['service-event-type'], 'job.completed');
  t.is(received!.headers['content-type'], 'application/json');
  t.throws(() => verified({ ...received!, body: `${received!.body} ` }, made.body.signing_secret));
  t.throws(() => verified(received!, 'whsec_another'));

  const log = async () => (await alice.ask('GET', `${ENDPOINTS}/${made.body.id}/deliveries`)).body;
  await until(async () => (await log()).items[0]?.status === 'delivered');
  const { items, total } = await log();
  t.is(total, 1);
  t.like(items[0], { id: received!.headers['service-delivery-id'], event, attempt_count: 1, next_attempt_at: null });
  t.like(items[0].attempts[0], { attempt: 1, status_code: 200, error: null, response_excerpt: 'answered 200' });

  const listed = await alice.ask('GET', ENDPOINTS);
  t.false(JSON.stringify(listed.body).includes('whsec_'), 'the secret is shown once');
  t.like(listed.body, { total: 1, items: [{ id: made.body.id, status: 'enabled' }] });
  t.like((await alice.ask('GET', `${ENDPOINTS}/${made.body.id}`)).body, { id: made.body.id, url: receiver.url });
});

test('a user sends a failed delivery again, with the same event id', async (t) => {
  const alice = await service.keyHolder('resender');
  const receiver = await openReceiver();
  t.teardown(receiver.close);
  receiver.status = 503;
  const { body: endpoint } = await alice.ask('POST', ENDPOINTS, { url: receiver.url });
  t.deepEqual(endpoint.events, []);
  await completedJob(alice, ['/a']);
  const newest = async () => (await alice.ask('GET', `${ENDPOINTS}/${endpoint.id}/deliveries`)).body.items[0];
  await until(async () => (await newest())?.attempt_count === 1);
  const failed = await newest();
  t.like(failed, { status: 'pending', attempts: [{ status_code: 503, response_excerpt: 'answered 503' }] });
  const wait_ms = Date.parse(failed.next_attempt_at) - Date.parse(failed.attempts[0].at);
  t.true(wait_ms >= 4000 && wait_ms <= 6000, `${wait_ms}`);
  receiver.status = 204;
  const resent = await alice.ask('POST', `${ENDPOINTS}/${endpoint.id}/deliveries/${failed.id}/resend`);
  t.is(resent.status, 202);
  t.like(resent.body, { id: failed.id, event: failed.event });
  await until(async () => (await newest()).status === 'delivered');
  const [first, second] = receiver.received;
  t.is(first!.headers['service-event-id'], second!.headers['service-event-id']);
  t.is(first!.headers['service-delivery-id'], second!.headers['service-delivery-id']);
  t.is(first!.body, second!.body);
  verified(second!, endpoint.signing_secret);
});

test("endpoints and their deliveries are their owner's alone", async (t) => {
  const [alice, bob] = [await service.keyHolder('mine'), await service.keyHolder('theirs')];
  const receiver = await openReceiver();
  t.teardown(receiver.close);
  const { body: endpoint } = await alice.ask('POST', ENDPOINTS, { url: receiver.url });
  const { body: of_bob } = await bob.ask('POST', ENDPOINTS, { url: receiver.url });
  await completedJob(alice, ['/a']);
  const path = `${ENDPOINTS}/${endpoint.id}`;
  const delivered = async () => (await alice.ask('GET', `${path}/deliveries`)).body.items;
  await until(async () => (await delivered())[0]?.status === 'delivered');
  const [{ id: delivery_id }] = await delivered();
  for (const [method, about] of [
    ['GET', path],
    ['DELETE', path],
    ['GET', `${path}/deliveries`],
    ['POST', `${path}/deliveries/${delivery_id}/resend`],
    ['POST', `${ENDPOINTS}/${of_bob.id}/deliveries/${delivery_id}/resend`],
  ] as const) {
    const { status, body } = await bob.ask(method, about);
    t.deepEqual([status, body.error.code], [404, 'not_found'], `${method} ${about}`);
  }
  t.deepEqual(
    (await bob.ask('GET', ENDPOINTS)).body.items.map(({ id }: { id: string }) => id),
    [of_bob.id],
  );
  t.is((await bob.ask('GET', `${ENDPOINTS}/${of_bob.id}/deliveries`)).body.total, 0);
  t.is(receiver.received.length, 1);
  t.is((await alice.ask('GET', path)).status, 200);
});

test('the gateway has the same endpoints, and a user sends only so many tests a minute', async (t) => {
  const [key, signed_in] = [await service.keyHolder('both'), await service.client('both')];
  const made = await signed_in.ask('POST', '/webhooks/endpoints', { url: 'http://127.0.0.1:9/hook' });
  t.is((await key.ask('GET', `${ENDPOINTS}/${made.body.id}`)).body.url, made.body.url);
  const refused = await signed_in.ask('POST', '/webhooks/endpoints', { url: 'ftp://example.com/' });
  t.deepEqual(refused.body.detail[0].loc, ['body', 'url']);
  const sends: number[] = [];
  // Room for one more comes back each second.
  for (let n = 0; sends.at(-1) !== 429; n++) {
    const client = n % 2 ? key : signed_in;
    sends.push((await client.ask('POST', `${n % 2 ? ENDPOINTS : '/webhooks/endpoints'}/none/test`)).status);
  }
  t.true(sends.length > 60);
  t.deepEqual([...new Set(sends)], [404, 429]);
  let over = await signed_in.ask('POST', `/webhooks/endpoints/${made.body.id}/test`);
  while (over.status === 202) over = await signed_in.ask('POST', `/webhooks/endpoints/${made.body.id}/test`);
  t.deepEqual([over.status, over.body.code], [429, 'rate_limited']);
});

test('a deleted endpoint disappears at once, and gets no more events', async (t) => {
  const alice = await service.keyHolder('deleter');
  const receiver = await openReceiver();
  t.teardown(receiver.close);
  const { body: gone } = await alice.ask('POST', ENDPOINTS, { url: receiver.url });
  const { body: kept } = await alice.ask('POST', ENDPOINTS, { url: receiver.url });
  t.not(gone.signing_secret, kept.signing_secret);
  t.is((await alice.ask('DELETE', `${ENDPOINTS}/${gone.id}`)).status, 204);
  t.is((await alice.ask('DELETE', `${ENDPOINTS}/${gone.id}`)).status, 204);
  t.is((await alice.ask('GET', `${ENDPOINTS}/${gone.id}`)).status, 404);
  t.is((await alice.ask('GET', `${ENDPOINTS}/${gone.id}/deliveries`)).status, 404);
  await completedJob(alice, ['/a']);
  await until(() => receiver.received.length > 0);
  verified(receiver.received[0]!, kept.signing_secret);
  t.is((await alice.ask('GET', ENDPOINTS)).body.total, 1);
});

test('the service refuses a URL that may not be an endpoint, and names the field', async (t) => {
  const alice = await service.keyHolder('wrong');
  const url = 'https://example.com/hook';
  for (const [body, field] of [
    [{}, 'url'],
    [{ url: '' }, 'url'],
    [{ url: 'example.com' }, 'url'],
    [{ url: 'ftp://example.com/' }, 'url'],
    [{ url: 'http://93.184.215.14/' }, 'url'],
    [{ url: 'https://user:password@example.com/' }, 'url'],
    [{ url: 'https://example.com/a b' }, 'url'],
    [{ url: 'https://169.254.169.254/latest/meta-data/' }, 'url'],
    [{ url: 'https://10.0.0.1/' }, 'url'],
    [{ url: 'https://[::ffff:10.0.0.1]/' }, 'url'],
    [{ url: 'https://0xa9fea9fe/' }, 'url'],
    [{ url: `https://example.com/${'a'.repeat(2048)}` }, 'url'],
    [{ url, events: ['job.exploded'] }, 'events'],
    [{ url, events: ['job.completed', 'job.completed'] }, 'events'],
    [{ url, events: 'job.completed' }, 'events'],
    [{ url, event: [] }, 'event'],
  ] as const) {
    const { status, body: answer } = await alice.ask('POST', ENDPOINTS, body);
    t.deepEqual([status, answer.error.code], [422, 'validation_error'], JSON.stringify(body));
    t.true(JSON.stringify(answer.error.details).includes(field), JSON.stringify(answer));
  }
  t.is((await alice.ask('GET', ENDPOINTS)).body.total, 0);
});

test('a user has at most twenty endpoints, however many requests create them at once', async (t) => {
  const alice = await service.keyHolder('greedy');
  const made = await Promise.all(
    Array.from({ length: 25 }, (_, i) => alice.ask('POST', ENDPOINTS, { url: `https://example.com/${i}` })),
  );
  t.is(made.filter(({ status }) => status === 201).length, 20);
  const refused = made.filter(({ status }) => status !== 201);
  for (const { status, body } of refused) {
    t.deepEqual([status, body.error.code, body.error.details], [409, 'conflict', { reason: 'too_many_endpoints' }]);
  }
  const { body } = await alice.ask('GET', ENDPOINTS);
  t.is(body.total, 20);
  await alice.ask('DELETE', `${ENDPOINTS}/${body.items[0].id}`);
  t.is((await alice.ask('POST', ENDPOINTS, { url: 'https://example.com/' })).status, 201);
});

test('an endpoint gets the event of a job that was deleted right after its end', async (t) => {
  const [alice, of_gateway] = [await service.keyHolder('hasty'), await service.client('hasty')];
  const receiver = await openReceiver();
  t.teardown(receiver.close);
  const { body: endpoint } = await alice.ask('POST', ENDPOINTS, { url: receiver.url });
  const { job_id } = await completedJob(alice, ['/status/404']);
  t.true((await of_gateway.ask('DELETE', `/jobs/${job_id}`)).status < 300);
  await until(() => receiver.received.length > 0);
  t.like(verified(receiver.received[0]!, endpoint.signing_secret).data, { job_id, broken_urls: 1 });
});

test('the service disables an endpoint that answers 410, and mails its owner', async (t) => {
  const receiver = await openReceiver();
  t.teardown(receiver.close);
  receiver.status = 410;
  const alice = await service.keyHolder('retired');
  const { body: endpoint } = await alice.ask('POST', ENDPOINTS, { url: receiver.url });
  await completedJob(alice, ['/a']);
  await until(() => mails.length > 0);
  t.deepEqual(mails[0]!.to, ['retired@example.com']);
  t.true(mails[0]!.content.includes('From: Checker <checker@check.example>'));
  t.true(mails[0]!.content.includes(endpoint.id));
  const { body: now } = await alice.ask('GET', `${ENDPOINTS}/${endpoint.id}`);
  t.like(now, { status: 'disabled', disabled_reason: 'gone' });
  const { items } = (await alice.ask('GET', `${ENDPOINTS}/${endpoint.id}/deliveries`)).body;
  t.like(items[0], { status: 'given_up', given_up_reason: 'endpoint_gone' });
  const resent = await alice.ask('POST', `${ENDPOINTS}/${endpoint.id}/deliveries/${items[0].id}/resend`);
  t.deepEqual([resent.status, resent.body.error.details], [409, { reason: 'endpoint_disabled' }]);
  await completedJob(alice, ['/b']);
  t.is((await alice.ask('GET', `${ENDPOINTS}/${endpoint.id}/deliveries`)).body.total, 1);
  t.is(receiver.received.length, 1);

  const test_path = `${ENDPOINTS}/${endpoint.id}/test`;
  t.is((await alice.ask('POST', test_path)).status, 409);
  const enabled = await alice.ask('POST', `${ENDPOINTS}/${endpoint.id}/enable`);
  t.like(enabled, { status: 200, body: { id: endpoint.id, status: 'enabled', disabled_reason: null } });
  receiver.status = 200;
  const asked = await alice.ask('POST', test_path);
  t.like(asked, { status: 202, body: { status: 'pending', attempt_count: 0, event: { type: 'endpoint.test' } } });
  await until(() => receiver.received.length > 1);
  const event = verified(receiver.received[1]!, endpoint.signing_secret);
  t.deepEqual(event, asked.body.event);
  t.deepEqual(event.data, { endpoint_id: endpoint.id } as never);
  await until(async () => (await deliveryOf(alice, endpoint.id, asked.body.id)).status === 'delivered');
});

const deliveryOf = async (client: TestClient, endpoint_id: string, id: string): Promise<Answer['body']> => {
  const { items } = (await client.ask('GET', `${ENDPOINTS}/${endpoint_id}/deliveries`)).body;
  return items.find((item: { id: string }) => item.id === id);
};

test('while a secret changes, receivers verify a delivery by either secret, and then by the new one', async (t) => {
  const alice = await service.keyHolder('rotating');
  const receiver = await openReceiver();
  t.teardown(receiver.close);
  const { body: made } = await alice.ask('POST', ENDPOINTS, { url: receiver.url, events: ['job.cancelled'] });
  t.is(made.older_secrets_until, null);
  const path = `${ENDPOINTS}/${made.id}`;
  const changed = await alice.ask('POST', `${path}/secret`);
  t.is(changed.status, 200);
  const { signing_secret: secret, older_secrets_until, ...endpoint } = changed.body;
  t.not(secret, made.signing_secret);
  t.deepEqual((await alice.ask('GET', path)).body, { ...endpoint, older_secrets_until });

  const silent = await openSite(() => {});
  t.teardown(silent.close);
  const { body: job } = await alice.ask('POST', '/api/v2/jobs', { urls: [`${silent.url}/never`] });
  await alice.ask('DELETE', `/api/v2/jobs/${job.job_id}`);
  await until(() => receiver.received.length > 0);
  for (const known of [made.signing_secret, secret]) {
    const { type, data } = verified(receiver.received[0]!, known);
    t.deepEqual([type, data], ['job.cancelled', { job_id: job.job_id, status: 'cancelled', total_urls: 1 } as never]);
  }

  const { body: last } = await alice.ask('POST', `${path}/secret`, { overlap_seconds: 0 });
  await alice.ask('POST', `${path}/test`);
  await until(() => receiver.received.length > 1);
  t.is(verified(receiver.received[1]!, last.signing_secret).type, 'endpoint.test');
  for (const known of [made.signing_secret, secret]) t.throws(() => verified(receiver.received[1]!, known));
  for (const overlap_seconds of [-1, 604_801, 'soon'])
    t.is((await alice.ask('POST', `${path}/secret`, { overlap_seconds })).status, 422);
});

test('a killed service delivers after its start, under the same ids', async (t) => {
  t.timeout(300_000);
  const data_dir = await mkdtemp(join(tmpdir(), 'url-checker-webhooks-'));
  const receiver = await openReceiver();
  receiver.status = null;
  const env = {
    DATA_DIR: data_dir,
    PORT: String(await freePort()),
    CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8',
    WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
  };
  let running = await startServiceProcess(env);
  try {
    const token = await issueLocalToken(data_dir, { user_id: 'alice', email: null, is_admin: false, hours: 1 });
    const key = (await openTestClient(running.url, token).ask('POST', '/users/me/api-keys', {})).body.key;
    const alice = openTestClient(running.url, key, '/api/v2');
    const { body: endpoint } = await alice.ask('POST', ENDPOINTS, { url: receiver.url });
    const { job_id } = await completedJob(alice, ['/a']);
    await until(() => receiver.received.length === 1);
    await running.kill();
    receiver.status = 200;
    running = await startServiceProcess(env);
    await until(() => receiver.received.length === 2);
    const [before, after] = receiver.received.map((received) => verified(received, endpoint.signing_secret));
    t.deepEqual(after, before);
    t.is(after!.data.job_id, job_id);
    for (const name of ['service-event-id', 'service-delivery-id']) {
      t.is(receiver.received[0]!.headers[name], receiver.received[1]!.headers[name]);
    }
    const log = async () => (await alice.ask('GET', `${ENDPOINTS}/${endpoint.id}/deliveries`)).body.items;
    await until(async () => (await log())[0]?.status === 'delivered');
    t.is((await log())[0].attempt_count, 1, 'the one that was killed was not recorded');
    await running.kill();
    running = await startServiceProcess(env);
    await completedJob(alice, ['/b']);
    await until(() => receiver.received.length === 3);
    t.not(receiver.received[2]!.headers['service-event-id'], receiver.received[0]!.headers['service-event-id']);
    t.is(await running.stop(), 0);
    await assertExactFolder(t, data_dir);
  } finally {
    await running.kill();
    await receiver.close();
    await rm(data_dir, { recursive: true, force: true });
  }
});
