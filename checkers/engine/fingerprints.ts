// What other pages of a host a job has met: by a fingerprint of title, headings and size, in a few bytes a host. That
// several URLs show one page, beside others that show their own, is a reason to ask what the host says to any name.
import { LRUCache } from 'lru-cache';
import type { PageSigns } from './html.ts';

/** A third URL with the page of two others is one too many. */
const OTHERS_WITH_IT = 2;
/** The host shows other pages too, this one and three more: one page for everything tells nothing. */
const DIFFERENT_PAGES = 4;
/** Of the pages that a host has shown, so many can be worth a probe for their fingerprint alone: one in this many. */
const PAGES_A_PROBE = 20;

const HOSTS = 20_000;
/** Each holds the fingerprint that most of its pages had (the majority vote of Boyer and Moore). */
const SLOTS = 32;
const MAX_COUNT = 255;

interface HostPages {
  /** 24 bits of a fingerprint, 8 bits of its lead. */
  slots: Uint32Array;
  pages: number;
  /** Of them, those that were not like one before. */
  different: number;
  probes: number;
}

/** Bounded; the hosts that were used least lately are forgotten. */
export class PageMemory {
  readonly #hosts = new LRUCache<string, HostPages>({ max: HOSTS });

  /** Notes a page of `host` in `group`; whether other URLs had it, and others did not. */
  record(group: string, host: string, print: number): boolean {
    const key = `${group} ${host}`;
    let known = this.#hosts.get(key);
    if (known === undefined) {
      known = { slots: new Uint32Array(SLOTS), pages: 0, different: 0, probes: 0 };
      this.#hosts.set(key, known);
    }
    const { slots } = known;
    const slot = print % SLOTS;
    const kept = slots[slot]!;
    const count = kept & MAX_COUNT;
    known.pages++;
    if (count === 0 || ((kept ^ print) & ~MAX_COUNT) !== 0) {
      slots[slot] = count === 0 ? ((print & ~MAX_COUNT) | 1) >>> 0 : kept - 1;
      known.different++;
      return false;
    }
    if (count < MAX_COUNT) slots[slot] = kept + 1;
    return count >= OTHERS_WITH_IT && known.different >= DIFFERENT_PAGES;
  }

  /** Whether a fingerprint alone may cost a probe more of this host: a bounded share of its pages. */
  mayProbe(group: string, host: string): boolean {
    const known = this.#hosts.get(`${group} ${host}`);
    if (known === undefined || known.probes > known.pages / PAGES_A_PROBE) return false;
    known.probes++;
    return true;
  }
}

/** Of a page's title, first headings and size, to a sixteenth: what it repeats of its URL further down does not count. */
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
