// Waiting pulls and their ends.

import { startPatientTimer } from '../../support/patient-clock.ts';
import {
  handles,
  idsOf,
  LONG_MS,
  median,
  numbered,
  pullAndAck,
  type Sentence,
  SOON_MS,
  timed,
  until,
} from './world.ts';

export function waiting(sentence: Sentence): void {
  sentence('a pull without messages takes its whole time, and one of 0 ms hardly any', async (t, world) => {
    const consumer = await world.consume(await world.open(), 'work');
    const vain = await timed(consumer.pull(1, 300));
    t.deepEqual(vain.value, []);
    t.true(vain.took_ms >= 280 && vain.patient_ms < SOON_MS, `it took ${vain.took_ms} ms`);
    const look = await timed(consumer.pull(1, 0));
    t.deepEqual(look.value, []);
    t.true(look.patient_ms < SOON_MS, `it took ${look.took_ms} ms`);
  });

  sentence('a message that this or another instance publishes wakes a waiting pull', async (t, world) => {
    const [one, two] = [await world.open(), await world.open()];
    const consumer = await world.consume(one, 'work');
    await pullAndAck(consumer, 1, 50);
    const took_ms: number[] = [];
    for (const [i, publisher] of [one, two, one, two, one, two].entries()) {
      const waiting = consumer.pull(100, LONG_MS);
      await world.settled(waiting);
      const timer = startPatientTimer();
      await publisher.publish('work', [{ id: `message-${i}`, body: i }]);
      const [delivery] = await waiting;
      took_ms.push(timer.elapsed_ms());
      timer.stop();
      t.is(delivery?.body, i);
      await delivery!.ack();
    }
    t.true(median(took_ms) < SOON_MS, `they took ${took_ms.map(Math.round)} ms`);
  });

  sentence('each of several waiting consumers gets its message', async (t, world) => {
    const [one, two] = [await world.open(), await world.open()];
    const consumers = await Promise.all([one, one, two, two].map((queue) => world.consume(queue, 'work')));
    const waiting = consumers.map((consumer) => consumer.pull(1, LONG_MS));
    await world.settled(...waiting);
    await one.publish('work', numbered(0, 4));
    const got = (await Promise.all(waiting)).flat().map((it) => it.id);
    t.deepEqual(got.sort(), idsOf(0, 4).sort());
  });

  sentence('an abort ends a pull without messages, and loses none', async (t, world) => {
    const queue = await world.open();
    const abort = new AbortController();
    const leaving = await world.consume(queue, 'work', { signal: abort.signal, ack_wait_ms: 60_000 });
    const staying = await world.consume(queue, 'work', { ack_wait_ms: 60_000 });
    const waiting = leaving.pull(100, 60_000);
    await world.settled(waiting);
    const timer = startPatientTimer();
    abort.abort();
    t.deepEqual(await waiting, []);
    t.true(timer.elapsed_ms() < SOON_MS);
    timer.stop();
    await queue.publish('work', [{ id: 'a', body: 1 }]);
    t.deepEqual(await leaving.pull(1, 60_000), []);
    t.is((await staying.pull(1, LONG_MS))[0]?.id, 'a');
  });

  sentence('a message that arrives during an abort reaches another consumer', async (t, world) => {
    const queue = await world.open();
    const staying = await world.consume(queue, 'work', { ack_wait_ms: 60_000 });
    for (let round = 0; round < 20; round += 1) {
      const abort = new AbortController();
      const leaving = await world.consume(queue, 'work', { ack_wait_ms: 60_000, signal: abort.signal });
      const pulling = leaving.pull(10, 60_000);
      const publishing = queue.publish('work', numbered(10 * round, 10 * (round + 1)));
      setImmediate(() => abort.abort());
      const deliveries = await pulling;
      await publishing;
      while (deliveries.length < 10) deliveries.push(...(await staying.pull(10, LONG_MS)));
      t.deepEqual(deliveries.map((it) => it.id).sort(), idsOf(10 * round, 10 * (round + 1)).sort());
      await Promise.all(deliveries.map((it) => it.ack()));
    }
  });

  sentence('a consumer of an aborted signal gets nothing', async (t, world) => {
    const queue = await world.open();
    await queue.publish('work', [{ id: 'a', body: 1 }]);
    const consumer = await world.consume(queue, 'work', { signal: AbortSignal.abort() });
    t.deepEqual(await consumer.pull(1, 60_000), []);
    await queue.listen('news', () => t.fail(), AbortSignal.abort());
    await queue.broadcast('news', 1);
  });

  sentence('close ends pulls and listening, and leaves nothing that keeps the process alive', async (t, world) => {
    const others = await world.open();
    const before = handles();
    const queue = await world.open();
    const consumer = await world.consume(queue, 'work');
    await queue.listen('news', () => t.fail(), new AbortController().signal);
    const waiting = [consumer.pull(1, 60_000), consumer.pull(100, 60_000)];
    await world.settled(...waiting);
    const timer = startPatientTimer();
    await queue.close();
    t.deepEqual(await Promise.all(waiting), [[], []]);
    t.true(timer.elapsed_ms() < SOON_MS);
    timer.stop();
    await others.broadcast('news', 1);
    await until(() => handles() <= before);
    await queue.close();
    t.deepEqual(await consumer.pull(1, 60_000), []);
    await t.throwsAsync(queue.publish('work', [{ id: 'a', body: 1 }]), { code: 'closed' });
    await t.throwsAsync(queue.depth('work'), { code: 'closed' });
    await t.throwsAsync(queue.broadcast('news', 1), { code: 'closed' });
  });
}
