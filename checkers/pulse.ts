// What a checker's thread shows of itself in shared memory: that it is alive, and over whose answer it is working. It is
// read from another thread when this one does nothing more.

/** A URL may be as long as the settings allow, percent-encoded. */
const URL_BYTES = 256 * 1024;
const NUMBERS = 2;
const BEATS = 0;
const LENGTH = 1;

export class Pulse {
  readonly memory: SharedArrayBuffer;
  readonly #numbers: Int32Array;
  readonly #url: Buffer;

  /** `memory`: of the Pulse of another thread. */
  constructor(memory = new SharedArrayBuffer(NUMBERS * Int32Array.BYTES_PER_ELEMENT + URL_BYTES)) {
    this.memory = memory;
    this.#numbers = new Int32Array(memory, 0, NUMBERS);
    this.#url = Buffer.from(memory, NUMBERS * Int32Array.BYTES_PER_ELEMENT);
  }

  /** A sign of life. */
  beat(): void {
    Atomics.add(this.#numbers, BEATS, 1);
  }

  /** How many there were, around 2^32. */
  get beats(): number {
    return Atomics.load(this.#numbers, BEATS);
  }

  /** What is done now is done over the answer of this URL: an `href`, which has no character beyond ASCII. */
  enter(url: string): void {
    this.#numbers[LENGTH] = url.length > URL_BYTES ? 0 : this.#url.write(url, 'latin1');
  }

  leave(): void {
    this.#numbers[LENGTH] = 0;
  }

  /** The URL over whose answer the thread is working, or ended; null when it is none. */
  get url(): string | null {
    const length = Atomics.load(this.#numbers, LENGTH);
    return length === 0 ? null : this.#url.toString('latin1', 0, length);
  }
}
