// Writes SQLite files anew, without their free pages and what is left of deleted rows inside other pages.
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { diskError, isBusy } from './sqlite.ts';

/** Another process has the file open. Nothing was changed. */
export class StoreInUse extends Error {
  readonly code = 'store_in_use';
}

export interface Compacted {
  path: string;
  /** Of the file, with its write-ahead log. */
  before_bytes: number;
  after_bytes: number;
}

/**
 * Compacts all files, or none when one of them is in use. Each takes as much room beside it as it has live data, twice. A process that opens
 * a file meanwhile waits. A process that is killed leaves the file as it was. Throws `StoreInUse` and `StorageFull`.
 */
export function compactFiles(paths: readonly string[]): Compacted[] {
  const opened: { path: string; db: DatabaseSync; before_bytes: number }[] = [];
  try {
    for (const path of paths) opened.push({ path, db: openAlone(path), before_bytes: sizeOf(path) });
    return opened.map(({ path, db, before_bytes }) => {
      writeCopiesIn(db, dirname(path));
      try {
        db.exec('VACUUM');
      } catch (error) {
        throw diskError(error);
      }
      truncateWal(db);
      return { path, before_bytes, after_bytes: sizeOf(path) };
    });
  } finally {
    if (opened.length > 0) writeCopiesIn(opened[0]!.db, '');
    for (const { db } of opened) db.close();
  }
}

/**
 * Says where SQLite writes its copy, so that no content is written among the system's temporary files; '' for these. It counts for the whole
 * process. SQLite reads the variable SQLITE_TMPDIR only at the first file that a process opens.
 */
const writeCopiesIn = (db: DatabaseSync, folder: string) =>
  db.exec(`PRAGMA temp_store_directory = '${folder.replaceAll("'", "''")}'`);

/** A connection that shares the file with no other, in any process. */
function openAlone(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: 0 });
  try {
    db.exec('PRAGMA locking_mode = EXCLUSIVE');
    truncateWal(db);
    db.exec('BEGIN EXCLUSIVE; COMMIT');
    return db;
  } catch (error) {
    db.close();
    throw isBusy(error) ? new StoreInUse(`${path} is in use`, { cause: error }) : diskError(error);
  }
}

const truncateWal = (db: DatabaseSync) => db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get();

const sizeOf = (path: string): number =>
  [path, `${path}-wal`].reduce((sum, each) => sum + (statSync(each, { throwIfNoEntry: false })?.size ?? 0), 0);
