// Counts requests in MongoDB, for all processes together. While MongoDB does not answer, each process counts in its own
// memory, so that limits stay in force and no caller is locked out.
import { MongoClient, MongoServerError } from 'mongodb';
import type { RateCounter, RateCounters, RateWindow } from '../../http/limits/rate-counters.ts';
import { openMemoryRate } from './memory.ts';

interface Log {
  warn(what: object, message: string): void;
}

const SERVER_WAIT_MS = 1000;
/** After a failed count, requests skip MongoDB for this long. */
const SKIP_MS = 5000;
/** The index goes with a collection that somebody drops, and counts make the collection again. */
const INDEX_MS = 60_000;
const MAX_CONNECTIONS = 5;
const DEFAULT_DATABASE = 'url_checker';
const COLLECTION = 'rate_windows';
const DUPLICATE_KEY = 11000;

/** `server_wait_ms`: the longest that a request waits for MongoDB before it counts in memory. `index_ms`: the least time between two looks for the index. */
export async function openMongoRates(options: {
  url: string;
  database?: string;
  log: Log;
  server_wait_ms?: number;
  index_ms?: number;
}): Promise<RateCounters> {
  const { log, server_wait_ms = SERVER_WAIT_MS, index_ms = INDEX_MS } = options;
  const client = new MongoClient(options.url, {
    serverSelectionTimeoutMS: server_wait_ms,
    connectTimeoutMS: server_wait_ms,
    socketTimeoutMS: server_wait_ms,
    waitQueueTimeoutMS: server_wait_ms,
    maxPoolSize: MAX_CONNECTIONS,
    // Losing a count together with a server is acceptable.
    writeConcern: { w: 1 },
  });
  const named = /^mongodb(?:\+srv)?:\/\/[^/]+\/([^?]+)/.exec(options.url)?.[1];
  const dbName = options.database ?? (named === undefined ? DEFAULT_DATABASE : decodeURIComponent(named));
  let skip_until_ms = 0;
  const isAvailable = () => performance.now() >= skip_until_ms;
  function skipFor(error: unknown): void {
    if (isAvailable()) log.warn({ err: error }, 'MongoDB cannot count requests: each process counts its own');
    skip_until_ms = performance.now() + SKIP_MS;
  }

  const windows = client.db(dbName).collection<Window>(COLLECTION);
  let indexing: Promise<unknown> | null = null;
  let index_at_ms = 0;

  function open({ name, duration_s }: RateWindow): RateCounter {
    const own = openMemoryRate({ name, duration_s });
    const update = countUpdate(duration_s * 1000);
    const increment = (key: string) =>
      windows.findOneAndUpdate({ _id: `${name}:${key}` }, update, { upsert: true, returnDocument: 'after' });
    return {
      async count(key) {
        if (isAvailable()) {
          try {
            if (indexing === null || performance.now() >= index_at_ms) {
              index_at_ms = performance.now() + index_ms;
              // MongoDB removes expired windows by this index.
              indexing = windows.createIndex({ ends_at: 1 }, { expireAfterSeconds: 0 });
            }
            await indexing;
            // When two requests insert the same window at once, MongoDB refuses one of them.
            const window = await increment(key).catch((error: unknown) => {
              if (error instanceof MongoServerError && error.code === DUPLICATE_KEY) return increment(key);
              throw error;
            });
            const { used, ends_at, counted_at } = window!;
            return { used, resets_in_ms: ends_at.getTime() - counted_at.getTime() };
          } catch (error) {
            indexing = null;
            skipFor(error);
          }
        }
        return own.count(key);
      },
    };
  }
  return { open, close: () => client.close() };
}

/** `_id` is the window's name and the key. */
interface Window {
  _id: string;
  used: number;
  ends_at: Date;
  counted_at: Date;
}

/**
 * Builds the update that counts in the open window, or opens a new one, by the server's clock alone. An open window ends at most
 * `duration_ms` from now; one that ends later is from before the clock was set back, and counts as over.
 */
function countUpdate(duration_ms: number): object[] {
  const latest_end = { $add: ['$$NOW', duration_ms] };
  const is_open = { $and: [{ $gt: ['$ends_at', '$$NOW'] }, { $lte: ['$ends_at', latest_end] }] };
  return [
    {
      $set: {
        used: { $cond: [is_open, { $add: ['$used', 1] }, 1] },
        ends_at: { $cond: [is_open, '$ends_at', latest_end] },
        counted_at: '$$NOW',
      },
    },
  ];
}
