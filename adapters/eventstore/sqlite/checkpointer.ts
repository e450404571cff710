// Runs checkpoints of the write-ahead log in a thread of their own: copying 16,000 pages takes up to 200 ms, and inside a
// commit it would block the event loop of the thread that commits.
import type { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';

export interface CheckpointerData {
  path: string;
  /** Length of the write-ahead log, in pages of 4 KiB, from which writers restart it once all of its pages are copied. */
  restart_pages: number;
}
/** The thread answers each with a boolean: whether it emptied the write-ahead log. */
export type CheckpointRequest = 'copy' | 'truncate';
/** SQLite's answer to `PRAGMA wal_checkpoint`: pages in the write-ahead log, and pages copied. */
export type WalState = { busy: number; log: number; checkpointed: number };

const LOOK_MS = 100;
/** A thread that has had nothing to do for this long ends: it takes 11 MB. The next checkpoint starts another. */
const IDLE_MS = 5000;

export class Checkpointer {
  readonly #db: DatabaseSync;
  readonly #data: CheckpointerData;
  #worker: Worker | null = null;
  #is_copying = false;
  #answered = (_is_empty: boolean) => {};
  #looked_at = Number.NEGATIVE_INFINITY;

  /** `db`: a connection to the same file, with automatic checkpoints switched off. */
  constructor(db: DatabaseSync, data: CheckpointerData) {
    this.#db = db;
    this.#data = data;
  }

  /** The writer calls this after each commit. Starts a checkpoint when `restart_pages / 4` pages wait. Never throws. */
  checkpointIfLong(): void {
    const now = performance.now();
    if (this.#is_copying || now - this.#looked_at < LOOK_MS) return;
    this.#looked_at = now;
    const { log, checkpointed } = walState(this.#db);
    if (log - checkpointed < this.#data.restart_pages / 4) return;
    this.#post('copy');
  }

  /** Copies the write-ahead log and empties it, in the thread. False while another connection reads or writes. Never rejects. */
  async truncate(): Promise<boolean> {
    if (this.#is_copying) return false;
    this.#post('truncate');
    return new Promise((resolve) => {
      this.#answered = resolve;
    });
  }

  #post(request: CheckpointRequest): void {
    this.#worker ??= this.#start();
    this.#is_copying = true;
    this.#worker.postMessage(request);
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const url = new URL('./checkpoint-thread.ts', import.meta.url);
    const worker = new Worker(url, { workerData: this.#data, resourceLimits: { maxOldGenerationSizeMb: 64 } });
    worker.unref();
    const idle = setTimeout(() => {
      if (this.#is_copying || this.#worker !== worker) return;
      this.#worker = null;
      void worker.terminate();
    }, IDLE_MS).unref();
    worker.on('message', (is_empty: boolean) => {
      idle.refresh();
      this.#is_copying = false;
      this.#answered(is_empty);
    });
    // The next commit meets the same fault of the file and reports it.
    worker.on('error', () => {});
    worker.on('exit', () => {
      if (this.#worker !== worker) return;
      this.#worker = null;
      this.#is_copying = false;
      this.#answered(false);
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
