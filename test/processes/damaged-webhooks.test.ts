// Deliveries to endpoints whose events are damaged hold up no others.
import test from 'ava';
import type { EventStore } from '../../events/event-store.ts';
import { openWebhookWorld, SECOND } from '../support/webhook-world.ts';

/** The log, of which the endpoints of the user `damaged` cannot be read. */
const damagedLog = (log: EventStore): EventStore =>
  new Proxy(log, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      if (name !== 'readStream') return value.bind(target);
      return (...args: Parameters<EventStore['readStream']>) => {
        if (args[0] === 'webhook_endpoints-damaged') throw new Error('the event is damaged');
        return target.readStream(...args);
      };
    },
  });

test('a delivery whose endpoint is damaged is left alone for a while, and the others are made', async (t) => {
  const world = await openWebhookWorld(t);
  for (const user_id of ['damaged', 'alice']) {
    await world.endpoint(`https://${user_id}.example/`, { user_id });
    await world.completedJob(user_id);
  }
  const process = world.openProcess(damagedLog(world.log));
  await process.send();
  t.deepEqual(
    world.sent.map(({ url }) => url),
    ['https://alice.example/'],
  );
  await t.throwsAsync(process.send(), { message: 'the event is damaged' });
  await process.send();
  await t.notThrowsAsync(process.send());
});

test('a delivery for which this machine lacks files is left alone for a while, and the others are made', async (t) => {
  const world = await openWebhookWorld(t);
  for (const user_id of ['alice', 'bob']) {
    await world.endpoint(`https://${user_id}.example/`, { user_id });
    await world.completedJob(user_id);
  }
  world.receivers.set('https://alice.example/', () => {
    throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
  });
  const process = world.openProcess();
  await process.send();
  await t.throwsAsync(process.send(), { message: 'the webhook could not be sent' });
  await t.notThrowsAsync(process.send());
  t.deepEqual(world.sent.map(({ url }) => url).sort(), ['https://alice.example/', 'https://bob.example/']);
});

test('however many deliveries of damaged endpoints are left alone, the next one is made', async (t) => {
  const world = await openWebhookWorld(t);
  for (let n = 0; n < 20; n++) await world.endpoint(`https://damaged-${n}.example/`, { user_id: 'damaged' });
  // 1100 older deliveries, more than the dispatcher reads at once.
  for (let n = 0; n < 55; n++) await world.completedJob('damaged');
  world.clock.now += SECOND;
  const process = world.openProcess(damagedLog(world.log));
  // Each of these passes leaves at least 160 alone, or throws.
  for (let n = 0; n < 16; n++) await process.send().catch(() => {});
  await world.endpoint('https://bob.example/', { user_id: 'bob' });
  await world.completedJob('bob');
  await process.send();
  t.deepEqual(
    world.sent.map(({ url }) => url),
    ['https://bob.example/'],
  );
});
