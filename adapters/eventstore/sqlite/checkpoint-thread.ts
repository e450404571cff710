// The entry of the thread that copies the write-ahead log into the file of events, each time that it is asked to.
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import type { CheckpointerData, WalState } from './checkpointer.ts';

/** How long writers are kept waiting for readers of the old pages, where the write-ahead log is begun anew. */
const RESTART_WAIT_MS = 50;

const { path, restart_pages } = workerData as CheckpointerData;
const db = new DatabaseSync(path, { timeout: RESTART_WAIT_MS });
const checkpoint = (mode: 'PASSIVE' | 'RESTART') =>
  db.prepare(`PRAGMA wal_checkpoint(${mode})`).get() as unknown as WalState;

parentPort!.on('message', () => {
  try {
    // Beside the writers: they do not wait for it.
    const { log } = checkpoint('PASSIVE');
    if (log >= restart_pages) checkpoint('RESTART');
  } catch {
    // The file is held, damaged or without room: the next request tries again.
  }
  parentPort!.postMessage(null);
});
