// Reads the log in a thread of its own, a few pages ahead of the reader: SQLite then works beside whoever takes the events.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { EventFilter } from '../../../events/event-store.ts';
import { type PackedRows, unpackRows } from './packed-rows.ts';
import { StoredEvent } from './stored-event.ts';

export interface ReadAheadData {
  path: string;
  filter: EventFilter | undefined;
  /** Rowids: the events after `from`, up to `end`. */
  from: number;
  end: number;
}

/** Pages that the thread has read and nobody has taken: at most 16 MB, and one more for each text that is longer. */
const PAGES_AHEAD = 4;

/** Throws the thread's errors. Leaving the iteration ends the thread. */
export async function* readAhead(data: ReadAheadData): AsyncGenerator<StoredEvent, void> {
  const worker = new Worker(new URL('./read-ahead-thread.ts', import.meta.url), { workerData: data });
  const pages: (PackedRows | null)[] = [];
  let failure: Error | null = null;
  worker.on('message', (page) => pages.push(page));
  // The error has come as a message, and only looks like one.
  worker.on('error', (error) => {
    failure = Object.assign(new Error(error.message), error);
  });
  try {
    for (let n = 0; n < PAGES_AHEAD; n++) worker.postMessage(null);
    for (;;) {
      while (pages.length === 0 && failure === null) await once(worker, 'message').catch(() => {});
      if (pages.length === 0) throw failure!;
      const page = pages.shift()!;
      if (page === null) return;
      worker.postMessage(null);
      for (const row of unpackRows(page)) yield new StoredEvent(row);
    }
  } finally {
    await worker.terminate();
  }
}
