// Reads the log in a thread of its own, a few pages ahead of the reader: SQLite then works beside whoever takes the events.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { EventFilter, EventRow, Position } from '../../../events/event-store.ts';
import { type PackedRows, unpackRows } from './packed-rows.ts';
import { StoredEvent } from './stored-event.ts';

/** Rowids: the events after `from`, up to `end`. */
export interface Range {
  path: string;
  filter: EventFilter | undefined;
  from: number;
  end: number;
}

export interface ReadAheadData extends Range {
  /** URL of a module that exports `openPacker`. */
  packer: string;
}

/**
 * Called once for each read, in its thread. The packer makes of the rows of each page, in their order, what is sent: an object that is
 * cloned, but for its fields that are arrays of bytes or numbers, which are moved.
 */
export type OpenPacker<Page extends object> = (
  positionOf: (rowid: number) => Position,
) => (rows: readonly EventRow[]) => Page;

/** Pages that the thread has read and nobody has taken: at most 16 MB, and one more for each text that is longer. */
const PAGES_AHEAD = 4;

const WHOLE = new URL('./packed-rows.ts', import.meta.url).href;

/** Throws the thread's errors. Leaving the iteration ends the thread. */
export async function* readAhead(range: Range): AsyncGenerator<StoredEvent, void> {
  for await (const page of readPagesAhead<PackedRows>({ ...range, packer: WHOLE })) {
    for (const row of unpackRows(page)) yield new StoredEvent(row);
  }
}

/** Reads like `readAhead`, and gives pages as the module `packer` makes them. */
export async function* readPagesAhead<Page extends object>(data: ReadAheadData): AsyncGenerator<Page, void> {
  const worker = new Worker(new URL('./read-ahead-thread.ts', import.meta.url), { workerData: data });
  const pages: (Page | null)[] = [];
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
      yield page;
    }
  } finally {
    await worker.terminate();
  }
}
