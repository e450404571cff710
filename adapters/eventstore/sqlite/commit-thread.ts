// Entry of the thread that commits for the event loop of another one: each message is a group of appends, and one transaction.
import { parentPort, workerData } from 'node:worker_threads';
import { whenFree } from '../../sqlite.ts';
import { Appends, type Committed, type StoredAppend } from './appends.ts';
import type { CommitterData } from './committer.ts';
import { connect } from './connection.ts';

/** The group goes back after this long. Its own thread then waits for the lock, or meets the fault of the disk. */
const LOCK_LIMIT_MS = 1000;

const { path, checkpoint_pages } = workerData as CommitterData;
const port = parentPort!;
const db = await connect(path, checkpoint_pages);
db.exec('PRAGMA wal_autocheckpoint = 0');
const appends = new Appends(db);
const stuck = (cause: unknown) => new Error('another connection has locked the log', { cause });

port.on('message', async (group: readonly StoredAppend[]) => {
  let made: Committed | null = null;
  try {
    made = await whenFree(() => appends.commit(group), { limit_ms: LOCK_LIMIT_MS, stuck });
  } catch {
    // The one who asked makes the appends itself, and knows what to do about the error.
  }
  port.postMessage(made);
});
