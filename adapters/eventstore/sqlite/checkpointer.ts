// Has the write-ahead log copied into the file by a thread of its own: to copy 16,000 pages takes up to a fifth of a second,
// in which a thread that does it inside a commit answers nobody.
import type { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';

export interface CheckpointerData {
  path: string;
  /** So many pages of 4 KiB in the write-ahead log, all of them copied, and writers begin it anew. */
  restart_pages: number;
}
/** What SQLite tells of its write-ahead log, in pages. */
export type WalState = { busy: number; log: number; checkpointed: number };

const LOOK_MS = 100;

export class Checkpointer {
  readonly #db: DatabaseSync;
  readonly #data: CheckpointerData;
  #worker: Worker | null = null;
  #is_copying = false;
  #looked_at = Number.NEGATIVE_INFINITY;

  /** `db`: a connection to the same file, which never copies by itself. */
  constructor(db: DatabaseSync, data: CheckpointerData) {
    this.#db = db;
    this.#data = data;
  }

  /** To be called after each commit: begins to copy when a quarter of `restart_pages` waits for it. Never throws. */
  look(): void {
    const now = performance.now();
    if (this.#is_copying || now - this.#looked_at < LOOK_MS) return;
    this.#looked_at = now;
    const { log, checkpointed } = walState(this.#db);
    if (log - checkpointed < this.#data.restart_pages / 4) return;
    this.#worker ??= this.#start();
    this.#is_copying = true;
    this.#worker.postMessage(null);
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const url = new URL('./checkpoint-thread.ts', import.meta.url);
    const worker = new Worker(url, { workerData: this.#data, resourceLimits: { maxOldGenerationSizeMb: 64 } });
    worker.unref();
    worker.on('message', () => {
      this.#is_copying = false;
    });
    // What is wrong with the file, the next commit finds itself. The next look starts another thread.
    worker.on('error', () => {});
    worker.on('exit', () => {
      this.#worker = null;
      this.#is_copying = false;
    });
    return worker;
  }
}

function walState(db: DatabaseSync): WalState {
  try {
    return db.prepare('PRAGMA wal_checkpoint(NOOP)').get() as unknown as WalState;
  } catch {
    return { busy: 1, log: 0, checkpointed: 0 };
  }
}
