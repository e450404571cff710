// Reads a stream of the client in bunches: whatever has arrived, in order, and a bounded wait for more.

/** What is needed of a `Readable`; the client's are typed by another version of Node's types. */
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
  /** The longest wait for the next item, asked before each wait; `Infinity` waits for ever. */
  patience_ms: () => number;
  /** Tells the server that no more is wanted. */
  cancel: () => Promise<void>;
}

/** Items of one bunch at most. */
const BUNCH = 500;

/** Throws what the stream failed with, after all that arrived before, or when nothing arrives for too long. */
export async function* bunches(stream: ItemStream, options: BunchOptions): AsyncGenerator<unknown[], void> {
  const { signal, patience_ms, cancel } = options;
  let failure: Error | undefined;
  let ended = false;
  let wake = Promise.withResolvers<void>();
  const woken = () => wake.resolve();
  stream.on('readable', woken);
  stream.on('end', () => {
    ended = true;
    woken();
  });
  // Stays for good: the client emits errors of a cancelled call too, and one that nobody hears ends the process.
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
      await within(wake.promise, patience_ms());
    }
  } finally {
    signal.removeEventListener('abort', woken);
    // Without it the call stays open, with its events waiting in the connection. Not awaited, for a call that is still
    // looking for its server; one that never began has nothing to cancel.
    cancel().catch(() => undefined);
    // What has arrived is read to its end: else the client would keep the call, with its events, until it is disposed of.
    stream.off('readable', woken);
    stream.resume();
  }
}

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
