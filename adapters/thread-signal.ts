// Signals between the threads of this process. They are counters in shared memory, because the first message of a BroadcastChannel
// costs a thread 20 ms, in which Node loads its fetch.
import { hash } from 'node:crypto';
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';

/** Names whose hashes meet share a counter: then some signals are heard in vain. */
const COUNTERS = 256;
const SHARED = 'counters of signals';

/** Each thread takes them over from the thread that started it, so the first thread to load this module makes them. */
const counters = new Int32Array(sharedMemory());

function sharedMemory(): SharedArrayBuffer {
  const there = getEnvironmentData(SHARED) as SharedArrayBuffer | undefined;
  const memory = there ?? new SharedArrayBuffer(COUNTERS * Int32Array.BYTES_PER_ELEMENT);
  if (there === undefined) setEnvironmentData(SHARED, memory);
  return memory;
}

/** A signal of a name, which the others of that name hear in any thread. It keeps no thread alive. */
export class ThreadSignal {
  readonly #counter: number;
  readonly #heard: () => void;
  /** The count up to which all signals were heard, or are its own. */
  #seen: number;
  #is_closed = false;

  /** Calls `heard` after signals of others. It may call it once for several, and sometimes without one; never while it is made. */
  constructor(name: string, heard: () => void) {
    this.#counter = hash('sha256', name, 'buffer').readUInt32LE() % COUNTERS;
    this.#heard = heard;
    this.#seen = Atomics.load(counters, this.#counter);
    void this.#listen();
  }

  send(): void {
    const before = Atomics.add(counters, this.#counter, 1);
    if (before === this.#seen) this.#seen = (before + 1) | 0;
    Atomics.notify(counters, this.#counter);
  }

  close(): void {
    this.#is_closed = true;
    // Nothing else ends the wait of this one; the others continue with theirs.
    Atomics.notify(counters, this.#counter);
  }

  async #listen(): Promise<void> {
    for (;;) {
      await Atomics.waitAsync(counters, this.#counter, this.#seen).value;
      if (this.#is_closed) return;
      const count = Atomics.load(counters, this.#counter);
      if (count === this.#seen) continue;
      this.#seen = count;
      this.#heard();
    }
  }
}
