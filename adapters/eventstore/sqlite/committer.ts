// Commits groups of appends in a thread of their own while many come: an fsync, and most of the work before it, then blocks no event loop.
// Decision 190 says why.
import { Worker } from 'node:worker_threads';
import type { Committed, StoredAppend } from './appends.ts';

export interface CommitterData {
  path: string;
  checkpoint_pages: number;
}

/** A thread that has had nothing to do for this long ends: it takes 11 MB. */
const IDLE_MS = 5000;
const HEAP = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 64 };

export class Committer {
  readonly #data: CommitterData;
  #worker: Worker | null = null;
  #answer: ((made: Committed | null) => void) | null = null;

  constructor(data: CommitterData) {
    this.#data = data;
  }

  /**
   * Commits the group; one at a time. Null where it did not, or ended before it said so: the caller then makes the appends itself, which
   * changes nothing if they were made. Never rejects.
   */
  commit(group: readonly StoredAppend[]): Promise<Committed | null> {
    this.#worker ??= this.#start();
    const { promise, resolve } = Promise.withResolvers<Committed | null>();
    this.#answer = resolve;
    this.#worker.postMessage(group.map(({ stream, expected, rows }): StoredAppend => ({ stream, expected, rows })));
    return promise;
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const url = new URL('./commit-thread.ts', import.meta.url);
    const worker = new Worker(url, { workerData: this.#data, resourceLimits: HEAP });
    worker.unref();
    const idle = setTimeout(() => {
      if (this.#answer !== null || this.#worker !== worker) return;
      this.#worker = null;
      void worker.terminate();
    }, IDLE_MS).unref();
    worker.on('message', (made: Committed | null) => {
      idle.refresh();
      this.#answered(made);
    });
    // `exit` follows.
    worker.on('error', () => {});
    worker.on('exit', () => {
      if (this.#worker !== worker) return;
      this.#worker = null;
      this.#answered(null);
    });
    return worker;
  }

  #answered(made: Committed | null): void {
    const answer = this.#answer;
    this.#answer = null;
    answer?.(made);
  }
}
