// A set of keys in the order of their adding. It holds a million of them in about 50 MB and grows without a long pause.
//
// A Set of strings would hold every URL and block the event loop for 100 ms when it grows at a million. This set keeps the
// first 128 bits of each key's SHA-256 in open-addressed tables. Among a million keys two collide with a probability of
// 1 in 10^26, and an attacker needs 2^64 hashes to make such a pair. There are 256 tables, so that growing one moves a 256th
// of the keys. The first keys are in a Map of strings, so that a small set makes no digests and no tables.
import { strict as assert } from 'node:assert';
import { hash } from 'node:crypto';

const TABLES = 256;
/** Four words of the digest, and the key's place. */
const DIGEST_WORDS = 4;
const WORDS = DIGEST_WORDS + 1;
const FIRST_SLOTS = 16;
const MAX_LOAD = 0.7;
/** The most keys in the Map. */
const FEW = 256;

export class DigestSet {
  /** The keys with their places; null once there are more than `FEW`. */
  #few: Map<string, number> | null = new Map();
  #tables: (Uint32Array | undefined)[] = [];
  #counts = EMPTY;
  #entry = EMPTY;
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
      this.#makeTables(this.#few);
      return this.#addDigest(key);
    }
    this.#few.set(key, this.#size++);
    return null;
  }

  has(key: string): boolean {
    if (this.#few !== null) return this.#few.has(key);
    this.#takeDigest(key);
    const table = this.#tables[this.#entry[1]! % TABLES];
    return table !== undefined && isIn(table, this.#entry);
  }

  #makeTables(few: ReadonlyMap<string, number>): void {
    this.#few = null;
    this.#tables = new Array(TABLES).fill(undefined);
    this.#counts = new Uint32Array(TABLES);
    this.#entry = new Uint32Array(WORDS);
    this.#size = 0;
    // A Map keeps the order of adding, so that each key gets its place again.
    for (const key of few.keys()) this.#addDigest(key);
  }

  #addDigest(key: string): number | null {
    this.#takeDigest(key);
    const entry = this.#entry;
    entry[DIGEST_WORDS] = this.#size;
    const number = entry[1]! % TABLES;
    let table = (this.#tables[number] ??= new Uint32Array(FIRST_SLOTS * WORDS));
    if (this.#counts[number]! >= (table.length / WORDS) * MAX_LOAD) table = this.#tables[number] = grown(table);
    const place = insert(table, entry, 0);
    if (place !== null) return place;
    this.#counts[number]!++;
    this.#size++;
    return null;
  }

  #takeDigest(key: string): void {
    // A binary string takes a third of the time of a Buffer.
    const bytes = hash('sha256', key, 'binary');
    for (let word = 0; word < DIGEST_WORDS; word++) {
      const at = word * 4;
      this.#entry[word] =
        bytes.charCodeAt(at) |
        (bytes.charCodeAt(at + 1) << 8) |
        (bytes.charCodeAt(at + 2) << 16) |
        (bytes.charCodeAt(at + 3) << 24);
    }
    // A first word of 0 marks a free slot.
    this.#entry[0] ||= 1;
  }
}

const EMPTY = new Uint32Array(0);

function isIn(table: Uint32Array, entry: Uint32Array): boolean {
  const slots = table.length / WORDS;
  for (let slot = entry[0]! & (slots - 1); table[slot * WORDS] !== 0; slot = (slot + 1) & (slots - 1)) {
    if (isAt(table, slot * WORDS, entry, 0)) return true;
  }
  return false;
}

const isAt = (table: Uint32Array, at: number, source: Uint32Array, from: number): boolean =>
  table[at] === source[from] &&
  table[at + 1] === source[from + 1] &&
  table[at + 2] === source[from + 2] &&
  table[at + 3] === source[from + 3];

/** Inserts the entry at `source[from…]` into the table. Returns the place of the same digest when the table has it already. */
function insert(table: Uint32Array, source: Uint32Array, from: number): number | null {
  const slots = table.length / WORDS;
  for (let slot = source[from]! & (slots - 1); ; slot = (slot + 1) & (slots - 1)) {
    const at = slot * WORDS;
    if (table[at] === 0) {
      for (let word = 0; word < WORDS; word++) table[at + word] = source[from + word]!;
      return null;
    }
    if (isAt(table, at, source, from)) return table[at + DIGEST_WORDS]!;
  }
}

function grown(table: Uint32Array): Uint32Array {
  const larger = new Uint32Array(table.length * 2);
  assert(Number.isInteger(Math.log2(larger.length / WORDS)), 'a slot is found by masking');
  for (let at = 0; at < table.length; at += WORDS) if (table[at] !== 0) insert(larger, table, at);
  return larger;
}
