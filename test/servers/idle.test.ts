// What the roles ask of servers while nothing happens.
import { randomBytes } from 'node:crypto';
import test from 'ava';
import { MongoClient } from 'mongodb';
import { openMongoDocuments } from '../../adapters/documents/mongodb/mongodb-documents.ts';
import { openEventStoreDb } from '../../adapters/eventstore/eventstoredb/eventstoredb-event-store.ts';
import { openNatsQueue } from '../../adapters/queue/nats/nats-queue.ts';
import { idleContract } from '../contracts/idle.ts';
import { startEventStoreDbServer } from '../support/eventstoredb-server/eventstoredb-server.ts';
import { findNatsServer, startNatsServer } from '../support/nats-server.ts';
import { listedSuites } from '../support/server-suites.ts';
import { silent } from '../support/stores.ts';

const listed = listedSuites(process.env.SERVER_SUITES);
if (listed.includes('nats') && listed.includes('mongodb')) {
  idleContract(test, 'EventStoreDB, MongoDB and NATS', async (t) => {
    const { MONGODB_URL } = process.env;
    if (!MONGODB_URL) throw new Error('set MONGODB_URL to a replica set');
    const database = `idle_${randomBytes(6).toString('hex')}`;
    const [eventstore, nats] = await Promise.all([startEventStoreDbServer(), startNatsServer(findNatsServer()!)]);
    const log = await openEventStoreDb({ url: eventstore.url, log: silent });
    const documents = await openMongoDocuments({ url: MONGODB_URL, database, log: silent });
    const queue = await openNatsQueue({ url: nats.url, log: silent });
    t.teardown(async () => {
      await Promise.all([log.close(), documents.close(), queue.close()]);
      await Promise.all([eventstore.close(), nats.remove()]);
      await using client = new MongoClient(MONGODB_URL);
      await client.db(database).dropDatabase();
    });
    return { log, documents, queue, max_reads_per_s: 2 };
  });
} else test.todo('idle servers: left out by SERVER_SUITES');
