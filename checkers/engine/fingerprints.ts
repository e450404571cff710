// Remembers the fingerprints (title, headings, size) of the pages that each host showed a job, in a few bytes a host. A page
// that several URLs of a host share, while other URLs show pages of their own, is more suspect for it.
import { LRUCache } from 'lru-cache';
import type { PageSigns } from './html.ts';

/** The third URL with the same page is suspect. */
const OTHERS_WITH_IT = 2;
/** Distinct pages that a host must have shown: a host with one page for everything proves nothing. */
const DIFFERENT_PAGES = 4;

const HOSTS = 20_000;
/** Slots a host. Each holds the majority fingerprint of its pages (Boyer-Moore majority vote). */
const SLOTS = 32;
const MAX_COUNT = 255;

interface HostPages {
  /** Each slot: 24 bits of a fingerprint and 8 bits of its lead in the vote. */
  slots: Uint32Array;
  /** Number of pages unlike the fingerprint of their slot. */
  different: number;
}

/** An LRU cache of hosts. */
export class PageMemory {
  readonly #hosts = new LRUCache<string, HostPages>({ max: HOSTS });

  /** Records a page of `host` in `group`. True when other URLs share it while enough show different pages. */
  record(group: string, host: string, print: number): boolean {
    const key = `${group} ${host}`;
    let known = this.#hosts.get(key);
    if (known === undefined) {
      known = { slots: new Uint32Array(SLOTS), different: 0 };
      this.#hosts.set(key, known);
    }
    const { slots } = known;
    const slot = print % SLOTS;
    const kept = slots[slot]!;
    const count = kept & MAX_COUNT;
    if (count === 0 || ((kept ^ print) & ~MAX_COUNT) !== 0) {
      slots[slot] = count === 0 ? ((print & ~MAX_COUNT) | 1) >>> 0 : kept - 1;
      known.different++;
      return false;
    }
    if (count < MAX_COUNT) slots[slot] = kept + 1;
    return count >= OTHERS_WITH_IT && known.different >= DIFFERENT_PAGES;
  }
}

/** A 32-bit hash of a page's title, first two headings and size, rounded to a sixteenth. Text further down does not count. */
export function fingerprint(signs: PageSigns, length: number): number {
  let print = mix(FNV_OFFSET, signs.title);
  for (let i = 0; i < signs.headings.length && i < 2; i++) print = mix(print, signs.headings[i]!.text);
  const octave = Math.max(0, 28 - Math.clz32(length));
  print = Math.imul(print ^ ((octave << 5) | (length >>> octave)), FNV_PRIME);
  return (print ^ (print >>> 15)) >>> 0;
}

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

function mix(print: number, text: string): number {
  for (let i = 0; i < text.length; i++) print = Math.imul(print ^ text.charCodeAt(i), FNV_PRIME);
  return Math.imul(print ^ 0xffff, FNV_PRIME);
}
