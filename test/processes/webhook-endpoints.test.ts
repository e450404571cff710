// What the processes do about webhook endpoints: they disable the ones that fail, and notify their owners.
import test from 'ava';
import type { EventStore } from '../../events/event-store.ts';
import { DAY, openWebhookWorld, SECOND } from '../support/webhook-world.ts';

const A = 'https://a.example/hook';

test('an answer of 410 disables the endpoint, gives up its pending deliveries and notifies its owner', async (t) => {
  const world = await openWebhookWorld(t);
  const process = world.openProcess();
  await world.user('alice', 'alice@example.com');
  const a = await world.endpoint(A);
  world.receivers.set(A, () => ({ status_code: 500 }));
  await world.completedJob();
  await process.send();
  world.clock.now += SECOND;
  world.receivers.set(A, () => ({ status_code: 410 }));
  await world.completedJob();
  await process.send();
  t.is((await world.endpointOf(a))!.status, 'enabled');
  await process.tend();
  t.like(await world.endpointOf(a), { status: 'disabled', disabled_reason: 'gone', due: 'notice' });
  await process.tend();
  await process.tend();
  await process.tend();
  t.is((await world.endpointOf(a))!.due, null);
  t.deepEqual(
    (await world.deliveriesOf(a)).map(({ status, given_up_reason }) => [status, given_up_reason]),
    [
      ['given_up', 'endpoint_disabled'],
      ['given_up', 'endpoint_gone'],
    ],
  );
  world.clock.now += DAY;
  await world.completedJob();
  await process.send();
  t.is(world.sent.length, 2);
  t.is(world.mails.length, 1);
  t.is(world.mails[0]!.to, 'alice@example.com');
  t.true(world.mails[0]!.text.includes(A) && world.mails[0]!.text.includes('410'));
});

test('a delivery that arrives while its endpoint is being disabled is given up when it is due', async (t) => {
  const world = await openWebhookWorld(t);
  const process = world.openProcess();
  const a = await world.endpoint(A);
  world.receivers.set(A, () => ({ status_code: 410 }));
  await world.completedJob();
  await process.send();
  world.clock.now += SECOND;
  await world.completedJob();
  await world.caughtUp();
  await process.tend();
  await process.send();
  t.is(world.sent.length, 1);
  const [, second] = await world.deliveriesOf(a);
  t.like(second, { status: 'given_up', given_up_reason: 'endpoint_disabled', attempt_count: 0 });
});

/** Completes one job a day whose first delivery fails. */
async function failADay(world: Awaited<ReturnType<typeof openWebhookWorld>>, days: number) {
  const process = world.openProcess();
  for (let day = 0; day < days; day++) {
    await world.completedJob();
    await process.send();
    await process.tend();
    world.clock.now += DAY;
  }
}

test('an endpoint that fails for five days is disabled by the first failure after them', async (t) => {
  const world = await openWebhookWorld(t);
  const a = await world.endpoint(A);
  world.receivers.set(A, () => ({ status_code: 500 }));
  const first = world.clock.now;
  await failADay(world, 5);
  t.is((await world.endpointOf(a))!.failing_since, new Date(first).toISOString());
  world.clock.now = first + 5 * DAY - 1;
  await failADay(world, 1);
  t.is((await world.endpointOf(a))!.status, 'enabled');
  world.clock.now = first + 5 * DAY;
  await failADay(world, 1);
  t.like(await world.endpointOf(a), { status: 'disabled', disabled_reason: 'failing' });
});

test('one success within five days restarts the count', async (t) => {
  const world = await openWebhookWorld(t);
  const a = await world.endpoint(A);
  world.receivers.set(A, () => ({ status_code: 500 }));
  await failADay(world, 4);
  world.receivers.delete(A);
  await world.completedJob();
  await world.openProcess().send();
  t.is((await world.endpointOf(a))!.failing_since, null);
  world.receivers.set(A, () => ({ status_code: 500 }));
  await failADay(world, 5);
  t.is((await world.endpointOf(a))!.status, 'enabled');
});

test('days without deliveries do not disable an endpoint', async (t) => {
  const world = await openWebhookWorld(t);
  const a = await world.endpoint(A);
  world.receivers.set(A, () => ({ status_code: 500 }));
  await failADay(world, 1);
  world.clock.now += 30 * DAY;
  await world.openProcess().tend();
  t.is((await world.endpointOf(a))!.status, 'enabled');
});

test('an endpoint whose stream is damaged holds up no other', async (t) => {
  const world = await openWebhookWorld(t);
  const ids: string[] = [];
  for (const owner of ['damaged1', 'dave', 'damaged2', 'damaged3']) {
    ids.push(await world.endpoint(`https://${owner}.example/`, { user_id: owner }));
    world.receivers.set(`https://${owner}.example/`, () => ({ status_code: 410 }));
    await world.completedJob(owner);
  }
  await world.openProcess().send();
  const damaged: EventStore = {
    ...world.log,
    append: (...args) => world.log.append(...args),
    readStream(stream, options) {
      if (stream.startsWith('webhook_endpoints-damaged')) throw new Error('the event is damaged');
      return world.log.readStream(stream, options);
    },
  };
  t.is((await world.openProcess(damaged).tend()).length, 3);
  await world.caughtUp();
  t.is((await world.endpointOf(ids[1]!))!.status, 'disabled');
});

test('an owner gets one notice at the current address, and a failed mail is retried without delaying others', async (t) => {
  const world = await openWebhookWorld(t);
  const process = world.openProcess();
  const owners = ['carol', 'dave', 'nobody', 'refused'];
  for (const owner of owners) {
    await world.user(owner, owner === 'nobody' ? null : `${owner}@example.com`);
    await world.endpoint(`https://${owner}.example/`, { user_id: owner });
    world.receivers.set(`https://${owner}.example/`, () => ({ status_code: 410 }));
    await world.completedJob(owner);
  }
  await process.send();
  world.post.answer = ({ to }) => {
    if (to.startsWith('carol')) throw new Error('the mail server is away');
    return to.startsWith('refused') ? '550 no such mailbox' : null;
  };
  await process.tend();
  for (let n = 0; n < 2; n++) {
    t.deepEqual(await process.tend(), n === 0 ? ['the mail server is away'] : []);
    world.clock.now += 4 * SECOND;
  }
  world.clock.now += 2 * SECOND;
  t.is((await process.tend()).length, 0, 'the log has told it');
  t.deepEqual(world.mails.map(({ to }) => to).sort(), ['dave@example.com', 'refused@example.com']);
  world.post.answer = () => null;
  world.clock.now += 5 * SECOND;
  await process.tend();
  await process.tend();
  t.is(world.mails.length, 3);
  const notices: Record<string, unknown> = {};
  for await (const event of world.log.readAll({ filter: { types: ['WebhookEndpointOwnerNotified'] } })) {
    notices[event.stream] = (event.data as { refused: string | null }).refused;
  }
  t.deepEqual(notices, {
    'webhook_endpoints-carol': null,
    'webhook_endpoints-dave': null,
    'webhook_endpoints-nobody': 'the owner has no address',
    'webhook_endpoints-refused': '550 no such mailbox',
  });
});
