// The webhooks of jobs that pause, fail or are cancelled, tests of endpoints, and deliveries while a secret changes.
import { createHmac, randomUUID } from 'node:crypto';
import test from 'ava';
import { Value } from 'typebox/value';
import { WebhookEvent, webhookDeliveryId, webhookEventId } from '../../events/webhook.ts';
import { HOUR, openWebhookWorld } from '../support/webhook-world.ts';

const A = 'https://a.example/hook';
const subject = { owner_id: 'alice', total_urls: 3 };
const PAUSED = { type: 'JobPaused', data: { reason: 'credit_ceiling', credits_allocated: 2, ...subject } } as const;
const FAILED = { type: 'JobFailed', data: { reason: 'no_progress', ...subject } } as const;
const CANCELLED = { type: 'JobCancelled', data: subject } as const;
const bodies = (sent: readonly { body: string }[]) => sent.map(({ body }) => JSON.parse(body));

test('an endpoint of all events hears of jobs that pause, fail and are cancelled', async (t) => {
  const world = await openWebhookWorld(t);
  await world.endpoint(A);
  const paused = await world.jobEvent(PAUSED);
  const failed = await world.jobEvent(FAILED);
  const cancelled = await world.jobEvent(CANCELLED);
  await world.openProcess().send();
  const found = new Map(bodies(world.sent).map((body) => [body.type, body]));
  const created_at = '2026-01-31T09:00:00.000Z';
  t.deepEqual(found.get('job.paused'), {
    ...{ id: webhookEventId(paused, 'job.paused', 0), type: 'job.paused', created_at },
    data: { job_id: paused, status: 'paused', total_urls: 3, credits_allocated: 2, pause_reason: 'credit_ceiling' },
  });
  t.deepEqual(found.get('job.failed'), {
    ...{ id: webhookEventId(failed, 'job.failed'), type: 'job.failed', created_at },
    data: { job_id: failed, status: 'failed', total_urls: 3, failure_reason: 'no_progress' },
  });
  t.deepEqual(found.get('job.cancelled'), {
    ...{ id: webhookEventId(cancelled, 'job.cancelled'), type: 'job.cancelled', created_at },
    data: { job_id: cancelled, status: 'cancelled', total_urls: 3 },
  });
  t.is(world.sent.length, 3);
  for (const body of found.values()) t.true(Value.Check(WebhookEvent, body));
});

test('each pause of a job is an event of its own, and a resumption is not an event', async (t) => {
  const world = await openWebhookWorld(t);
  await world.endpoint(A, { events: ['job.paused'] });
  const job_id = await world.jobEvent(PAUSED);
  const resumed = { credits_added: 0, credits_allocated: 2, reservation_id: null };
  await world.jobEvent({ type: 'JobResumed', data: resumed }, job_id);
  await world.jobEvent(PAUSED, job_id);
  await world.jobEvent(CANCELLED, job_id);
  await world.openProcess().send();
  t.is(new Set(bodies(world.sent).map(({ id }) => id)).size, 2);
  t.deepEqual(new Set(bodies(world.sent).map(({ type }) => type)), new Set(['job.paused']));
});

test('an endpoint hears of the types that it subscribes to', async (t) => {
  const world = await openWebhookWorld(t);
  await world.endpoint(A, { events: ['job.failed'] });
  await world.jobEvent(PAUSED);
  await world.jobEvent(CANCELLED);
  await world.completedJob();
  await world.jobEvent(FAILED);
  await world.openProcess().send();
  t.deepEqual(
    bodies(world.sent).map(({ type }) => type),
    ['job.failed'],
  );
});

test('events of an earlier version make no webhooks', async (t) => {
  const world = await openWebhookWorld(t);
  await world.endpoint(A);
  await world.jobEvent({ type: 'JobPaused', data: { reason: 'owner' } });
  await world.jobEvent({ type: 'JobFailed', data: { reason: 'no_progress' } });
  await world.jobEvent({ type: 'JobCancelled', data: {} });
  await world.openProcess().send();
  t.deepEqual(world.sent, []);
});

/** Requests a test as the API does. Returns the delivery's id. */
async function request(world: Awaited<ReturnType<typeof openWebhookWorld>>, endpoint_id: string): Promise<string> {
  const created_at = new Date(world.clock.now).toISOString();
  const event = { id: randomUUID(), type: 'endpoint.test', created_at, data: { endpoint_id } } as const;
  const delivery_id = webhookDeliveryId(endpoint_id, event.id);
  const delivery = { delivery_id, endpoint_id, user_id: 'alice', event };
  await world.deliveries.run(delivery_id, { type: 'request', delivery }, world.context());
  return delivery_id;
}

test('a test goes to its endpoint alone, whatever that subscribes to, and is retried and logged', async (t) => {
  const world = await openWebhookWorld(t);
  const a = await world.endpoint(A, { events: ['job.failed'] });
  await world.endpoint('https://b.example/hook');
  world.receivers.set(A, () => ({ status_code: 503 }));
  const delivery_id = await request(world, a);
  const process = world.openProcess();
  await process.send();
  world.receivers.delete(A);
  world.clock.now += HOUR;
  await process.send();
  t.deepEqual(
    world.sent.map(({ url }) => url),
    [A, A],
  );
  t.like(bodies(world.sent)[0], { type: 'endpoint.test', data: { endpoint_id: a } });
  t.is(world.sent[0]!.headers['service-event-type'], 'endpoint.test');
  const deliveries = await world.deliveriesOf(a);
  t.is(deliveries.length, 1);
  t.like(deliveries[0], { _id: delivery_id, status: 'delivered', attempt_count: 2 });
});

test('a test of an endpoint that is deleted meanwhile is not sent', async (t) => {
  const world = await openWebhookWorld(t);
  const a = await world.endpoint(A);
  await world.remove(a);
  await request(world, a);
  await world.openProcess().send();
  t.deepEqual(world.sent, []);
  t.deepEqual(await world.deliveriesOf(a), []);
});

test('while a secret changes, a delivery carries a signature of each, and later one of the new', async (t) => {
  const world = await openWebhookWorld(t);
  const a = await world.endpoint(A);
  const { now } = world.clock;
  await world.change({ type: 'rotateSecret', endpoint_id: a, now, older_until: now + HOUR });
  const process = world.openProcess();
  const signed = (n: number, secrets: readonly number[]) => {
    const { body, headers } = world.sent[n]!;
    const t_s = world.clock.now / 1000;
    const v1 = (number: number) =>
      createHmac('sha256', world.secretOf(a, number)).update(`${t_s}.${body}`).digest('hex');
    const wanted = [`t=${t_s}`, ...secrets.map((number) => `v1=${v1(number)}`)].join(',');
    t.is(headers['service-signature'], wanted);
  };
  await world.completedJob();
  await process.send();
  // The newest secret's comes last: published verifiers that keep one signature keep the last.
  signed(0, [1, 2]);
  world.clock.now += HOUR;
  await world.completedJob();
  await process.send();
  signed(1, [2]);
  t.is((await world.endpointOf(a))!.older_secrets_until, new Date(now + HOUR).toISOString());
});

test('an endpoint that is enabled again is sent what comes from then on', async (t) => {
  const world = await openWebhookWorld(t);
  await world.user('alice', 'alice@example.com');
  const a = await world.endpoint(A);
  const process = world.openProcess();
  for (const times of [1, 2]) {
    world.receivers.set(A, () => ({ status_code: 410 }));
    await world.completedJob();
    await process.send();
    await process.tend();
    await process.tend();
    t.like(await world.endpointOf(a), { status: 'disabled', due: null });
    t.is(world.mails.length, times, 'a mail each time');
    await world.completedJob();
    world.receivers.delete(A);
    await world.change({ type: 'enable', endpoint_id: a });
    t.like(await world.endpointOf(a), { status: 'enabled', disabled_reason: null, failing_since: null, due: null });
    const before = world.sent.length;
    await process.send();
    t.is(world.sent.length, before, 'nothing of the time in between');
    await world.completedJob();
    await process.send();
    t.is(world.sent.length, before + 1);
  }
  t.is(new Set(world.mails.map(({ id }) => id)).size, 2, 'mail servers may drop a mail whose id they know');
});

test('a process that saw an endpoint before it was enabled gives up none of its deliveries', async (t) => {
  const world = await openWebhookWorld(t);
  await world.user('alice', 'alice@example.com');
  const a = await world.endpoint(A);
  await world.change({ type: 'disable', endpoint_id: a, reason: 'failing', enablings: 0 });
  const asleep = world.openProcess({
    ...world.log,
    async *readStream(stream, options) {
      // Between its look at the read model and its look at the log, the owner enables the endpoint and a job completes.
      if (stream.startsWith('webhook_endpoints-') && (await world.endpointOf(a))!.status === 'disabled') {
        await world.change({ type: 'enable', endpoint_id: a });
        await world.completedJob();
        await world.caughtUp();
      }
      yield* world.log.readStream(stream, options);
    },
  });
  await asleep.tend();
  t.like(await world.endpointOf(a), { status: 'enabled', due: null });
  t.is(world.mails.length, 0);
  await world.openProcess().send();
  t.is(world.sent.length, 1);
  t.like((await world.deliveriesOf(a))[0], { status: 'delivered' });
});
