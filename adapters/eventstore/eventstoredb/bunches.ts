// Reads a stream of the client in bunches: takes all items that have arrived, in order, then waits for more with a limit.
import type { Connection } from './connection.ts';

/** The part of `Readable` that we use; the client's types come from another version of Node's types. */
export interface ItemStream {
  read(): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'readable' | 'end', listener: () => void): unknown;
  off(event: 'readable', listener: () => void): unknown;
  resume(): unknown;
}

export interface BunchOptions {
  /** Ends the reading, quietly. */
  signal: AbortSignal;
  /** Returns the longest wait for the next item, before each wait; `Infinity` waits for ever. */
  wait_limit_ms: () => number;
  /** Cancels the call on the server. */
  cancel: () => Promise<void>;
}

/** The most items of one bunch. */
const BUNCH = 500;

/** Throws the stream's error after the items that arrived before it, or an error when no item arrives in time. */
export async function* bunches(stream: ItemStream, options: BunchOptions): AsyncGenerator<unknown[], void> {
  const { signal, wait_limit_ms, cancel } = options;
  let failure: Error | undefined;
  let ended = false;
  let wake = Promise.withResolvers<void>();
  const woken = () => wake.resolve();
  stream.on('readable', woken);
  stream.on('end', () => {
    ended = true;
    woken();
  });
  // This listener stays: the client emits errors of a cancelled call too, and an unhandled one ends the process.
  stream.on('error', (error: Error) => {
    failure ??= error;
    woken();
  });
  signal.addEventListener('abort', woken);
  try {
    while (!signal.aborted) {
      const bunch: unknown[] = [];
      wake = Promise.withResolvers<void>();
      for (let item: unknown; bunch.length < BUNCH && (item = stream.read()) !== null; ) bunch.push(item);
      if (bunch.length > 0) {
        yield bunch;
        continue;
      }
      if (failure !== undefined) throw failure;
      if (ended) return;
      await within(wake.promise, wait_limit_ms());
    }
  } finally {
    signal.removeEventListener('abort', woken);
    // Without a cancel the call stays open and its events fill the connection. We do not await it, because the call may
    // still be connecting; we ignore errors, because a call that never began cannot be cancelled.
    cancel().catch(() => undefined);
    // Drain the items that arrived: otherwise the client keeps the call and its events in memory until `dispose`.
    stream.off('readable', woken);
    stream.resume();
  }
}

/** The bunches of a read, which ends by itself: the server answers each time within the connection's limit. */
export const answersOf = (
  read: ItemStream & Pick<BunchOptions, 'cancel'>,
  { closed, limits }: Pick<Connection, 'closed' | 'limits'>,
): AsyncGenerator<unknown[], void> =>
  bunches(read, { signal: closed, wait_limit_ms: () => limits.answer_ms, cancel: () => read.cancel() });

async function within(promise: Promise<void>, limit_ms: number): Promise<void> {
  if (limit_ms === Number.POSITIVE_INFINITY) return promise;
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no event in ${limit_ms} ms`)), limit_ms);
  try {
    await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
