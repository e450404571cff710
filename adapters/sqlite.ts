// Shared by all stores in SQLite files: transactions, waiting for a locked file without blocking the event loop, and
// the errors of a disk that is full or fails.
import { statSync } from 'node:fs';
import { DatabaseSync, type DatabaseSyncOptions } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';

/** Bounds of the wait before the next try. A transaction takes about 1 ms; the wait grows while the lock stays held. */
const SHORTEST_WAIT_MS = 2;
const LONGEST_WAIT_MS = 20;
const SQLITE_BUSY = 5;
/** SQLite lost the race for a lock in the write-ahead log's shared memory too often in a row. */
const SQLITE_PROTOCOL = 15;

/** SQLITE_FULL; SQLITE_IOERR_WRITE and SQLITE_IOERR_SHMSIZE, which quotas, file size limits and full shared memory raise. */
const NO_ROOM = [13, 778, 4874];

/** The disk has no room. Nothing was written, and the caller may retry. */
class StorageFull extends Error {
  readonly code = 'storage_full';
}

/**
 * SQLITE_READONLY, as after a failure that made the system mount the disk read-only; the other errors of SQLITE_IOERR; SQLITE_CANTOPEN,
 * where the disk has no room for one more file or the process may open none.
 */
const DISK_FAILS = [8, 10, 14];

/** The disk does not take what is written. A transaction may or may not be there, and the caller may retry. */
class DiskFails extends Error {
  readonly code = 'unavailable';
}

/**
 * Maps SQLite's errors of a disk to `StorageFull` and `DiskFails`; returns every other error unchanged.
 * @example diskError(Object.assign(new Error('disk is full'), { errcode: 13 })).code // 'storage_full'
 */
export function diskError(error: unknown): unknown {
  const code = sqliteCode(error);
  if (NO_ROOM.includes(code)) return new StorageFull(`no room to write: ${(error as Error).message}`, { cause: error });
  if (!DISK_FAILS.includes(code & 0xff)) return error;
  return new DiskFails(`the disk fails: ${(error as Error).message}`, { cause: error });
}

/** Opens the file, and makes it when missing. Throws the errors of `diskError`. */
export function openFile(path: string, options: DatabaseSyncOptions): DatabaseSync {
  try {
    return new DatabaseSync(path, options);
  } catch (error) {
    throw diskError(error);
  }
}

/**
 * Runs `work` in a transaction: commits its writes, or rolls them back when it throws. It takes the write lock first, so that
 * no other connection changes what `work` has read.
 * @example const changes = transaction(db, () => db.prepare('DELETE FROM messages').run().changes)
 */
export function transaction<R>(db: DatabaseSync, work: () => R): R {
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    // SQLite itself rolls back after some errors, such as a full disk.
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/**
 * Retries `work` while another thread or process locks the file; the event loop runs between tries. Throws
 * `stuck(error of SQLite)` when the file stays locked for longer than `limit_ms`, and the errors of `diskError`.
 * @example await whenFree(() => db.exec('VACUUM'), { limit_ms: 5_000, stuck: (cause) => new Error('locked', { cause }) })
 */
export async function whenFree<R>(
  work: () => R,
  { limit_ms, stuck }: { limit_ms: number; stuck: (cause: unknown) => Error },
): Promise<R> {
  const since = performance.now();
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error)) throw diskError(error);
      const waited_ms = performance.now() - since;
      if (waited_ms > limit_ms) throw stuck(error);
      // Jitter, so that two waiting connections do not collide again.
      await delay(Math.random() * Math.min(SHORTEST_WAIT_MS + waited_ms / 10, LONGEST_WAIT_MS));
    }
  }
}

/**
 * Whether another connection holds a lock that the work needs: SQLITE_BUSY, and SQLITE_PROTOCOL of a write-ahead log.
 * @example isBusy(Object.assign(new Error('database is locked'), { errcode: 517 })) // true: SQLITE_BUSY_SNAPSHOT
 */
export function isBusy(error: unknown): boolean {
  const primary = sqliteCode(error) & 0xff;
  return primary === SQLITE_BUSY || primary === SQLITE_PROTOCOL;
}

/** Whether there is a file. Throws where this user may not look, which `existsSync` takes for a missing file. */
export function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

/**
 * SQLite's extended result code; 0 when the error is not SQLite's.
 * @example sqliteCode(Object.assign(new Error('disk I/O error'), { errcode: 778 })) // 778
 */
export function sqliteCode(error: unknown): number {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0;
}
