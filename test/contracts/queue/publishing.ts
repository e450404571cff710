// Which publications the queue stores, and which it refuses.
import type { Message } from '../../../checkers/queue.ts';
import { LONG_MS, numbered, type QueueTraits, type Sentence } from './world.ts';

export function publishing(sentence: Sentence, traits: QueueTraits): void {
  sentence(
    'the queue stores an id once, in one call or several, from several instances, and after its ack',
    async (t, world) => {
      const [one, two] = [await world.open(), await world.open()];
      const consumer = await world.consume(one, 'work', { ack_wait_ms: 300 });
      await one.publish('work', [
        { id: 'a', body: 'first' },
        { id: 'b', body: 'other' },
        { id: 'a', body: 'second' },
      ]);
      await two.publish('work', [{ id: 'a', body: 'third' }]);
      const deliveries = await consumer.pull(10, LONG_MS);
      t.deepEqual(
        deliveries.map(({ id, body }) => [id, body]),
        [
          ['a', 'first'],
          ['b', 'other'],
        ],
      );
      await Promise.all(deliveries.map((it) => it.ack()));
      await two.publish('work', [{ id: 'a', body: 'fourth' }]);
      t.deepEqual(await consumer.pull(10, 500), []);
    },
  );

  sentence('subjects are independent, in their ids too', async (t, world) => {
    const queue = await world.open();
    const [checks, more] = [await world.consume(queue, 'checks'), await world.consume(queue, 'checks.more')];
    await queue.publish('checks', [{ id: 'a', body: 'checks' }]);
    await queue.publish('checks.more', [{ id: 'a', body: 'more' }]);
    await queue.publish('checks_more', [{ id: 'a', body: 'neither' }]);
    t.deepEqual(
      (await checks.pull(10, LONG_MS)).map((it) => it.body),
      ['checks'],
    );
    t.deepEqual(
      (await more.pull(10, LONG_MS)).map((it) => it.body),
      ['more'],
    );
    t.is(await queue.depth('checks_more'), 1);
  });

  sentence('depth counts waiting messages, and none in hand', async (t, world) => {
    const queue = await world.open();
    t.is(await queue.depth('work'), 0);
    await queue.publish('work', numbered(0, 10));
    t.is(await queue.depth('work'), 10, 'before anyone consumes');
    const consumer = await world.consume(queue, 'work');
    t.is(await queue.depth('work'), 10);
    const deliveries = await consumer.pull(4, LONG_MS);
    t.is(await queue.depth('work'), 6);
    await deliveries[0]!.ack();
    t.is(await queue.depth('work'), 6);
    await deliveries[1]!.nak(60_000);
    t.is(await queue.depth('work'), traits.depth_after_nak === 'counted' ? 7 : 6);
  });

  sentence('publishing no messages does nothing', async (t, world) => {
    const queue = await world.open();
    await queue.publish('work', []);
    t.is(await queue.depth('work'), 0);
  });

  sentence('every call refuses a bad subject', async (t, world) => {
    const queue = await world.open();
    for (const subject of ['', '.', 'a.', '.a', 'a..b', 'a b', 'A', 'a.*', '>', 'é', 'a/b', 'a'.repeat(201)]) {
      const expected = { code: 'invalid_subject' };
      await t.throwsAsync(queue.publish(subject, [{ id: 'a', body: 1 }]), expected, subject);
      await t.throwsAsync(world.consume(queue, subject), expected, subject);
      await t.throwsAsync(queue.depth(subject), expected, subject);
      await t.throwsAsync(queue.broadcast(subject, 1), expected, subject);
      await t.throwsAsync(
        queue.listen(subject, () => {}, world.signal),
        expected,
        subject,
      );
    }
  });

  sentence('a call with a bad message stores nothing', async (t, world) => {
    const queue = await world.open();
    const bad: Message[] = [
      { id: '', body: 1 },
      { id: 'a b', body: 1 },
      { id: 'a\r\nb', body: 1 },
      { id: 'a'.repeat(201), body: 1 },
      { id: 'b', body: undefined },
      { id: 'b', body: 'x'.repeat(1_000_000) },
    ];
    for (const message of bad) {
      await t.throwsAsync(queue.publish('work', [{ id: 'good', body: 1 }, message]), { code: 'invalid_message' });
    }
    t.is(await queue.depth('work'), 0);
    const consumer = await world.consume(queue, 'work');
    await t.throwsAsync(consumer.pull(0, 1), { code: 'invalid_option' });
    await t.throwsAsync(consumer.pull(1, -1), { code: 'invalid_option' });
    await t.throwsAsync(world.consume(queue, 'work', { max_deliveries: 0 }), { code: 'invalid_option' });
  });
}
