// What EventStoreDB's adapter makes of the server's refusals, its positions, and the events of other programs.
import test from 'ava';
import pino from 'pino';
import { openEventStoreDb } from '../../../adapters/eventstore/eventstoredb/eventstoredb-event-store.ts';
import type { RecordedEvent } from '../../../events/event-store.ts';
import { appended, DEADLINE_MS, fill, ids, newEvents, soon } from '../../contracts/event-store/fixture.ts';
import { startEventStoreDbServer } from '../../support/eventstoredb-server/eventstoredb-server.ts';
import { proposal, scene } from './eventstoredb-scene.ts';

// Serial: their time limits are short, and they would wait for each other.

test.serial(
  'positions hold commit and prepare, so that a reader resumes between events of one transaction',
  scene({ shared_commit: true }, async (t, { store }) => {
    const events = newEvents(6);
    await appended(store.append('job-1', 'no_stream', events.slice(0, 3)));
    await appended(store.append('other-1', 'no_stream', newEvents(3)));
    const { position } = await appended(store.append('job-1', 2, events.slice(3)));
    const log = await Array.fromAsync(store.readAll());
    t.is(position, log.at(-1)!.position);
    t.is(new Set(log.map((event) => event.position)).size, 9);
    t.is(new Set(log.map((event) => event.position.slice(0, 16))).size, 3, 'one commit position for each append');
    const filter = { categories: ['job'] };
    for (const { position: from } of log) {
      const rest = ids(log.filter((event) => event.position > from && event.stream === 'job-1'));
      t.deepEqual(ids(await Array.fromAsync(store.readAll({ from, filter }))), rest);
      if (from === position) break;
      const heard: RecordedEvent[] = [];
      for await (const batch of store.subscribe({ from, filter, signal: AbortSignal.timeout(DEADLINE_MS) })) {
        heard.push(...batch.events);
        if (batch.position >= position) break;
      }
      t.deepEqual(ids(heard), rest);
    }
  }),
);

test.serial(
  'an append that the server finds too large fails at once with that reason',
  scene({}, async (t, { server, store }) => {
    server.faults.max_append_bytes = 10_000;
    const events = newEvents(100).map((event) => ({ ...event, data: { url: 'x'.repeat(200) } }));
    await t.throwsAsync(store.append('job-1', 'no_stream', events), {
      code: 'append_too_large',
      message: /the limit is 10000/,
    });
    t.is((await appended(store.append('job-1', 'no_stream', events.slice(0, 10)))).revision, 9);
  }),
);

test.serial(
  'the adapter refuses a position of another store',
  scene({}, async (t, { store }) => {
    await fill(store, 'job-1', newEvents(1));
    await t.throwsAsync(Array.fromAsync(store.readAll({ from: '000000000042' })), { instanceOf: RangeError });
    const signal = AbortSignal.timeout(DEADLINE_MS);
    await t.throwsAsync(Array.fromAsync(store.subscribe({ from: '000000000042', signal })), { instanceOf: RangeError });
  }),
);

for (const refusal of ['not_leader', 'no_leader_info', 'not_ready', 'aborted'] as const) {
  test.serial(
    `the adapter retries when the server answers ${refusal}`,
    scene({}, async (t, { server, store }) => {
      const before = await appended(store.append('job-1', 'no_stream', newEvents(2)));
      const refused = async <T>(work: () => Promise<T>): Promise<T> => {
        server.faults.refusals = [refusal, refusal];
        const result = await soon(work(), `an answer after ${refusal}`);
        t.deepEqual(server.faults.refusals, []);
        return result;
      };
      t.is((await refused(() => appended(store.append('job-1', 1, newEvents(1))))).revision, 2);
      t.is((await refused(() => Array.fromAsync(store.readStream('job-1')))).length, 3);
      t.true((await refused(() => store.head())) > before.position);
      t.is((await refused(() => Array.fromAsync(store.readAll()))).length, 3);
      await refused(async () => {
        for await (const batch of store.subscribe({ signal: AbortSignal.timeout(DEADLINE_MS) })) {
          if (batch.events.length > 0) break;
        }
      });
      await refused(() => store.deleteStream('job-1'));
    }),
  );
}

test.serial(
  'an append whose retry is aborted until its replication is stored once',
  scene({ answer_timeout_ms: 250 }, async (t, { server, store, seen }) => {
    const events = newEvents(3);
    server.faults.lost_acknowledgements = 1;
    seen.once('trouble', () => server.faults.refusals.push('aborted', 'aborted'));
    t.is((await appended(store.append('job-1', 'no_stream', events))).revision, 2);
    t.deepEqual(server.faults.refusals, []);
    t.deepEqual(ids(await Array.fromAsync(store.readStream('job-1'))), ids(events));
  }),
);

test.serial(
  'a live subscription that falls behind a burst reads whole pages',
  scene({}, async (t, { server, store }) => {
    await fill(store, 'job-1', newEvents(1));
    let before: number | undefined;
    const burst = newEvents(5_000);
    const heard: RecordedEvent[] = [];
    for await (const { events } of store.subscribe({
      filter: { types: ['Happened'] },
      signal: AbortSignal.timeout(DEADLINE_MS),
    })) {
      heard.push(...events);
      if (heard.length > 5_000) break;
      if (before !== undefined) continue;
      await server.faults.readsOpen(1);
      before = server.faults.page_reads;
      await fill(store, 'job-2', burst);
    }
    t.deepEqual(ids(heard.slice(1)), ids(burst));
    const pages = server.faults.page_reads - before!;
    t.log(`${pages} pages for a burst of 5,000 events`);
    t.true(pages < 500, `${pages} pages`);
  }),
);

test.serial(
  'the position passes tombstones, metadata and events of other programs, which the adapter skips',
  scene({}, async (t, { server, store }) => {
    const foreign = (type: string, content_type: string, data: string) => ({
      ...proposal(newEvents(1)[0]!),
      type,
      content_type,
      data: Buffer.from(data),
    });
    const events = newEvents(2);
    await fill(store, 'job-1', events.slice(0, 1));
    await fill(store, 'job-2', newEvents(1));
    await store.deleteStream('job-2');
    server.log.delete('job-2');
    server.log.append('foreign-1', 'any', [
      foreign('Bytes', 'application/octet-stream', '\0\xff'),
      foreign('Broken', 'application/json', '{"n":'),
      foreign('$stats', 'application/json', '{}'),
    ]);
    await fill(store, 'job-3', events.slice(1));
    await store.deleteStream('job-3');
    const filter = { categories: ['job'] };
    const last = await appended(store.append('other-1', 'no_stream', newEvents(1)));
    const heard: RecordedEvent[] = [];
    for await (const batch of store.subscribe({ filter, signal: AbortSignal.timeout(DEADLINE_MS) })) {
      heard.push(...batch.events);
      if (batch.position >= last.position) break;
    }
    t.deepEqual(
      heard.map(({ stream }) => stream),
      ['job-1', 'job-2', 'job-3'],
    );
    t.is(await store.head(), last.position);
    t.is((await Array.fromAsync(store.readAll({ filter }))).length, 3);
  }),
);

test('the adapter understands addresses of KurrentDB in all their forms', async (t) => {
  const server = await startEventStoreDbServer();
  const log = pino({ level: 'silent' });
  for (const scheme of ['kurrentdb', 'kurrent', 'kdb', 'esdb']) {
    const store = await openEventStoreDb({ url: server.url.replace('esdb', scheme), log });
    t.is(await store.head(), '');
    await store.close();
    // The members of a cluster are not contacted before the first use.
    const discovering = await openEventStoreDb({
      url: `${scheme}+discover://admin:changeit@127.0.0.1:1?tls=false`,
      log,
    });
    await discovering.close();
  }
  await server.close();
});
