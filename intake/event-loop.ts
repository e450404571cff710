// Lets other work of the thread run in between: a page of rows takes a few milliseconds, a million rows do not.
import { setImmediate } from 'node:timers/promises';

const MAX_BLOCKING_MS = 8;

/** A function to await often: it gives the event loop a turn once 8 ms have gone by since it last did. */
export function breather(): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < MAX_BLOCKING_MS) return undefined;
    return setImmediate().then(() => {
      since = performance.now();
    });
  };
}
