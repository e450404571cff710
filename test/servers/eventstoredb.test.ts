// EventStoreDB's adapter against the real server: named by EVENTSTORE_URL, or started where Docker runs.
import test, { type TestFn } from 'ava';
import pino from 'pino';
import { openEventStoreDb } from '../../adapters/eventstore/eventstoredb/eventstoredb-event-store.ts';
import type { EventStore } from '../../events/event-store.ts';
import { eventStoreContract } from '../contracts/event-store.ts';
import { serverSuite } from '../support/server-suites.ts';

const url = await serverSuite('eventstoredb', {
  url_env: 'EVENTSTORE_URL',
  container: {
    image: 'eventstore/eventstore:24.10.14',
    port: 2113,
    environment: { EVENTSTORE_INSECURE: 'true', EVENTSTORE_MEM_DB: 'true', EVENTSTORE_RUN_PROJECTIONS: 'None' },
    ready: /IS LEADER/,
    url: (host, port) => `esdb://${host}:${port}?tls=false`,
  },
});

if (url === null) test.todo('EventStoreDB itself: left out by SERVER_SUITES');
else {
  eventStoreContract(test.serial as TestFn, 'EventStoreDB itself', {
    deletedEvents: 'until_scavenged',
    async open() {
      const stores: EventStore[] = [];
      const open = async () => {
        const store = await openEventStoreDb({ url, log: pino({ level: 'warn' }) });
        stores.push(store);
        return store;
      };
      return {
        store: await open(),
        reopen: open,
        async close() {
          await Promise.all(stores.map((store) => store.close()));
        },
      };
    },
  });
}
