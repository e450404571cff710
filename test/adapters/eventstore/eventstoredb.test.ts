// EventStoreDB's adapter keeps the promises of the event log, over gRPC with a small server of its protocol.
import test, { type TestFn } from 'ava';
import pino from 'pino';
import { openEventStoreDb } from '../../../adapters/eventstore/eventstoredb/eventstoredb-event-store.ts';
import type { EventStore } from '../../../events/event-store.ts';
import { type Fixture, sentences } from '../../contracts/event-store/fixture.ts';
import { subscribing } from '../../contracts/event-store/subscribing.ts';
import { eventStoreContract } from '../../contracts/event-store.ts';
import { startEventStoreDbServer } from '../../support/eventstoredb-server/eventstoredb-server.ts';
import type { ServerVersion } from '../../support/eventstoredb-server/subscriptions.ts';

const log = pino({ level: 'silent' });
/** More than two search windows of events. */
const LONG = 2_250;

// Serial: with their servers in the same process they would wait for each other.
const inSeries = test.serial as TestFn;

eventStoreContract(inSeries, 'EventStoreDB 24.10.5', fixtureOf('24.10.5'));

// The versions differ only in what they send to a subscription, of which the least that spans several reads shows as much.
for (const version of ['24.10.4', '25.0.0'] as const) {
  subscribing(sentences(inSeries, `EventStoreDB ${version}`, fixtureOf(version, 500)));
}

function fixtureOf(version: ServerVersion, long = LONG): Fixture {
  return {
    deletedEvents: 'until_scavenged',
    long,
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
        scavenge: () => server.log.scavenge(),
        async close() {
          await Promise.all(stores.map((store) => store.close()));
          await server.close();
        },
      };
    },
  };
}
