// Requests counted in MongoDB, for all processes together. While it does not answer, each process counts for itself:
// nobody is locked out, and nobody is let in without a limit.
import { MongoClient, MongoServerError } from 'mongodb';
import type { RateCounter, RateCounters, RateWindow } from '../../http/rate-counters.ts';
import { openMemoryRate } from './memory.ts';

interface Log {
  warn(what: object, message: string): void;
}

const SERVER_WAIT_MS = 1000;
/** So long no request waits after one that did so in vain. */
const LEFT_ALONE_MS = 5000;
const MAX_CONNECTIONS = 5;
const DEFAULT_DATABASE = 'url_checker';
const COLLECTION = 'rate_windows';
const DUPLICATE_KEY = 11000;

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

  const windows = client.db(dbName).collection<Window>(COLLECTION);
  let is_indexed: Promise<unknown> | null = null;

  function open({ name, duration_s }: RateWindow): RateCounter {
    const own = openMemoryRate({ name, duration_s });
    const counting = countingOf(duration_s * 1000);
    const counted = (key: string) =>
      windows.findOneAndUpdate({ _id: `${name}:${key}` }, counting, { upsert: true, returnDocument: 'after' });
    return {
      async count(key) {
        if (isThere()) {
          try {
            // Windows that are over are removed, sooner or later.
            await (is_indexed ??= windows.createIndex({ ends_at: 1 }, { expireAfterSeconds: 0 }));
            // Of two that begin a window at once, one is told that it is there.
            const window = await counted(key).catch((error: unknown) => {
              if (error instanceof MongoServerError && error.code === DUPLICATE_KEY) return counted(key);
              throw error;
            });
            const { used, ends_at, counted_at } = window!;
            return { used, resets_in_ms: ends_at.getTime() - counted_at.getTime() };
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

/** `_id` is the window's name and the key. */
interface Window {
  _id: string;
  used: number;
  ends_at: Date;
  counted_at: Date;
}

/**
 * Counts in the window that is open, or in a new one, by the clock of the server alone. No window ends later than one that begins now:
 * where that clock was set back, a window of before is over.
 */
function countingOf(duration_ms: number): object[] {
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
