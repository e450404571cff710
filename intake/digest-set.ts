// A set of keys that holds a million of them in about 40 MB and grows without a long pause.
//
// A Set of strings would hold every URL and block the event loop for 100 ms when it grows at a million. This set keeps the
// first 128 bits of each key's SHA-256 in open-addressed tables. Among a million keys two collide with a probability of
// 1 in 10^26, and an attacker needs 2^64 hashes to make such a pair. There are 256 tables, so that growing one moves a 256th
// of the keys.
import { strict as assert } from 'node:assert';
import { hash } from 'node:crypto';

const TABLES = 256;
const WORDS = 4;
const FIRST_SLOTS = 16;
const MAX_LOAD = 0.7;

export class DigestSet {
  #tables: (Uint32Array | undefined)[] = new Array(TABLES).fill(undefined);
  #counts = new Uint32Array(TABLES);
  #digest = new Uint32Array(WORDS);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** True when the key was not in the set before. */
  add(key: string): boolean {
    this.#takeDigest(key);
    const digest = this.#digest;
    const number = digest[1]! % TABLES;
    let table = (this.#tables[number] ??= new Uint32Array(FIRST_SLOTS * WORDS));
    if (this.#counts[number]! >= (table.length / WORDS) * MAX_LOAD) table = this.#tables[number] = grown(table);
    if (!insert(table, digest, 0)) return false;
    this.#counts[number]!++;
    this.#size++;
    return true;
  }

  #takeDigest(key: string): void {
    // A binary string takes a third of the time of a Buffer.
    const bytes = hash('sha256', key, 'binary');
    for (let word = 0; word < WORDS; word++) {
      const at = word * 4;
      this.#digest[word] =
        bytes.charCodeAt(at) |
        (bytes.charCodeAt(at + 1) << 8) |
        (bytes.charCodeAt(at + 2) << 16) |
        (bytes.charCodeAt(at + 3) << 24);
    }
    // A first word of 0 marks a free slot.
    this.#digest[0] ||= 1;
  }
}

/** Inserts the digest at `source[from…]` into the table. False when the table has it already. */
function insert(table: Uint32Array, source: Uint32Array, from: number): boolean {
  const slots = table.length / WORDS;
  for (let slot = source[from]! & (slots - 1); ; slot = (slot + 1) & (slots - 1)) {
    const at = slot * WORDS;
    if (table[at] === 0) {
      for (let word = 0; word < WORDS; word++) table[at + word] = source[from + word]!;
      return true;
    }
    if (
      table[at] === source[from] &&
      table[at + 1] === source[from + 1] &&
      table[at + 2] === source[from + 2] &&
      table[at + 3] === source[from + 3]
    ) {
      return false;
    }
  }
}

function grown(table: Uint32Array): Uint32Array {
  const larger = new Uint32Array(table.length * 2);
  assert(Number.isInteger(Math.log2(larger.length)), 'a slot is found by masking');
  for (let at = 0; at < table.length; at += WORDS) if (table[at] !== 0) insert(larger, table, at);
  return larger;
}
