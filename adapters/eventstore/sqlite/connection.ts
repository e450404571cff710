// Opens the log's file, creates its schema, and waits while another thread or process locks it.
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { isThere, openFile, transaction, whenFree } from '../../sqlite.ts';
import { OVERWRITE_DELETED } from '../../sqlite-erasure.ts';

/** Written to the file as `user_version`; raised with every change of the tables. */
const SCHEMA_VERSION = 1;

/** A call fails with `LogBusy` when another connection locks the file for longer than this. */
const LOCK_LIMIT_MS = 60_000;

// A deleted stream keeps its row as a tombstone, which refuses later appends. A stream's revision is read from the index of
// `events`, so that it is stored once. AUTOINCREMENT never reuses a position, even after the last events were deleted.
// `data` is the last column, so that a scan of the other columns skips the overflow pages of large data. There is no index
// on ids, categories or types: random ids would halve the rate of appends, and filtered reads scan bounded windows.
const SCHEMA = `
  CREATE TABLE streams (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    category TEXT NOT NULL,
    deleted INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE events (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    stream_id INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    type TEXT NOT NULL,
    id TEXT NOT NULL,
    metadata TEXT NOT NULL,
    data TEXT NOT NULL,
    UNIQUE (stream_id, revision)
  ) STRICT;
  PRAGMA user_version = ${SCHEMA_VERSION};
`;

/** A later version of the service wrote the file. */
class NewerSchema extends Error {
  readonly code = 'newer_schema';
}

/** Another connection locked the file for too long. The caller may retry. */
class LogBusy extends Error {
  readonly code = 'log_busy';
}

/**
 * Opens or creates the log at `path`, with its folder. `checkpoint_pages`: the length of the write-ahead log, in pages
 * of 4 KiB, at which SQLite copies it into the file.
 */
export async function connect(path: string, checkpoint_pages: number): Promise<DatabaseSync> {
  await mkdir(dirname(path), { recursive: true });
  // No busy timeout: SQLite's own wait blocks the thread for up to 100 ms at a time. `whenLogIsFree` waits instead.
  const db = openFile(path, { timeout: 0 });
  try {
    await whenLogIsFree(() => {
      // Checked before the first write, so that a file of a later version stays unchanged.
      refuseNewer(db, path);
      const { journal_mode } = db.prepare('PRAGMA journal_mode = WAL').get() as { journal_mode: string };
      if (journal_mode !== 'wal')
        throw new Error(`${path} is on a file system without shared memory: SQLite has no WAL`);
      db.exec(`
        PRAGMA synchronous = FULL;
        ${OVERWRITE_DELETED};
        PRAGMA wal_autocheckpoint = ${checkpoint_pages};
        PRAGMA journal_size_limit = ${checkpoint_pages * 4096};
      `);
    });
    await whenLogIsFree(() =>
      transaction(db, () => {
        if (refuseNewer(db, path) < SCHEMA_VERSION) db.exec(SCHEMA);
      }),
    );
  } catch (error) {
    db.close();
    throw error;
  }
  return db;
}

/** The file holds no event log. */
class NoLog extends Error {
  readonly code = 'no_log';
}

/**
 * Opens the log at `path` for reading, and changes nothing: not even a missing log is made. Throws `NoLog`, and the system's error where this user may not look. Others may append
 * meanwhile.
 */
export async function connectToRead(path: string): Promise<DatabaseSync> {
  if (!isThere(path)) throw new NoLog(`there is no event log at ${path}`);
  const db = openFile(path, { readOnly: true, timeout: 0 });
  try {
    const version = await whenLogIsFree(() => {
      const found = refuseNewer(db, path);
      // Reads the schema, which the statements of the store need as soon as they are prepared.
      db.prepare('SELECT count(*) FROM sqlite_schema').get();
      return found;
    });
    if (version === 0) throw new NoLog(`${path} is no event log`);
  } catch (error) {
    db.close();
    throw error;
  }
  return db;
}

function refuseNewer(db: DatabaseSync, path: string): number {
  const { user_version } = db.prepare('PRAGMA user_version').get() as { user_version: number };
  if (user_version > SCHEMA_VERSION) {
    throw new NewerSchema(
      `${path} has schema version ${user_version}; this version of the service knows up to ${SCHEMA_VERSION}`,
    );
  }
  return user_version;
}

/** Runs `work` once no other connection locks the log. Throws `LogBusy` after a minute. */
export function whenLogIsFree<R>(work: () => R): Promise<R> {
  const stuck = (cause: unknown) => new LogBusy(`the event log was locked for ${LOCK_LIMIT_MS} ms`, { cause });
  return whenFree(work, { limit_ms: LOCK_LIMIT_MS, stuck });
}
