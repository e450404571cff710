// Opens the queue's file, as one of several threads and processes that may do so at the same time.
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';

/** How long one transaction waits for those of others; theirs take milliseconds. */
const BUSY_TIMEOUT_MS = 5_000;
const OPEN_ATTEMPTS = 100;
const OPEN_PAUSE_MS = 20;
const SQLITE_BUSY = 5;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS messages (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    subject TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    deliveries INTEGER NOT NULL,
    held INTEGER NOT NULL,
    published_at INTEGER NOT NULL,
    id TEXT NOT NULL,
    body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS messages_due ON messages (subject, due_at);
  CREATE TABLE IF NOT EXISTS published_ids (
    seq INTEGER PRIMARY KEY,
    subject TEXT NOT NULL,
    id TEXT NOT NULL,
    published_at INTEGER NOT NULL,
    UNIQUE (subject, id)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS broadcasts (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    subject TEXT NOT NULL,
    sent_at INTEGER NOT NULL,
    body TEXT NOT NULL
  ) STRICT;
`;

export async function openDatabase(path: string): Promise<DatabaseSync> {
  mkdirSync(dirname(path), { recursive: true });
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  // Turning a new file into WAL needs it alone, and SQLite then fails at once instead of waiting.
  for (let attempt = 1; ; attempt += 1) {
    try {
      db.exec('PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL');
      break;
    } catch (error) {
      if (!isBusy(error) || attempt === OPEN_ATTEMPTS) {
        db.close();
        throw error;
      }
      await setTimeout(OPEN_PAUSE_MS);
    }
  }
  // The queue holds hints: losing the last of them to a power cut is made good by the sweeper.
  db.exec('PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 67108864');
  transaction(db, () => db.exec(SCHEMA));
  return db;
}

/** Runs `work` as one transaction; takes the write lock first, so that what it reads is what it changes. */
export function transaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

export function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === SQLITE_BUSY;
}
