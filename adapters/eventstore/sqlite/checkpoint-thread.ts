// Entry of the checkpoint thread: copies the write-ahead log into the database file at each message.
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { truncateWal } from '../../sqlite-erasure.ts';
import type { CheckpointerData, CheckpointRequest, WalState } from './checkpointer.ts';

/** While SQLite restarts the write-ahead log, writers wait at most this long for readers of the old pages. */
const RESTART_WAIT_MS = 50;

const { path, restart_pages } = workerData as CheckpointerData;
const db = new DatabaseSync(path, { timeout: RESTART_WAIT_MS });
const checkpoint = (mode: 'PASSIVE' | 'RESTART') =>
  db.prepare(`PRAGMA wal_checkpoint(${mode})`).get() as unknown as WalState;

parentPort!.on('message', (request: CheckpointRequest) => {
  let is_empty = false;
  try {
    // A passive checkpoint runs beside the writers; they do not wait for it.
    const { log } = checkpoint('PASSIVE');
    if (request === 'truncate') is_empty = truncateWal(db);
    else if (log >= restart_pages) checkpoint('RESTART');
  } catch {
    // The file is locked or damaged, or the disk is full. The next message tries again.
  }
  parentPort!.postMessage(is_empty);
});
