// Counts requests in MongoDB, for all processes together. While MongoDB does not answer, each process counts in its own
// memory, so that limits stay in force and no caller is locked out.

import { MongoClient, MongoServerError } from 'mongodb';
import {
  countOf,
  type RateCounter,
  type RateCounters,
  type RateWindow,
} from '../../http/frame/limits/rate-counters.ts';
import { mongoTls } from '../mongodb-tls.ts';
import type { TlsFiles } from '../tls-files.ts';
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
const COLLECTION = 'rate_buckets';
const DUPLICATE_KEY = 11000;

/** `server_wait_ms`: the longest that a request waits for MongoDB before it counts in memory. `index_ms`: the least time between two looks for the index. */
export async function openMongoRates(options: {
  url: string;
  tls?: TlsFiles;
  database?: string;
  log: Log;
  server_wait_ms?: number;
  index_ms?: number;
}): Promise<RateCounters> {
  const { log, server_wait_ms = SERVER_WAIT_MS, index_ms = INDEX_MS } = options;
  const client = new MongoClient(options.url, {
    ...mongoTls(options.tls),
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
    const duration_ms = duration_s * 1000;
    const increment = (key: string, most: number) =>
      windows.findOneAndUpdate({ _id: `${name}:${key}` }, countUpdate(duration_ms, most), {
        upsert: true,
        returnDocument: 'after',
      });
    return {
      async count(key, most) {
        if (isAvailable()) {
          try {
            if (indexing === null || performance.now() >= index_at_ms) {
              index_at_ms = performance.now() + index_ms;
              // MongoDB removes expired windows by this index.
              indexing = windows.createIndex({ ends_at: 1 }, { expireAfterSeconds: 0 });
            }
            await indexing;
            // When two requests insert the same window at once, MongoDB refuses one of them.
            const window = await increment(key, most).catch((error: unknown) => {
              if (error instanceof MongoServerError && error.code === DUPLICATE_KEY) return increment(key, most);
              throw error;
            });
            return countOf(window!, most, duration_ms);
          } catch (error) {
            indexing = null;
            skipFor(error);
          }
        }
        return own.count(key, most);
      },
    };
  }
  return { open, close: () => client.close() };
}

/** `_id` is the bucket's name and the key. */
interface Window {
  _id: string;
  level: number;
  is_over: boolean;
  ends_at: Date;
  counted_at: Date;
}

/**
 * Builds the update that counts in a bucket, by the server's clock alone. A count that is later than now is from before the clock was set back:
 * nothing has left the bucket since.
 */
function countUpdate(duration_ms: number, most: number): object[] {
  const elapsed_ms = { $max: [0, { $subtract: ['$$NOW', { $ifNull: ['$counted_at', '$$NOW'] }] }] };
  const left = {
    $max: [0, { $subtract: [{ $ifNull: ['$level', 0] }, { $multiply: [elapsed_ms, most / duration_ms] }] }],
  };
  const is_over = { $gt: [{ $add: ['$level', 1] }, most] };
  return [
    { $set: { level: left } },
    { $set: { is_over } },
    {
      $set: {
        level: { $cond: ['$is_over', '$level', { $add: ['$level', 1] }] },
        ends_at: { $add: ['$$NOW', duration_ms] },
        counted_at: '$$NOW',
      },
    },
  ];
}
