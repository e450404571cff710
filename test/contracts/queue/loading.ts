// Many messages, and large ones.
import type { Consumer, Delivery, Message } from '../../../checkers/queue.ts';
import { LONG_MS, numbered, pullAndAck, type Sentence } from './world.ts';

export function loading(sentence: Sentence): void {
  sentence('10,000 messages arrive once each', async (t, world) => {
    const [one, two] = [await world.open(), await world.open()];
    const consumers = [await world.consume(one, 'work'), await world.consume(two, 'work')];
    const ids: string[] = [];
    const drain = async (consumer: Consumer) => {
      while (ids.length < 10_000) ids.push(...(await pullAndAck(consumer, 100, 100)));
    };
    const publish = async () => {
      for (let from = 0; from < 10_000; from += 100) await one.publish('work', numbered(from, from + 100));
    };
    await Promise.all([publish(), ...consumers.map(drain)]);
    t.is(new Set(ids).size, 10_000);
    t.is(ids.length, 10_000);
    t.is(await one.depth('work'), 0);
  });

  sentence('10,000 messages can be in hand at once', async (t, world) => {
    const queue = await world.open();
    const consumer = await world.consume(queue, 'work');
    for (let from = 0; from < 10_000; from += 1_000) await queue.publish('work', numbered(from, from + 1_000));
    const taken: Delivery[] = [];
    while (taken.length < 10_000) {
      const pulled = await consumer.pull(1_000, LONG_MS);
      t.true(pulled.length > 0);
      taken.push(...pulled);
    }
    t.is(await queue.depth('work'), 0);
    await Promise.all(taken.map((it) => it.ack()));
  });

  sentence('a batch of 500 messages of 9 kB arrives whole', async (t, world) => {
    const queue = await world.open();
    const consumer = await world.consume(queue, 'work');
    const messages = numbered(0, 500).map(({ id }) => ({ id, body: { id, filling: 'x'.repeat(9_000) } }));
    await queue.publish('work', messages);
    const got: Message[] = [];
    while (got.length < 500) {
      for (const { id, body, ack } of await consumer.pull(100, LONG_MS)) {
        got.push({ id, body });
        await ack();
      }
    }
    t.deepEqual(got, messages);
  });
}
