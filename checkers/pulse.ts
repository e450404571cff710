// The heartbeats of a checker's thread, in shared memory: a counter, and the URL whose answer the thread reads. The
// supervising thread reads them, also when this thread hangs or has ended.

/** Room for the longest URL that the settings allow, percent-encoded. */
const URL_BYTES = 256 * 1024;
const NUMBERS = 2;
const BEATS = 0;
const LENGTH = 1;

export class Pulse {
  readonly memory: SharedArrayBuffer;
  readonly #numbers: Int32Array;
  readonly #url: Buffer;

  /** `memory`: the memory of another thread's Pulse, to read it. */
  constructor(memory = new SharedArrayBuffer(NUMBERS * Int32Array.BYTES_PER_ELEMENT + URL_BYTES)) {
    this.memory = memory;
    this.#numbers = new Int32Array(memory, 0, NUMBERS);
    this.#url = Buffer.from(memory, NUMBERS * Int32Array.BYTES_PER_ELEMENT);
  }

  /** Counts one heartbeat. */
  beat(): void {
    Atomics.add(this.#numbers, BEATS, 1);
  }

  /** Number of beats, modulo 2^32. */
  get beats(): number {
    return Atomics.load(this.#numbers, BEATS);
  }

  /** The thread now reads the answer of this URL: an `href`, which is ASCII. */
  enter(url: string): void {
    this.#numbers[LENGTH] = url.length > URL_BYTES ? 0 : this.#url.write(url, 'latin1');
  }

  leave(): void {
    this.#numbers[LENGTH] = 0;
  }

  /** The URL whose answer the thread reads, or was reading when it hung or ended; null between answers. */
  get url(): string | null {
    const length = Atomics.load(this.#numbers, LENGTH);
    return length === 0 ? null : this.#url.toString('latin1', 0, length);
  }
}
