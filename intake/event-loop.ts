// Lets other work of the thread run in between: a page of rows takes a few milliseconds, a million rows do not. All that is
// long takes turns, one slice in each turn of the event loop, so that a hundred of them hold it for no longer than one.

const MAX_BLOCKING_MS = 8;

const waiting: (() => void)[] = [];

/** A function to await often: it gives the event loop a turn once 8 ms have gone by since it last did. */
export function breather(): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < MAX_BLOCKING_MS) return undefined;
    return turn().then(() => {
      since = performance.now();
    });
  };
}

/** Resolves in a turn of the event loop in which nobody else's does. */
function turn(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (waiting.push(resolve) === 1) setImmediate(next);
  return promise;
}

function next(): void {
  waiting[0]!();
  waiting.shift();
  if (waiting.length > 0) setImmediate(next);
}
