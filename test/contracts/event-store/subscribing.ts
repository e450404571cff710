// Contract of `subscribe`: catch-up, then live, without a gap or a repeat; checkpoints; the end.
import { BEGINNING, type EventStore, type Position, type SubscriptionBatch } from '../../../events/event-store.ts';
import { appended, fill, idle, ids, listen, newCategory, newEvent, newEvents, type Sentence, soon } from './fixture.ts';

/** Appends single events to one stream until `stop`. Returns their number. */
async function keepAppending(store: EventStore, stream: string, going: () => boolean): Promise<number> {
  let count = 0;
  while (going()) {
    await appended(store.append(stream, count === 0 ? 'no_stream' : count - 1, [newEvent({ n: count })]));
    count += 1;
    // One turn of the event loop, as a writer has that waits for a network.
    await new Promise(setImmediate);
  }
  return count;
}

export function subscribing(sentence: Sentence): void {
  sentence('a subscription gives the existing events, then new ones', async (t, { store, other, category, filter }) => {
    const events = newEvents(30);
    await fill(store, `${category}-1`, events.slice(0, 10));
    let live = false;
    const heard = await listen(
      store,
      { filter },
      ({ events }) => events.length >= 30,
      async ({ events: so_far }) => {
        if (live || so_far.length < 10) return;
        live = true;
        await appended(store.append(`${category}-1`, 9, events.slice(10, 20)));
        await appended(other.append(`${category}-2`, 'no_stream', events.slice(20)));
      },
    );
    t.deepEqual(ids(heard.events), ids(events));
    t.deepEqual(
      heard.events.map((event) => event.position),
      heard.events.map((event) => event.position).toSorted(),
    );
  });

  sentence('the change from catch-up to live loses and repeats nothing during constant appends', async (t, scene) => {
    const { store, other, category, filter, long } = scene;
    const past = Math.min(long, 5_000);
    await fill(store, `${category}-past`, newEvents(past));
    let going = true;
    const writing = Promise.all([
      keepAppending(store, `${category}-a`, () => going),
      keepAppending(other, `${category}-b`, () => going),
    ]);
    let last: Position = '\uffff';
    let stopping: Promise<unknown> | undefined;
    const follow = (connection: EventStore) =>
      listen(
        connection,
        { filter },
        ({ position }) => position >= last,
        async ({ events }) => {
          if (events.length < past + 400) return;
          stopping ??= (async () => {
            going = false;
            await writing;
            last = (await appended(store.append(`${category}-end`, 'no_stream', newEvents(1)))).position;
          })();
          await stopping;
        },
      );
    const followers = await Promise.all([follow(store), follow(other), follow(other)]);
    const log = await Array.fromAsync(store.readAll({ filter }));
    t.true(log.length > past + 400);
    for (const { events } of followers) {
      t.deepEqual(
        events.map((event) => event.position),
        log.map((event) => event.position),
      );
      t.deepEqual(ids(events), ids(log));
    }
  });

  sentence('a subscription from the head gives only new events', async (t, { store, category, filter }) => {
    await fill(store, `${category}-1`, newEvents(5));
    const from = await store.head();
    const events = newEvents(3);
    await appended(store.append(`${category}-1`, 4, events));
    t.deepEqual(ids((await listen(store, { from, filter }, ({ events }) => events.length >= 3)).events), ids(events));
  });

  sentence('a subscription gives only events that pass its filter', async (t, { store, other, category }) => {
    const second = newCategory();
    const wanted: string[] = [];
    const write = async () => {
      for (let n = 0; n < 60; n += 1) {
        const of = n % 2 === 0 ? category : second;
        const event = newEvent({ n }, n % 3 === 0 ? 'Wanted' : 'Unwanted');
        if (of === category && event.type === 'Wanted') wanted.push(event.id);
        await fill(n % 4 < 2 ? store : other, `${of}-${n}`, [event]);
      }
    };
    const filter = { categories: [category], types: ['Wanted'] };
    const [heard] = await Promise.all([listen(store, { filter }, ({ events }) => events.length >= 10), write()]);
    t.deepEqual(ids(heard.events), wanted);
  });

  sentence('the position passes events that the filter leaves out', async (t, { store, other, category, filter }) => {
    const second = newCategory();
    await fill(store, `${category}-1`, newEvents(2));
    let waited_for: Position | undefined;
    let round = 0;
    const heard = await listen(
      store,
      { filter },
      ({ position }) => round === 4 && position >= waited_for!,
      async ({ events, position }) => {
        if (events.length < 2 || (waited_for !== undefined && position < waited_for)) return;
        round += 1;
        waited_for = await fill(round % 2 === 0 ? store : other, `${second}-${round}`, newEvents(round));
      },
    );
    t.is(heard.events.length, 2);
  });

  sentence('the position of a filtered catch-up passes the rest of the log', async (t, { store, category, filter }) => {
    await fill(store, `${category}-1`, newEvents(2));
    const position = await fill(store, `${newCategory()}-1`, newEvents(3_000));
    const heard = await listen(store, { filter }, (heard) => heard.position >= position);
    t.is(heard.events.length, 2);
  });

  sentence('positions never go back, and cover the events of their batch', async (t, scene) => {
    const { store, category, filter } = scene;
    await fill(store, `${category}-1`, newEvents(3_000));
    const { batches } = await listen(store, { filter }, ({ events }) => events.length >= 3_000);
    let position = BEGINNING;
    for (const batch of batches) {
      t.true(batch.position >= position);
      t.true(batch.events.every((event) => event.position > position && event.position <= batch.position));
      t.true(batch.events.length > 0 || batch.position > position, 'an empty batch moves the position');
      position = batch.position;
    }
  });

  sentence('a subscription resumes from each of its checkpoints', async (t, { store, other, category, filter }) => {
    const second = newCategory();
    const write = async () => {
      for (let n = 0; n < 20; n += 1) {
        const of = n % 3 === 0 ? second : category;
        await fill(n % 2 === 0 ? store : other, `${of}-${n}`, newEvents(3, 3 * n));
        await new Promise(setImmediate);
      }
    };
    const wanted = 13 * 3;
    const enough = ({ events }: { events: unknown[] }) => events.length >= wanted;
    const [heard] = await Promise.all([listen(store, { filter }, enough), write()]);
    const log = await Array.fromAsync(store.readAll({ filter }));
    t.is(log.length, wanted);
    const checkpoints = [BEGINNING, ...heard.batches.map((batch) => batch.position)];
    for (const from of checkpoints) {
      const rest = ids(log.filter((event) => event.position > from));
      t.deepEqual(ids(await Array.fromAsync(other.readAll({ from, filter }))), rest);
      if (rest.length === 0) continue;
      const resumed = await listen(other, { from, filter }, ({ events }) => events.length >= rest.length);
      t.deepEqual(ids(resumed.events), rest);
    }
  });

  sentence('a slow consumer loses nothing', async (t, { store, other, category, filter, long }) => {
    const streams = Math.min(20, long / 250);
    await fill(store, `${category}-0`, newEvents(2_000));
    let stream = 0;
    const heard = await listen(
      store,
      { filter },
      ({ events }) => events.length >= 2_000 + streams * 250,
      async () => {
        // Both connections append many events while the consumer holds a batch.
        for (let count = 0; count < 2 && stream < streams; count += 1) {
          stream += 1;
          await fill(stream % 2 === 0 ? store : other, `${category}-${stream}`, newEvents(250));
        }
      },
    );
    t.deepEqual(ids(heard.events), ids(await Array.fromAsync(store.readAll({ filter }))));
  });

  sentence('a waiting subscription ends on abort, at once and without an error', async (t, scene) => {
    const { store, category, filter } = scene;
    await fill(store, `${category}-1`, newEvents(1));
    const abort = new AbortController();
    const caught_up = Promise.withResolvers<void>();
    const head = await store.head();
    const ended = (async () => {
      for await (const batch of store.subscribe({ filter, signal: abort.signal })) {
        if (batch.position >= head) caught_up.resolve();
      }
    })();
    await soon(caught_up.promise, 'the subscription catches up');
    await idle();
    abort.abort();
    await soon(ended, 'the subscription ends', 30_000);
    t.pass();
  });

  sentence('an abort while a batch is held ends the subscription after it', async (t, scene) => {
    const { store, category, filter, long } = scene;
    await fill(store, `${category}-1`, newEvents(Math.min(long, 5_000)));
    const abort = new AbortController();
    const batches: SubscriptionBatch[] = [];
    const ended = (async () => {
      for await (const batch of store.subscribe({ filter, signal: abort.signal })) {
        batches.push(batch);
        abort.abort();
      }
    })();
    await soon(ended, 'the subscription ends', 30_000);
    t.is(batches.length, 1);
  });

  sentence('an aborted signal gives an empty subscription', async (t, { store, category, filter }) => {
    await fill(store, `${category}-1`, newEvents(1));
    t.deepEqual(
      await soon(Array.fromAsync(store.subscribe({ filter, signal: AbortSignal.abort() })), 'the end', 30_000),
      [],
    );
  });

  sentence(
    'closing the store ends its subscriptions without an error',
    async (t, { store, other, category, filter }) => {
      await fill(store, `${category}-1`, newEvents(1));
      const caught_up = Promise.withResolvers<void>();
      const ended = (async () => {
        for await (const batch of store.subscribe({ filter, signal: new AbortController().signal })) {
          if (batch.events.length > 0) caught_up.resolve();
        }
      })();
      await soon(caught_up.promise, 'the subscription catches up');
      await idle();
      await store.close();
      await soon(ended, 'the subscription ends', 30_000);
      t.true((await other.append(`${category}-1`, 0, newEvents(1))).ok, 'other connections go on');
    },
  );

  sentence('each of many subscriptions gets every event', async (t, { store, other, category, filter }) => {
    const listening = Array.from({ length: 12 }, (_, n) =>
      listen(n % 2 === 0 ? store : other, { filter }, ({ events }) => events.length >= 100),
    );
    for (let n = 0; n < 10; n += 1) await fill(n % 2 === 0 ? store : other, `${category}-${n}`, newEvents(10));
    const log = ids(await Array.fromAsync(store.readAll({ filter })));
    for (const heard of await Promise.all(listening)) t.deepEqual(ids(heard.events), log);
  });
}
