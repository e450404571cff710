// The state after a restart of the server, or of all processes.
import { idsOf, LONG_MS, numbered, pullAndAck, type QueueTraits, type Sentence, until } from './world.ts';

export function restarting(sentence: Sentence, traits: QueueTraits): void {
  sentence('a restart keeps messages without an ack, and no others', async (t, world) => {
    const before = await world.open();
    const consumer = await world.consume(before, 'work', { ack_wait_ms: 1_000 });
    await before.publish('work', numbered(0, 100));
    const [acknowledged, ...in_hand] = await consumer.pull(10, LONG_MS);
    t.is(in_hand.length, 9);
    await acknowledged!.ack();
    await world.restart();
    const after = await world.consume(await world.open(), 'work', { ack_wait_ms: 1_000 });
    const ids = new Set<string>();
    while (ids.size < 99) for (const id of await pullAndAck(after, 100)) ids.add(id);
    t.deepEqual([...ids].sort(), idsOf(0, 100).slice(1).sort());
  });

  sentence('after a restart publishing, pulling and listening work again', async (t, world) => {
    const heard: unknown[] = [];
    const before = await world.open();
    const consumer_before = await world.consume(before, 'work');
    await before.listen('news', (body) => heard.push(body), world.signal);
    const waiting = consumer_before.pull(1, LONG_MS);
    await world.settled(waiting);
    await world.restart();
    if (traits.restart === 'end') {
      t.deepEqual(await waiting, []);
      await t.throwsAsync(before.publish('work', [{ id: 'a', body: 1 }]), { code: 'closed' });
    }
    const after = traits.restart === 'outlived' ? before : await world.open();
    const pulled = traits.restart === 'outlived' ? waiting : (await world.consume(after, 'work')).pull(1, LONG_MS);
    if (traits.restart === 'end') await after.listen('news', (body) => heard.push(body), world.signal);
    await after.publish('work', [{ id: 'a', body: 1 }]);
    t.is((await pulled)[0]?.id, 'a', 'by the pull that waited all the while, where it may');
    await after.broadcast('news', 'again');
    await until(() => heard.length === 1);
    t.deepEqual(heard, ['again']);
  });
}
