// Webhooks from a completed job to the end of their retries, whatever the receivers do and whenever a process ends.
import { createHmac } from 'node:crypto';
import test from 'ava';
import { Value } from 'typebox/value';
import { openWebhookEndpoints } from '../../commands/webhook-endpoints.ts';
import type { EventStore } from '../../events/event-store.ts';
import { EVENT_TYPES, type EventType } from '../../events/vocabulary.ts';
import { webhookDeliveryId, webhookEventId } from '../../events/webhook.ts';
import { WebhookDispatcher } from '../../processes/webhook-deliveries.ts';
import type { ReadModels } from '../../readmodels/read-models.ts';
import type { WebhookDeliveryDocument } from '../../readmodels/webhooks.ts';
import { until } from '../support/behind.ts';
import { DAY, HOUR, MINUTE, openWebhookWorld, SECOND, SIGNING_KEY } from '../support/webhook-world.ts';

const A = 'https://a.example/hook';
const B = 'https://b.example/hook';

test('every endpoint of the owner gets the event once, signed with its own secret', async (t) => {
  const world = await openWebhookWorld(t);
  const [a, b] = [await world.endpoint(A), await world.endpoint(B, { events: ['job.completed'] })];
  await world.endpoint('https://bob.example/', { user_id: 'bob' });
  const job_id = await world.completedJob();
  const process = world.openProcess();
  await process.send();
  await process.send();
  t.deepEqual(world.sent.map(({ url }) => url).sort(), [A, B]);
  const event_id = webhookEventId(job_id, 'job.completed');
  for (const [url, endpoint_id] of [[A, a] as const, [B, b] as const]) {
    const { headers, body } = world.sent.find((request) => request.url === url)!;
    t.deepEqual(JSON.parse(body), {
      id: event_id,
      type: 'job.completed',
      created_at: '2026-01-31T09:00:00.000Z',
      data: { job_id, status: 'completed', total_urls: 3, completed_urls: 3, broken_urls: 1 },
    });
    const t_s = world.clock.now / 1000;
    const v1 = createHmac('sha256', world.secretOf(endpoint_id)).update(`${t_s}.${body}`).digest('hex');
    t.deepEqual(headers, {
      'content-type': 'application/json',
      'service-signature': `t=${t_s},v1=${v1}`,
      'service-event-id': event_id,
      'service-event-type': 'job.completed',
      'service-delivery-id': webhookDeliveryId(endpoint_id, event_id),
    });
    const [delivery] = await world.deliveriesOf(endpoint_id);
    t.like(delivery, { status: 'delivered', attempt_count: 1, next_attempt_at: null });
    t.like(delivery!.attempts[0], { attempt: 1, status_code: 200, at: '2026-01-31T09:00:00.000Z' });
  }
});

test('an endpoint gets the events between its creation and its deletion', async (t) => {
  const world = await openWebhookWorld(t);
  const process = world.openProcess();
  await world.completedJob();
  const a = await world.endpoint(A);
  await process.send();
  t.deepEqual(world.sent, []);
  await world.completedJob();
  await world.caughtUp();
  // Its pending deliveries are deleted with it.
  await world.remove(a);
  await world.completedJob();
  await process.send();
  t.deepEqual(world.sent, []);
  t.is(await world.endpointOf(a), null);
  t.deepEqual(await world.deliveriesOf(a), []);
});

test('a clock that was set back while no process ran delays no delivery', async (t) => {
  const world = await openWebhookWorld(t);
  await world.endpoint(A);
  const b = await world.endpoint(B);
  world.receivers.set(B, () => ({ status_code: null, error: 'connection_refused' }));
  await world.completedJob();
  await world.openProcess().send();
  await world.completedJob();
  await world.caughtUp();
  world.clock.now -= HOUR;
  const restarted = world.openProcess();
  await restarted.send();
  t.deepEqual(world.sent.map(({ url }) => url).sort(), [A, A, B, B, B]);
  await restarted.send();
  t.is(world.sent.length, 5, 'what failed an hour ago, by the new clock, waits for its next attempt');
  t.true((await world.deliveriesOf(b)).every(({ next_attempt_at }) => Date.parse(next_attempt_at!) > world.clock.now));
});

test('a failed delivery is retried on schedule, with the same event under a new timestamp', async (t) => {
  const world = await openWebhookWorld(t);
  const process = world.openProcess();
  const a = await world.endpoint(A);
  world.receivers.set(A, () => ({ status_code: null, error: 'connection_refused' }));
  await world.completedJob();
  for (const delay_ms of [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR]) {
    await process.send();
    const [delivery] = await world.deliveriesOf(a);
    t.is(Date.parse(delivery!.next_attempt_at!), world.clock.now + delay_ms);
    world.clock.now += delay_ms - 1;
    const before = world.sent.length;
    await process.send();
    t.is(world.sent.length, before, 'it is not due yet');
    world.clock.now++;
  }
  await process.send();
  world.clock.now += DAY;
  await process.send();
  t.is(world.sent.length, 8);
  const distinct = (of: (request: (typeof world.sent)[number]) => unknown) => new Set(world.sent.map(of)).size;
  t.is(
    distinct(({ body }) => body),
    1,
  );
  t.is(
    distinct(({ headers }) => headers['service-event-id']),
    1,
  );
  t.is(
    distinct(({ headers }) => headers['service-delivery-id']),
    1,
  );
  t.is(
    distinct(({ headers }) => headers['service-signature']),
    8,
  );
  const [delivery] = await world.deliveriesOf(a);
  t.like(delivery, { status: 'given_up', given_up_reason: 'no_attempts_left', attempt_count: 8 });
  t.like(delivery!.attempts[7], { attempt: 8, status_code: null, error: 'connection_refused' });
});

test("a receiver's Retry-After delays its next delivery", async (t) => {
  const world = await openWebhookWorld(t);
  const process = world.openProcess();
  const a = await world.endpoint(A);
  world.receivers.set(A, () => ({ status_code: 429, retry_after_ms: 90 * SECOND }));
  await world.completedJob();
  await process.send();
  const [delivery] = await world.deliveriesOf(a);
  t.is(Date.parse(delivery!.next_attempt_at!), world.clock.now + 90 * SECOND);
});

test('endpoints that never answer delay no other, however many deliveries wait for them', async (t) => {
  const world = await openWebhookWorld(t);
  const process = world.openProcess();
  const fast = await world.endpoint(B, { user_id: 'bob' });
  const answer = Promise.withResolvers<{ status_code: number }>();
  world.receivers.set(A, () => answer.promise);
  for (let n = 0; n < 20; n++) await world.endpoint(A);
  // 1200 older deliveries, more than the dispatcher reads or has in hand at once.
  for (let n = 0; n < 60; n++) await world.completedJob('alice');
  world.clock.now += SECOND;
  for (let n = 0; n < 20; n++) await world.completedJob('bob');
  await world.caughtUp();
  const count = (url: string) => world.sent.filter((request) => request.url === url).length;
  await until(async () => {
    await process.dispatcher.pass();
    return (await world.deliveriesOf(fast)).every(({ status }) => status === 'delivered');
  });
  t.is(count(B), 20);
  await until(() => count(A) >= 20 * 8);
  t.is(count(A), 20 * 8, 'so many at once to one endpoint');
  answer.resolve({ status_code: 200 });
  await process.dispatcher.settled();
});

test('deliveries beyond the limit, to many endpoints that never answer, leave room for another endpoint', async (t) => {
  const world = await openWebhookWorld(t);
  const process = world.openProcess();
  const answer = Promise.withResolvers<{ status_code: number }>();
  // 640 deliveries, which are older than the next ones.
  for (const user_id of ['one', 'two', 'three', 'four']) {
    for (let n = 0; n < 20; n++) {
      const url = `https://${user_id}-${n}.example/`;
      await world.endpoint(url, { user_id });
      world.receivers.set(url, () => answer.promise);
    }
    for (let n = 0; n < 8; n++) await world.completedJob(user_id);
  }
  await world.caughtUp();
  await process.dispatcher.pass();
  world.clock.now += SECOND;
  const fast = await world.endpoint(B, { user_id: 'bob' });
  for (let n = 0; n < 5; n++) await world.completedJob('bob');
  await world.caughtUp();
  await until(async () => {
    await process.dispatcher.pass();
    return (await world.deliveriesOf(fast)).every(({ status }) => status === 'delivered');
  });
  answer.resolve({ status_code: 200 });
  await process.dispatcher.settled();
});

test('a resent delivery is sent once, and retried like a new one', async (t) => {
  const world = await openWebhookWorld(t);
  const process = world.openProcess();
  const a = await world.endpoint(A);
  await world.completedJob();
  await process.send();
  const { _id } = (await world.deliveriesOf(a))[0]!;
  world.receivers.set(A, () => ({ status_code: 500 }));
  for (let n = 0; n < 2; n++) t.true((await world.deliveries.run(_id, { type: 'resend' }, world.context())).ok);
  await process.send();
  t.is(world.sent.length, 2, 'asked for twice before it was sent, it is sent once');
  const [delivery] = await world.deliveriesOf(a);
  t.like(delivery, { status: 'pending', attempt_count: 2 });
  t.is(Date.parse(delivery!.next_attempt_at!), world.clock.now + 5 * SECOND);
  world.receivers.delete(A);
  world.clock.now += 5 * SECOND;
  await process.send();
  t.like((await world.deliveriesOf(a))[0], { status: 'delivered', attempt_count: 3, given_up_reason: null });
  t.is(new Set(world.sent.map(({ headers }) => headers['service-event-id'])).size, 1);
});

/** A log whose process is killed before or after its first append. */
function dying(log: EventStore, when: 'before' | 'after'): EventStore {
  return new Proxy(log, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      if (name !== 'append') return value.bind(target);
      return async (...args: Parameters<EventStore['append']>) => {
        if (when === 'after') await target.append(...args);
        throw new Error('killed');
      };
    },
  });
}

for (const when of ['before', 'after'] as const) {
  for (const answer of [200, 500]) {
    test(`the next process makes the delivery of a process that was killed ${when} it noted a ${answer}`, async (t) => {
      const world = await openWebhookWorld(t);
      const a = await world.endpoint(A);
      await world.completedJob();
      world.receivers.set(A, () => ({ status_code: answer }));
      const killed = world.openProcess(dying(world.log, when));
      await killed.send();
      await t.throwsAsync(killed.dispatcher.pass(), { message: 'killed' });
      world.receivers.delete(A);
      const next = world.openProcess();
      await next.send();
      world.clock.now += 5 * SECOND;
      await next.send();
      const is_noted = when === 'after';
      const [delivery] = await world.deliveriesOf(a);
      t.like(delivery, { status: 'delivered', attempt_count: is_noted && answer === 500 ? 2 : 1 });
      // What was sent but not recorded is sent again.
      t.is(world.sent.length, is_noted && answer === 200 ? 1 : 2);
      t.is(new Set(world.sent.map(({ headers }) => headers['service-delivery-id'])).size, 1);
      t.is(new Set(world.sent.map(({ body }) => body)).size, 1);
      const events = await Array.fromAsync(world.log.readStream(`webhook_delivery-${delivery!._id}`));
      const of_two = ['WebhookDeliveryRequested', 'WebhookAttempted', 'WebhookAttempted', 'WebhookDelivered'];
      t.deepEqual(
        events.map(({ type }) => type),
        is_noted && answer === 500 ? of_two : ['WebhookDeliveredAtOnce'],
      );
      for (const { type, data } of events) t.true(Value.Check(EVENT_TYPES[type as EventType].schema, data), type);
    });
  }
}

test('two concurrent processes send an event at most twice, and record it once', async (t) => {
  const world = await openWebhookWorld(t);
  const a = await world.endpoint(A);
  for (let n = 0; n < 8; n++) await world.completedJob();
  const [one, other] = [world.openProcess(), world.openProcess()];
  await Promise.all([one.send(), other.send()]);
  const deliveries = await world.deliveriesOf(a);
  t.is(deliveries.length, 8);
  for (const delivery of deliveries) t.like(delivery, { status: 'delivered', attempt_count: 1 });
  t.true(world.sent.length <= 16);
  t.is(new Set(world.sent.map(({ headers }) => headers['service-event-id'])).size, 8);
});

test('what was answered while the log took no events is recorded later, and not sent again', async (t) => {
  const world = await openWebhookWorld(t);
  const a = await world.endpoint(A);
  await world.completedJob();
  let is_full = true;
  const append: EventStore['append'] = async (...args) => {
    if (is_full) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    return await world.log.append(...args);
  };
  const log = new Proxy(world.log, {
    get(target, name) {
      const value = name === 'append' ? append : Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const process = world.openProcess(log);
  await process.send();
  for (let pass = 0; pass < 3; pass++) {
    await t.throwsAsync(process.dispatcher.pass(), { code: 'ENOSPC' });
    await process.send();
  }
  t.like((await world.deliveriesOf(a))[0], { status: 'pending', attempt_count: 0 });
  is_full = false;
  await t.throwsAsync(process.dispatcher.pass());
  await process.send();
  t.like((await world.deliveriesOf(a))[0], { status: 'delivered', attempt_count: 1 });
  t.is(world.sent.length, 1);
});

test('a read model behind the log causes no second delivery', async (t) => {
  const world = await openWebhookWorld(t);
  const a = await world.endpoint(A);
  await world.completedJob();
  await world.caughtUp();
  const [pending] = await world.deliveriesOf(a);
  await world.openProcess().send();
  t.is(world.sent.length, 1);
  const old_news = {
    collection: () => ({ find: async () => [pending as WebhookDeliveryDocument] }),
    passed: async () => true,
  } as unknown as ReadModels;
  const { log, context, deliveries } = world;
  const dispatcher = new WebhookDispatcher({
    readmodels: old_news,
    endpoints: openWebhookEndpoints(log),
    deliveries,
    sender: { send: () => Promise.reject(t.fail('it was sent again')), close() {} },
    signing_key: SIGNING_KEY,
    context,
    now: () => world.clock.now,
    random: () => 0.5,
  });
  await dispatcher.pass();
  await dispatcher.settled();
  await dispatcher.pass();
  await dispatcher.settled();
});

test('a delivery that becomes due during a pass is sent without another event', async (t) => {
  const world = await openWebhookWorld(t);
  const a = await world.endpoint(A);
  await world.completedJob();
  await world.caughtUp();
  const [pending] = await world.deliveriesOf(a);
  const due_at = pending!.next_attempt_at!;
  const [before, after] = [Date.parse(due_at) - 1, Date.parse(due_at) + 1];
  world.clock.now = before;
  let is_found = false;
  const waits_ms: number[] = [];
  const readmodels = {
    collection: () => ({
      async find({ next_attempt_at }: { next_attempt_at: { $lte?: string; $gt?: string } }) {
        const { $lte, $gt } = next_attempt_at;
        if ($lte) world.clock.now = after;
        if ($lte && due_at <= $lte) is_found = true;
        return ($lte ? is_found : due_at > $gt!) ? [{ ...pending!, created_at: new Date(before).toISOString() }] : [];
      },
    }),
    async moved(_: unknown, timeout_ms: number) {
      if (!is_found) waits_ms.push(timeout_ms);
    },
    passed: async () => true,
  } as unknown as ReadModels;
  const stop = new AbortController();
  const { log, context, deliveries } = world;
  const dispatcher = new WebhookDispatcher({
    readmodels,
    endpoints: openWebhookEndpoints(log),
    deliveries,
    sender: {
      async send() {
        stop.abort();
        return { status_code: 200, error: null, response_excerpt: '', retry_after_ms: null };
      },
      close() {},
    },
    signing_key: SIGNING_KEY,
    context,
    now: () => world.clock.now,
    random: () => 0.5,
  });
  await dispatcher.run(stop.signal, () => {});
  t.true(stop.signal.aborted);
  t.true(
    waits_ms.every((ms) => ms <= 0),
    String(waits_ms),
  );
});

test('a stopping process waits for the deliveries in flight', async (t) => {
  const world = await openWebhookWorld(t);
  const a = await world.endpoint(A);
  await world.completedJob();
  await world.caughtUp();
  const answer = Promise.withResolvers<{ status_code: number }>();
  world.receivers.set(A, () => answer.promise);
  const stop = new AbortController();
  const running = world.openProcess().dispatcher.run(stop.signal, () => {});
  await until(() => world.sent.length === 1);
  stop.abort();
  answer.resolve({ status_code: 200 });
  await running;
  await world.caughtUp();
  t.is((await world.deliveriesOf(a))[0]!.status, 'delivered');
});
