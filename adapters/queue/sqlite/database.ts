// Opens the queue's file. Several threads and processes may open it at the same time.
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { openFile, transaction, whenFree } from '../../sqlite.ts';
import { OVERWRITE_DELETED } from '../../sqlite-erasure.ts';
import { QueueError } from '../limits.ts';

/** What the queue throws when it has waited too long for the file. */
export const stuck = (cause: unknown) => new QueueError('unavailable', 'the file of the queue stayed locked', cause);
const OPENING = { limit_ms: 2_000, stuck };

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
  // No busy timeout: SQLite's own wait blocks the thread and its event loop. `whenFree` waits instead.
  const db = openFile(path, { timeout: 0 });
  // Turning a new file into WAL needs an exclusive lock, for which SQLite fails at once instead of waiting.
  try {
    // `synchronous = NORMAL`: the queue holds hints. After a power cut that loses the last of them, the sweeper publishes their work again.
    const settings = `
      PRAGMA auto_vacuum = INCREMENTAL;
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = NORMAL;
      PRAGMA wal_autocheckpoint = 4000;
      PRAGMA journal_size_limit = 67108864;
      ${OVERWRITE_DELETED};
    `;
    await whenFree(() => db.exec(settings), OPENING);
    await whenFree(() => transaction(db, () => db.exec(SCHEMA)), OPENING);
  } catch (error) {
    db.close();
    throw error;
  }
  return db;
}
