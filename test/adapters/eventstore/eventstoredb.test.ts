// EventStoreDB's adapter keeps the promises of the event log, over gRPC with a small server of its protocol.
import test, { type TestFn } from 'ava';
import pino from 'pino';
import { openEventStoreDb } from '../../../adapters/eventstore/eventstoredb/eventstoredb-event-store.ts';
import type { EventStore } from '../../../events/event-store.ts';
import { eventStoreContract } from '../../contracts/event-store.ts';
import { startEventStoreDbServer } from '../../support/eventstoredb-server/eventstoredb-server.ts';

const log = pino({ level: 'silent' });

// One after the other: all of them at once, with their servers in the same process, would wait for each other.
for (const version of ['24.10.4', '24.10.5', '25.0.0'] as const) {
  eventStoreContract(test.serial as TestFn, `EventStoreDB ${version}`, {
    deletedEvents: 'until_scavenged',
    // More than two search windows and, where the versions differ, more than one.
    long: version === '24.10.5' ? 5_000 : 2_250,
    async open() {
      const server = await startEventStoreDbServer({ version });
      const stores: EventStore[] = [];
      const open = async () => {
        const store = await openEventStoreDb({ url: server.url, log });
        stores.push(store);
        return store;
      };
      return {
        store: await open(),
        reopen: open,
        async close() {
          await Promise.all(stores.map((store) => store.close()));
          await server.close();
        },
      };
    },
  });
}
