// What all stores in SQLite files do alike: a transaction, and waiting, with the event loop, for whoever holds the file.
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';

/** The wait before another try: a transaction takes about a millisecond; who holds the file for longer is asked less often. */
const SHORTEST_WAIT_MS = 2;
const LONGEST_WAIT_MS = 20;
const SQLITE_BUSY = 5;
/** A lock in the shared memory of the write-ahead log that was lost too often in a row. */
const SQLITE_PROTOCOL = 15;

/** SQLITE_FULL, and what a quota, a limit on files and shared memory without room look like: SQLITE_IOERR_WRITE, …_SHMSIZE. */
const NO_ROOM = [13, 778, 4874];

/** There is no room for what was to be written: nothing was, and whoever asked may ask again. */
export class StorageFull extends Error {
  readonly code = 'storage_full';
}

/** `StorageFull` in place of SQLite's own errors of want of room; every other error as it is. */
export function roomError(error: unknown): unknown {
  if (!NO_ROOM.includes(sqliteCode(error))) return error;
  return new StorageFull(`no room to write: ${(error as Error).message}`, { cause: error });
}

/** All that `work` writes or, when it throws, none of it. Takes the write lock first: what it reads is what it changes. */
export function transaction<R>(db: DatabaseSync, work: () => R): R {
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    // Some errors, a full disk among them, have rolled back already.
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/**
 * Runs `work`, again and again while another thread or process holds the file; the event loop runs meanwhile. Who holds
 * it for longer than `patience_ms` is stuck: throws what `stuck` makes of SQLite's error.
 */
export async function whenFree<R>(
  work: () => R,
  { patience_ms, stuck }: { patience_ms: number; stuck: (cause: unknown) => Error },
): Promise<R> {
  const since = performance.now();
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error)) throw roomError(error);
      const waited_ms = performance.now() - since;
      if (waited_ms > patience_ms) throw stuck(error);
      // Random, so that two that wait do not meet again.
      await delay(Math.random() * Math.min(SHORTEST_WAIT_MS + waited_ms / 10, LONGEST_WAIT_MS));
    }
  }
}

export function isBusy(error: unknown): boolean {
  const primary = sqliteCode(error) & 0xff;
  return primary === SQLITE_BUSY || primary === SQLITE_PROTOCOL;
}

/** SQLite's extended result code; 0 when the error is not SQLite's. */
export function sqliteCode(error: unknown): number {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0;
}
