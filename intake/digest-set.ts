// A set of keys in the order of their adding. It holds a million of them in about 30 MB and grows without a long pause.
//
// A Set of strings would hold every URL and block the event loop for 100 ms when it grows at a million. This set keeps the
// first 128 bits of each key's SHA-256, in their order, and an open-addressed table of their places. Among a million keys two
// collide with a probability of 1 in 10^26, and an attacker needs 2^64 hashes to make such a pair. Where a digest stands in the
// table is the process's secret, so that nobody makes keys whose digests all stand at one place. The first keys are in a Map of
// strings, so that a small set makes no digests.
import { strict as assert } from 'node:assert';
import { hash, randomBytes } from 'node:crypto';

/** Words of 32 bits of a digest. */
const WORDS = 4;
const FIRST_DIGESTS = 1024;
/** Slots of the table for each digest that there is room for. */
const SPARSE = 2;
/** The most keys in the Map. */
const FEW = 256;

/** Disposing of a set gives its memory back at once. Using it after that throws. */
export class DigestSet implements Disposable {
  /** The keys with their places; null once there are more than `FEW`. */
  #few: Map<string, number> | null = new Map();
  #digests = NONE;
  /** 1 + the place of a digest; 0 marks a free slot. */
  #slots = NONE;
  readonly #digest = new Uint32Array(WORDS);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Returns null when the key was not in the set before, else its place in the order of adding, from 0. */
  add(key: string): number | null {
    if (this.#few === null) return this.#addDigest(key);
    const place = this.#few.get(key);
    if (place !== undefined) return place;
    if (this.#size === FEW) {
      this.#makeTable(this.#few);
      return this.#addDigest(key);
    }
    this.#few.set(key, this.#size++);
    return null;
  }

  [Symbol.dispose](): void {
    this.#few = null;
    unmap(this.#digests);
    unmap(this.#slots);
  }

  has(key: string): boolean {
    if (this.#few !== null) return this.#few.has(key);
    takeDigest(key, this.#digest);
    return this.#slots[this.#slotOf(this.#digest, 0)] !== 0;
  }

  #makeTable(few: ReadonlyMap<string, number>): void {
    this.#few = null;
    this.#digests = mapped(FIRST_DIGESTS * WORDS);
    this.#slots = mapped(FIRST_DIGESTS * SPARSE);
    this.#size = 0;
    // A Map keeps the order of adding, so that each key gets its place again.
    for (const key of few.keys()) this.#addDigest(key);
  }

  #addDigest(key: string): number | null {
    takeDigest(key, this.#digest);
    const slot = this.#slotOf(this.#digest, 0);
    const found = this.#slots[slot]!;
    if (found !== 0) return found - 1;
    this.#digests.set(this.#digest, this.#size * WORDS);
    this.#slots[slot] = ++this.#size;
    if (this.#size * WORDS === this.#digests.length) this.#grow();
    return null;
  }

  #grow(): void {
    const digests = mapped(this.#digests.length * 2);
    digests.set(this.#digests);
    unmap(this.#digests);
    this.#digests = digests;
    const slots = this.#slots.length * 2;
    unmap(this.#slots);
    this.#slots = mapped(slots);
    for (let place = 0; place < this.#size; place++) this.#slots[this.#slotOf(digests, place * WORDS)] = place + 1;
  }

  /** The slot of the digest at `source[from…]`, or the free one where it belongs. */
  #slotOf(source: Uint32Array, from: number): number {
    const digests = this.#digests;
    const slots = this.#slots;
    assert(slots.length > 0, 'the set was disposed of');
    const last = slots.length - 1;
    // The number of slots is a power of two, so that its leading zeros say how many of the high bits number one.
    let slot = mixed(source, from) >>> Math.clz32(last);
    for (let found = slots[slot]!; found !== 0; found = slots[slot]!) {
      if (isAt(digests, (found - 1) * WORDS, source, from)) break;
      slot = (slot + 1) & last;
    }
    return slot;
  }
}

const MULTIPLIERS = new Uint32Array(new Uint8Array(randomBytes(WORDS * 4)).buffer).map((word) => word | 1);

/** Writes the first words of the key's digest into `digest`. */
function takeDigest(key: string, digest: Uint32Array): void {
  // A binary string takes a third of the time of a Buffer.
  const bytes = hash('sha256', key, 'binary');
  for (let word = 0; word < WORDS; word++) {
    const at = word * 4;
    digest[word] =
      bytes.charCodeAt(at) |
      (bytes.charCodeAt(at + 1) << 8) |
      (bytes.charCodeAt(at + 2) << 16) |
      (bytes.charCodeAt(at + 3) << 24);
  }
}

/** 32 bits that all bits of the digest decide together with the process's secret; the high ones are the best mixed. */
const mixed = (source: Uint32Array, from: number): number =>
  Math.imul(source[from]!, MULTIPLIERS[0]!) +
  Math.imul(source[from + 1]!, MULTIPLIERS[1]!) +
  Math.imul(source[from + 2]!, MULTIPLIERS[2]!) +
  Math.imul(source[from + 3]!, MULTIPLIERS[3]!);

const isAt = (digests: Uint32Array, at: number, source: Uint32Array, from: number): boolean =>
  digests[at] === source[from] &&
  digests[at + 1] === source[from + 1] &&
  digests[at + 2] === source[from + 2] &&
  digests[at + 3] === source[from + 3];

/** An array in a buffer that can be resized: such a buffer is mapped, and what malloc gives to a common one may stay with the process. */
const mapped = (length: number): Uint32Array<ArrayBuffer> =>
  new Uint32Array(new ArrayBuffer(length * 4, { maxByteLength: length * 4 }), 0, length);

/** Of a set that keeps no digests: most sets are small. */
const NONE = mapped(0);

/** Gives the array's memory back to the machine at once, and not when the heap is collected. */
const unmap = (array: Uint32Array<ArrayBuffer>): void => array.buffer.resize(0);
