// Follows a collection's changes by a change stream, so that nobody asks the server whether anything has changed.
import type { Collection } from 'mongodb';
import { backOffMs } from '../../../time/back-off.ts';
import { pause } from '../../../time/pause.ts';
import type { Log } from './transactions.ts';

/** The server answers a stream without changes after this long. */
const SILENT_ANSWER_MS = 10_000;
const BACK_OFF = { first_ms: 100, longest_ms: 5_000 };

/** Calls `changed` after changes, and whenever the stream had to be opened anew, until `signal` aborts. Never rejects. */
export async function watchCollection(
  collection: Collection,
  changed: () => void,
  { signal, log }: { signal: AbortSignal; log: Log },
): Promise<void> {
  for (let failures = 0; !signal.aborted; ) {
    const stream = collection.watch([{ $project: { _id: 1 } }], { maxAwaitTimeMS: SILENT_ANSWER_MS });
    const close = () => void stream.close().catch(() => {});
    signal.addEventListener('abort', close);
    try {
      changed();
      while (!signal.aborted) {
        await stream.next();
        failures = 0;
        changed();
      }
    } catch (error) {
      if (signal.aborted) return;
      log.debug({ err: error, collection: collection.collectionName }, 'a change stream ended and is opened again');
      await pause(backOffMs(failures++, BACK_OFF), signal);
    } finally {
      signal.removeEventListener('abort', close);
      close();
    }
  }
}
