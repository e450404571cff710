// Lets long work yield to the event loop: a page of rows takes a few milliseconds, a million rows would block the thread. All
// long work shares the turns of the event loop, one slice a turn, so that a hundred uploads block it no longer than one.

const MAX_BLOCKING_MS = 8;

const waiting: (() => void)[] = [];

/**
 * Returns a function to await often: it yields to the event loop once 8 ms have passed since it last yielded.
 * @example const breathe = breather(); for (const row of rows) { take(row); await breathe(); }
 */
export function breather(): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < MAX_BLOCKING_MS) return undefined;
    return ownTurn().then(() => {
      since = performance.now();
    });
  };
}

/** Resolves in a turn of the event loop that no other long work has: what begins together then takes its first slices one by one. */
export function ownTurn(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (waiting.push(resolve) === 1) setImmediate(next);
  return promise;
}

function next(): void {
  waiting[0]!();
  waiting.shift();
  if (waiting.length > 0) setImmediate(next);
}
