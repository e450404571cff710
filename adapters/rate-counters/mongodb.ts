// Requests counted in MongoDB, for all processes together. While it does not answer, each process counts for itself:
// nobody is locked out, and nobody is let in without a limit.
import { MongoClient } from 'mongodb';
import { RateLimiterMongo } from 'rate-limiter-flexible';
import type { RateCounter, RateCounters, RateWindow } from '../../http/rate-counters.ts';
import { countedBy } from './counted-by.ts';
import { openMemoryRate } from './memory.ts';

interface Log {
  warn(what: object, message: string): void;
}

const SERVER_WAIT_MS = 1000;
/** So long no request waits after one that did so in vain. */
const LEFT_ALONE_MS = 5000;
const MAX_CONNECTIONS = 5;
const DEFAULT_DATABASE = 'url_checker';
const COLLECTION = 'rate_counters';

/** `server_wait_ms`: so long a request waits for its count at the most. */
export async function openMongoRates(options: {
  url: string;
  database?: string;
  log: Log;
  server_wait_ms?: number;
}): Promise<RateCounters> {
  const { log, server_wait_ms = SERVER_WAIT_MS } = options;
  const client = new MongoClient(options.url, {
    serverSelectionTimeoutMS: server_wait_ms,
    connectTimeoutMS: server_wait_ms,
    socketTimeoutMS: server_wait_ms,
    waitQueueTimeoutMS: server_wait_ms,
    maxPoolSize: MAX_CONNECTIONS,
    // A count that is lost with a server is no loss.
    writeConcern: { w: 1 },
  });
  const named = /^mongodb(?:\+srv)?:\/\/[^/]+\/([^?]+)/.exec(options.url)?.[1];
  const dbName = options.database ?? (named === undefined ? DEFAULT_DATABASE : decodeURIComponent(named));
  let left_alone_until = 0;
  const isThere = () => performance.now() >= left_alone_until;
  function failed(error: unknown): void {
    if (isThere()) log.warn({ err: error }, 'requests cannot be counted in MongoDB: each process counts its own');
    left_alone_until = performance.now() + LEFT_ALONE_MS;
  }

  function open({ name, duration_s }: RateWindow): RateCounter {
    const shared = new RateLimiterMongo({
      storeClient: client,
      dbName,
      tableName: COLLECTION,
      keyPrefix: name,
      points: Number.MAX_SAFE_INTEGER,
      duration: duration_s,
      disableIndexesCreation: true,
    });
    const own = openMemoryRate({ name, duration_s });
    let is_indexed: Promise<void> | null = null;
    return {
      async count(key) {
        if (isThere()) {
          try {
            // Without the unique index two processes could each begin a window of the same key.
            await (is_indexed ??= shared.createIndexes() as Promise<void>);
            return await countedBy(shared, key);
          } catch (error) {
            is_indexed = null;
            failed(error);
          }
        }
        return own.count(key);
      },
    };
  }
  return { open, close: () => client.close() };
}
