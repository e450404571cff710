// What EventStoreDB's adapter does when the server loses answers, breaks connections, is away, or says nothing.
import { EventEmitter, once } from 'node:events';
import test from 'ava';
import type { EventStore, Position, RecordedEvent } from '../../../events/event-store.ts';
import { appended, DEADLINE_MS, fill, ids, newEvents, soon } from '../../contracts/event-store/fixture.ts';
import { proposal, scene } from './eventstoredb-scene.ts';

// Serial: their time limits are short, and they would wait for each other.

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
};

for (const [how, breaks_connections] of [
  ['never comes', false],
  ['is lost with its connection', true],
] as const) {
  test.serial(
    `an append whose acknowledgement ${how} is retried without a second copy`,
    scene({ answer_timeout_ms: 250 }, async (t, { server, store }) => {
      const before = newEvents(2);
      await appended(store.append('job-1', 'no_stream', before));
      const events = newEvents(3);
      const before_fault = server.faults.appends_received;
      Object.assign(server.faults, { lost_acknowledgements: 1, breaks_connections });
      const result = await appended(store.append('job-1', 1, events));
      t.true(server.faults.appends_received >= before_fault + 2, 'it was made again');
      const read = await Array.fromAsync(store.readStream('job-1'));
      t.deepEqual(ids(read), ids([...before, ...events]));
      t.is(result.revision, 4);
      t.is(result.position, read.at(-1)!.position);
    }),
  );
}

test.serial(
  'a retried append gives the first positions of its events after other writes',
  scene({ answer_timeout_ms: 250 }, async (t, { server, store, seen }) => {
    const events = newEvents(2);
    server.faults.lost_acknowledgements = 1;
    const trouble = once(seen, 'trouble');
    const appending = appended(store.append('job-1', 'no_stream', events));
    await trouble;
    const others = await appended(store.append('job-1', 1, newEvents(1)));
    const result = await appending;
    t.is(result.revision, 1);
    t.true(result.position < others.position);
    t.is((await Array.fromAsync(store.readStream('job-1'))).length, 3);
  }),
);

test.serial(
  'appends over breaking connections are each stored once and whole',
  scene({}, async (t, { server, store }) => {
    const appends = Array.from({ length: 60 }, (_, n) => ({ stream: `job-${n}`, events: newEvents(50) }));
    let made = 0;
    const writer = async () => {
      for (let next = appends.pop(); next !== undefined; next = appends.pop()) {
        const { stream, events } = next;
        // The connection breaks while the events are on their way.
        if (made % 6 === 3) setImmediate(server.killConnections);
        t.is((await appended(store.append(stream, 'no_stream', events))).revision, 49);
        t.deepEqual(ids(await Array.fromAsync(store.readStream(stream))), ids(events));
        made += 1;
      }
    };
    await Promise.all([writer(), writer(), writer(), writer()]);
    t.is(made, 60);
    t.true(server.faults.appends_received >= 60);
  }),
);

test.serial(
  'appends and reads of a silent server fail as unavailable in time, and succeed when it answers again',
  scene({ answer_timeout_ms: 250, unavailable_after_ms: 1_000 }, async (t, { server, store }) => {
    const events = newEvents(2);
    await appended(store.append('job-1', 'no_stream', events));
    const more = newEvents(1);
    server.faults.silent = true;
    const took_ms = await timed(async () => {
      await Promise.all([
        t.throwsAsync(store.append('job-1', 1, more), { code: 'unavailable' }),
        t.throwsAsync(Array.fromAsync(store.readStream('job-1')), { code: 'unavailable' }),
        t.throwsAsync(Array.fromAsync(store.readAll()), { code: 'unavailable' }),
        t.throwsAsync(store.head(), { code: 'unavailable' }),
        t.throwsAsync(store.deleteStream('job-2'), { code: 'unavailable' }),
      ]);
    });
    t.true(took_ms < 30_000, `${took_ms} ms`);
    server.faults.silent = false;
    // The server did store the events, so that the caller's own retry finds them.
    t.is((await appended(store.append('job-1', 1, more))).revision, 2);
    t.deepEqual(ids(await Array.fromAsync(store.readAll())), ids([...events, ...more]));
  }),
);

test.serial(
  'an append that begins while the server is away succeeds when it is back',
  scene({}, async (t, { server, store, seen }) => {
    await appended(store.append('job-1', 'no_stream', newEvents(1)));
    await server.stop();
    const trouble = once(seen, 'trouble');
    const appending = appended(store.append('job-1', 0, newEvents(1)));
    await trouble;
    await server.start();
    t.is((await soon(appending, 'the append')).revision, 1);
  }),
);

test.serial(
  'an absent server makes appends and reads fail with the cause, and the log warns once',
  scene({ unavailable_after_ms: 300 }, async (t, { server, store, seen }) => {
    const levels: number[] = [];
    seen.on('trouble', (level) => levels.push(level));
    await server.stop();
    const error = await t.throwsAsync(store.append('job-1', 'no_stream', newEvents(1)), { code: 'unavailable' });
    t.true(error.cause instanceof Error);
    await t.throwsAsync(store.head(), { code: 'unavailable' });
    t.true(levels.length > 3);
    t.deepEqual(
      levels.filter((level) => level >= 40),
      [40],
    );
  }),
);

test.serial(
  'reads continue over a broken connection without a gap or a repeat',
  scene({}, async (t, { server, store }) => {
    const events = newEvents(4_000);
    await fill(store, 'job-1', events);
    const breaking = async (read: AsyncIterable<RecordedEvent>) => {
      const seen: string[] = [];
      for await (const event of read) {
        if (seen.length % 1_500 === 700) server.killConnections();
        seen.push(event.id);
      }
      return seen;
    };
    t.deepEqual(await breaking(store.readStream('job-1')), ids(events));
    t.deepEqual(await breaking(store.readStream('job-1', { direction: 'backwards' })), ids(events).reverse());
    t.deepEqual(await breaking(store.readStream('job-1', { from: 5, limit: 3_000 })), ids(events.slice(5, 3_005)));
    t.deepEqual(await breaking(store.readAll({ filter: { categories: ['job'] } })), ids(events));
  }),
);

test.serial(
  'a subscription over broken connections and restarts gives every event once, and in order',
  scene({}, async (t, { server, store, seen }) => {
    const rounds = 8;
    const expected: string[] = [];
    const heard: RecordedEvent[] = [];
    const positions: Position[] = [];
    const abort = new AbortController();
    const heardAll = new EventEmitter();
    const filter = { categories: ['job'], types: ['Wanted'] };
    const listening = (async () => {
      for await (const batch of store.subscribe({ filter, signal: abort.signal })) {
        heard.push(...batch.events);
        positions.push(batch.position);
        heardAll.emit('batch');
      }
    })();
    for (let round = 0; round < rounds; round += 1) {
      const events = newEvents(60).map((event, n) => ({ ...event, type: n % 3 === 0 ? 'Wanted' : 'Unwanted' }));
      expected.push(...ids(events.filter(({ type }) => type === 'Wanted')));
      // Half of the events are appended while nothing is connected, half while the subscription reconnects.
      const trouble = once(seen, 'trouble');
      if (round % 2 === 0) await server.stop();
      else server.killConnections();
      await soon(trouble, 'the subscription notices');
      server.log.append(`job-${round}`, 'no_stream', events.slice(0, 30).map(proposal));
      if (round % 2 === 0) await server.start();
      const last = await fillFrom(store, `job-${round}`, 29, events.slice(30));
      await fill(store, `other-${round}`, newEvents(40));
      while ((positions.at(-1) ?? '') < last) await soon(once(heardAll, 'batch'), 'the next batch');
    }
    abort.abort();
    await soon(listening, 'the end');
    t.deepEqual(ids(heard), expected);
    t.deepEqual(positions, [...new Set(positions)].toSorted());
  }),
);

const fillFrom = async (store: EventStore, stream: string, revision: number, events: ReturnType<typeof newEvents>) =>
  (await appended(store.append(stream, revision, events))).position;

test.serial(
  'a subscription to a silent server retries until it answers',
  scene({ answer_timeout_ms: 250 }, async (t, { server, store, seen }) => {
    const events = newEvents(3);
    await fill(store, 'job-1', events);
    server.faults.silent = true;
    const troubles = (async () => {
      for (let n = 0; n < 3; n += 1) await once(seen, 'trouble');
      server.faults.silent = false;
    })();
    const heard: RecordedEvent[] = [];
    for await (const batch of store.subscribe({ signal: AbortSignal.timeout(DEADLINE_MS) })) {
      heard.push(...batch.events);
      if (heard.length >= 3) break;
    }
    await troubles;
    t.deepEqual(ids(heard), ids(events));
  }),
);

test.serial(
  'an abort ends a subscription at once, also while the server is away',
  scene({}, async (t, { server, store, seen }) => {
    await server.stop();
    const abort = new AbortController();
    const trouble = once(seen, 'trouble');
    const ended = Array.fromAsync(store.subscribe({ signal: abort.signal }));
    await trouble;
    abort.abort();
    t.deepEqual(await soon(ended, 'the end'), []);
  }),
);

test.serial(
  'closing the store ends the calls that wait for a silent server',
  scene({ answer_timeout_ms: 60_000, unavailable_after_ms: 60_000 }, async (t, { server, store }) => {
    await fill(store, 'job-1', newEvents(1));
    server.faults.silent = true;
    const failing = [
      store.append('job-1', 0, newEvents(1)),
      store.head(),
      Array.fromAsync(store.readStream('job-1')),
      Array.fromAsync(store.readAll()),
    ].map((waiting) => t.throwsAsync<Error & { code: string }>(waiting as Promise<unknown>));
    await server.faults.readsOpen(3);
    const took_ms = await timed(() => store.close());
    t.deepEqual(
      (await soon(Promise.all(failing), 'the ends')).map((error) => error.code),
      ['closed', 'closed', 'closed', 'closed'],
    );
    t.true(took_ms < 30_000, `${took_ms} ms`);
  }),
);

test.serial(
  'a read or subscription that its caller leaves ends at the server too',
  scene({}, async (t, { server, store }) => {
    await fill(store, 'job-1', newEvents(5_000));
    for await (const _ of store.readStream('job-1')) break;
    for await (const _ of store.readAll()) break;
    for await (const _ of store.subscribe({ signal: new AbortController().signal })) break;
    const abort = new AbortController();
    for await (const _ of store.subscribe({ signal: abort.signal })) abort.abort();
    await soon(server.faults.readsOpen(0), 'the server has no reads open');
    t.is(server.faults.reads_open, 0);
  }),
);

test.serial(
  'a closed store leaves no connection, however many reads were left early',
  scene({ answer_timeout_ms: 60_000 }, async (t, { server, store }) => {
    await fill(store, 'job-1', newEvents(100));
    for (let n = 0; n < 20; n += 1) await store.head();
    for await (const _ of store.readStream('job-1')) break;
    for await (const _ of store.readAll()) break;
    const took_ms = await timed(() => store.close());
    t.true(took_ms < 30_000, `${took_ms} ms`);
    while (server.connections() > 0) await new Promise(setImmediate);
    t.is(server.connections(), 0);
  }),
);
