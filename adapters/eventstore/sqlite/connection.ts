// Opens the log's file, keeps its schema, and waits where another thread or process holds it.
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { transaction, whenFree } from '../../sqlite.ts';

/** Written to the file as `user_version`; raised with every change of the tables. */
export const SCHEMA_VERSION = 1;

/** Another connection that holds the file for longer than this is stuck, and the caller is told. */
const PATIENCE_MS = 60_000;

// A stream's row stays when the stream is deleted: it refuses later appends. A stream's revision is not kept in it but
// found in the index of `events`, so that there are not two truths of it.
// AUTOINCREMENT: a position is never given twice, even when the last events were deleted. `data` is the last column, so
// that a scan that looks only at the others never reads the pages over which large data flow.
// There is no index on ids, categories or types: random ids would halve the rate of appends, and filtered reads are scans
// in windows of bounded length.
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

/** The file was written by a later version of the service than this one. */
export class NewerSchema extends Error {
  readonly code = 'newer_schema';
}

/** Another connection held the file for longer than anyone should. Whoever asked may ask again. */
export class LogBusy extends Error {
  readonly code = 'log_busy';
}

/**
 * Opens or creates the log at `path`, with its folder. `checkpoint_pages`: the length of the write-ahead log, in pages
 * of 4 KiB, at which it is copied into the file.
 */
export async function connect(path: string, checkpoint_pages: number): Promise<DatabaseSync> {
  await mkdir(dirname(path), { recursive: true });
  // No busy timeout: SQLite's own waiting stops the thread, for up to 100 ms at a time. `whenLogIsFree` waits instead.
  const db = new DatabaseSync(path, { timeout: 0 });
  try {
    await whenLogIsFree(() => {
      // Before anything is written: a file of a later version is left as it is.
      refuseNewer(db, path);
      const { journal_mode } = db.prepare('PRAGMA journal_mode = WAL').get() as { journal_mode: string };
      if (journal_mode !== 'wal')
        throw new Error(`${path} is on a file system without shared memory: SQLite has no WAL`);
      db.exec(`
        PRAGMA synchronous = FULL;
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

function refuseNewer(db: DatabaseSync, path: string): number {
  const { user_version } = db.prepare('PRAGMA user_version').get() as { user_version: number };
  if (user_version > SCHEMA_VERSION) {
    throw new NewerSchema(
      `${path} has schema version ${user_version}; this version of the service knows up to ${SCHEMA_VERSION}`,
    );
  }
  return user_version;
}

/** Runs `work` when no other connection holds the log. */
export function whenLogIsFree<R>(work: () => R): Promise<R> {
  const stuck = (cause: unknown) => new LogBusy(`the event log was locked for ${PATIENCE_MS} ms`, { cause });
  return whenFree(work, { patience_ms: PATIENCE_MS, stuck });
}
