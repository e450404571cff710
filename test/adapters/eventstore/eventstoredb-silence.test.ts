// EventStoreDB behind connections that say nothing any more: work goes on over a new one, long before the network gives the old one up.
import test, { type ExecutionContext } from 'ava';
import pino from 'pino';
import { openEventStoreDb } from '../../../adapters/eventstore/eventstoredb/eventstoredb-event-store.ts';
import { appended, newEvents } from '../../contracts/event-store/fixture.ts';
import { startEventStoreDbServer } from '../../support/eventstoredb-server/eventstoredb-server.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { until } from '../../support/until.ts';

async function silentWorld(t: ExecutionContext) {
  const server = await startEventStoreDbServer({});
  const proxy = new TcpProxy({ host: '127.0.0.1', port: Number(/:(\d+)/.exec(server.url)![1]) });
  await proxy.open();
  const store = await openEventStoreDb({
    url: `esdb://127.0.0.1:${proxy.port}?tls=false`,
    log: pino({ level: 'silent' }),
    answer_timeout_ms: 300,
    unavailable_after_ms: 8_000,
    waits: { first_ms: 10, longest_ms: 100 },
  });
  t.teardown(async () => {
    await store.close();
    await proxy.cut();
    await server.close();
  });
  return { proxy, store };
}

test('appends and reads go on over a new connection when the old one says nothing', async (t) => {
  const { proxy, store } = await silentWorld(t);
  await appended(store.append('job-1', 'no_stream', newEvents(1)));
  proxy.swallow();
  await appended(store.append('job-1', 0, newEvents(1)));
  t.is((await Array.fromAsync(store.readStream('job-1'))).length, 2);
});

test('a subscription that hears nothing goes on when others find that the connection is dead', async (t) => {
  const { proxy, store } = await silentWorld(t);
  await appended(store.append('job-1', 'no_stream', newEvents(1)));
  const stop = new AbortController();
  const heard: string[] = [];
  const listening = (async () => {
    for await (const { events } of store.subscribe({ signal: stop.signal })) {
      for (const { stream, revision } of events) heard.push(`${stream} ${revision}`);
      if (heard.length === 2) return;
    }
  })();
  await until(() => heard.length > 0);
  proxy.swallow();
  await appended(store.append('job-1', 0, newEvents(1)));
  await listening;
  stop.abort();
  t.deepEqual(heard, ['job-1 0', 'job-1 1']);
});
