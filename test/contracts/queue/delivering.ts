// How a consumer gets messages, gets them again, and ends them.
import { setTimeout as pause } from 'node:timers/promises';
import { idsOf, LONG_MS, numbered, pullAndAck, type Sentence, SOON_MS, timed } from './world.ts';

export function delivering(sentence: Sentence): void {
  sentence('a published message is pulled, and disappears with its ack', async (t, world) => {
    const queue = await world.open();
    const consumer = await world.consume(queue, 'work', { ack_wait_ms: 300 });
    await queue.publish('work', [{ id: 'a', body: { urls: ['https://example.com/?q=ü'], n: [1, null, true] } }]);
    const [delivery, ...others] = await consumer.pull(10, LONG_MS);
    t.deepEqual(others, []);
    t.is(delivery!.id, 'a');
    t.is(delivery!.delivery, 1);
    t.deepEqual(delivery!.body, { urls: ['https://example.com/?q=ü'], n: [1, null, true] });
    await delivery!.ack();
    t.deepEqual(await consumer.pull(10, 600), [], 'not even after the ack wait');
  });

  sentence('dropping a subject deletes its messages, those in progress too, and no others', async (t, world) => {
    const [queue, other] = [await world.open(), await world.open()];
    const consumer = await world.consume(queue, 'work.one', { ack_wait_ms: 300 });
    const beside = await world.consume(queue, 'work.two');
    await queue.publish('work.one', numbered(0, 3));
    await queue.publish('work.two', numbered(0, 1));
    const [taken] = await consumer.pull(1, LONG_MS);
    await other.drop('work.one');
    t.is(await queue.depth('work.one'), 0);
    await taken!.ack();
    t.deepEqual(await consumer.pull(10, 600), [], 'not even after the ack wait');
    t.deepEqual(await pullAndAck(beside, 10), idsOf(0, 1));
    await queue.publish('work.one', [{ id: 'later', body: 1 }]);
    t.deepEqual(await pullAndAck(consumer, 10), ['later']);
    await other.drop('never.published');
  });

  sentence('messages arrive in the order of publication', async (t, world) => {
    const queue = await world.open();
    const consumer = await world.consume(queue, 'work');
    await queue.publish('work', numbered(0, 50));
    await queue.publish('work', numbered(50, 100));
    const ids: string[] = [];
    while (ids.length < 100) ids.push(...(await pullAndAck(consumer, 7)));
    t.deepEqual(ids, idsOf(0, 100));
  });

  sentence('one consumer at a time has a message, over all instances', async (t, world) => {
    const [one, two] = [await world.open(), await world.open()];
    const consumers = [
      await world.consume(one, 'work'),
      await world.consume(one, 'work'),
      await world.consume(two, 'work'),
    ];
    await one.publish('work', numbered(0, 300));
    const shares = await Promise.all(
      consumers.map(async (consumer) => {
        const ids: string[] = [];
        for (let pulled = await pullAndAck(consumer, 5, 300); pulled.length > 0; ) {
          ids.push(...pulled);
          pulled = await pullAndAck(consumer, 5, 300);
        }
        return ids;
      }),
    );
    t.deepEqual(shares.flat().sort(), idsOf(0, 300).sort());
    for (const share of shares) t.true(share.length > 0, 'everyone gets some');
  });

  sentence(
    'a message without an ack is redelivered after the ack wait, with the number of its delivery',
    async (t, world) => {
      const queue = await world.open();
      const consumer = await world.consume(queue, 'work', { ack_wait_ms: 400 });
      await queue.publish('work', [{ id: 'a', body: 1 }]);
      const since = performance.now();
      const [first] = await consumer.pull(1, LONG_MS);
      const [second] = await consumer.pull(1, LONG_MS);
      t.true(performance.now() - since > 380, 'it was in hand until then');
      t.deepEqual([first!.delivery, second!.delivery], [1, 2]);
      t.deepEqual([second!.id, second!.body], ['a', 1]);
    },
  );

  sentence('working() postpones the redelivery', async (t, world) => {
    const queue = await world.open();
    const consumer = await world.consume(queue, 'work', { ack_wait_ms: 3_000 });
    await queue.publish('work', [{ id: 'a', body: 1 }]);
    const [delivery] = await consumer.pull(1, LONG_MS);
    const again = consumer.pull(1, LONG_MS);
    let postponed_at = 0;
    for (let i = 0; i < 3; i += 1) {
      await pause(700);
      postponed_at = performance.now();
      await delivery!.working();
    }
    t.is((await again)[0]?.delivery, 2, 'it comes again when nothing is heard of it');
    t.true(performance.now() - postponed_at > 2_950);
  });

  sentence('nak returns a message to the queue at once', async (t, world) => {
    const queue = await world.open();
    const consumer = await world.consume(queue, 'work');
    const elsewhere = await world.consume(await world.open(), 'work');
    await queue.publish('work', [{ id: 'a', body: 1 }]);
    const [first] = await consumer.pull(1, LONG_MS);
    const waiting = timed(elsewhere.pull(1, LONG_MS));
    await first!.nak();
    const { value, patient_ms } = await waiting;
    t.is(value[0]?.delivery, 2);
    t.true(patient_ms < SOON_MS, `it took ${patient_ms} ms`);
  });

  sentence('nak with a delay returns a message after the delay', async (t, world) => {
    const queue = await world.open();
    const consumer = await world.consume(queue, 'work');
    await queue.publish('work', [{ id: 'a', body: 1 }]);
    const [first] = await consumer.pull(1, LONG_MS);
    const naked = timed(first!.nak(500).then(() => consumer.pull(1, LONG_MS)));
    const { value, took_ms, patient_ms } = await naked;
    t.is(value[0]?.delivery, 2);
    t.true(took_ms > 480 && patient_ms < SOON_MS, `it took ${took_ms} ms`);
  });

  sentence('the queue drops a message that is returned at its last delivery', async (t, world) => {
    const queue = await world.open();
    const consumer = await world.consume(queue, 'work', { ack_wait_ms: 300, max_deliveries: 3 });
    await queue.publish('work', [{ id: 'a', body: 1 }]);
    for (const delivery of [1, 2, 3]) {
      const [given] = await consumer.pull(1, LONG_MS);
      t.is(given?.delivery, delivery);
      await given!.nak();
    }
    t.deepEqual(await consumer.pull(1, 600), []);
    t.is(await queue.depth('work'), 0);
  });

  sentence('the queue drops a message that is not acknowledged after its last delivery', async (t, world) => {
    const queue = await world.open();
    const consumer = await world.consume(queue, 'work', { ack_wait_ms: 200, max_deliveries: 2 });
    await queue.publish('work', [{ id: 'a', body: 1 }]);
    for (const delivery of [1, 2]) t.is((await consumer.pull(1, LONG_MS))[0]?.delivery, delivery);
    t.deepEqual(await consumer.pull(1, 800), []);
    t.is(await queue.depth('work'), 0);
    await queue.publish('work', [{ id: 'b', body: 2 }]);
    t.is((await consumer.pull(1, LONG_MS))[0]?.id, 'b', 'those behind it are not held up');
  });

  sentence('an ack after the redelivery to another consumer does no harm', async (t, world) => {
    const [one, two] = [await world.open(), await world.open()];
    const slow = await world.consume(one, 'work', { ack_wait_ms: 300 });
    const other = await world.consume(two, 'work', { ack_wait_ms: 300 });
    await one.publish('work', [{ id: 'a', body: 1 }]);
    const [late] = await slow.pull(1, LONG_MS);
    const [again] = await other.pull(1, LONG_MS);
    await late!.ack();
    await again!.ack();
    await late!.ack();
    await late!.nak();
    await late!.working();
    t.deepEqual(await other.pull(1, 600), [], 'done is done');
  });
}
