// Picks the adapters: the embedded ones over one folder, or servers, by settings alone.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { openFileBlobs } from './adapters/blobs/files/file-blobs.ts';
import { openSqliteDocuments } from './adapters/documents/sqlite/sqlite-documents.ts';
import { openSqliteEventStore } from './adapters/eventstore/sqlite/sqlite-event-store.ts';
import { openSqliteQueue } from './adapters/queue/sqlite/sqlite-queue.ts';
import { openMemoryRates } from './adapters/rate-counters/memory.ts';
import type { Queue } from './checkers/queue.ts';
import type { Config } from './config.ts';
import { withCodec } from './events/codec.ts';
import type { EventStore } from './events/event-store.ts';
import type { RateCounters } from './http/rate-counters.ts';
import type { Blobs } from './readmodels/blobs.ts';
import type { Documents } from './readmodels/documents.ts';

/** What counts requests: shared by all processes where there is a server for it. */
export async function openRateCounters({ mongodb_url }: Config, logger: Logger): Promise<RateCounters> {
  if (!mongodb_url) return openMemoryRates();
  const { openMongoRates } = await import('./adapters/rate-counters/mongodb.ts');
  return openMongoRates({ url: mongodb_url, log: logger });
}

export interface Stores {
  log: EventStore;
  documents: Documents;
  queue: Queue;
  blobs: Blobs;
  close(): Promise<void>;
}

/**
 * What a checker asks of the embedded log: it appends all the time, so that its appends share an fsync, and it leaves
 * the copying of the write-ahead log to the other threads.
 */
const FOR_CHECKER = { group_ms: 50, checkpoint_pages: 64_000 };
/** http stands still for no read: one thread for heavy ones, and one for others. */
const HTTP_READERS = 2;

export async function openStores(
  config: Config,
  logger: Logger,
  of: 'http' | 'checker' | 'others' = 'others',
): Promise<Stores> {
  const { data_dir, eventstore_url, mongodb_url, nats_url } = config;
  await mkdir(data_dir, { recursive: true });
  const opened: { close(): Promise<void> }[] = [];
  const close = async () => {
    for (const store of opened.reverse()) await store.close();
  };
  async function open<T extends { close(): Promise<void> }>(store: Promise<T>): Promise<T> {
    opened.push(await store);
    return store;
  }
  // Clients of servers are loaded where they are used: each takes tens of megabytes in every thread.
  async function openLog(): Promise<EventStore> {
    if (!eventstore_url) {
      const path = join(data_dir, 'events.db');
      return openSqliteEventStore({ path, ...(of === 'checker' ? FOR_CHECKER : {}) });
    }
    const { openEventStoreDb } = await import('./adapters/eventstore/eventstoredb/eventstoredb-event-store.ts');
    return openEventStoreDb({ url: eventstore_url, log: logger });
  }
  async function openDocuments(): Promise<Documents> {
    if (!mongodb_url) {
      return openSqliteDocuments({ path: join(data_dir, 'documents.db'), readers: of === 'http' ? HTTP_READERS : 0 });
    }
    const { openMongoDocuments } = await import('./adapters/documents/mongodb/mongodb-documents.ts');
    return openMongoDocuments({ url: mongodb_url, log: logger });
  }
  async function openQueue(): Promise<Queue> {
    if (!nats_url) return openSqliteQueue({ path: join(data_dir, 'queue.db') });
    const { openNatsQueue } = await import('./adapters/queue/nats/nats-queue.ts');
    return openNatsQueue({ url: nats_url, log: logger });
  }
  try {
    const log = withCodec(await open(openLog()));
    const documents = await open(openDocuments());
    const queue = await open(openQueue());
    const blobs = await openFileBlobs({ folder: join(data_dir, 'blobs') });
    return { log, documents, queue, blobs, close };
  } catch (error) {
    await close();
    throw error;
  }
}
