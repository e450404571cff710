// What a page says of itself: its title, its headings, how much text it shows, and a sketch to compare pages by.
import { hash } from 'node:crypto';

export interface PageSigns {
  title: string;
  /** The text of each h1 and h2, the first few. */
  headings: readonly string[];
}

/** A page that shows fewer characters is near-empty. */
const ENOUGH_TEXT = 160;
const MAX_HEADINGS = 6;
const MAX_LABEL = 300;

export function readSigns(html: string): PageSigns {
  const title_tag = /<title[^>]{0,200}>([^<]*)/i.exec(html);
  const headings: string[] = [];
  const heading_tag = /<h[12](?:\s[^>]{0,500})?>/gi;
  while (headings.length < MAX_HEADINGS && heading_tag.exec(html) !== null) {
    const start = heading_tag.lastIndex;
    const end = html.indexOf('</h', start);
    const inner = html.slice(start, Math.min(end < 0 ? html.length : end, start + 1000));
    headings.push(label(inner.includes('<') ? inner.replace(/<[^>]*>/g, ' ') : inner));
  }
  return { title: title_tag === null ? '' : label(title_tag[1]!), headings };
}

export function isNearEmpty(html: string): boolean {
  return visibleLength(html, ENOUGH_TEXT) < ENOUGH_TEXT;
}

/** Whether the page asks search engines to pass it over. */
export function isNoindex(html: string): boolean {
  return /<meta[^>]{0,100}\brobots\b[^>]{0,100}noindex/i.test(html);
}

function label(text: string): string {
  return decodeEntities(text.slice(0, MAX_LABEL)).replace(/\s+/g, ' ').trim();
}

const ENTITIES: { readonly [name: string]: string } = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  ndash: '–',
  mdash: '—',
  middot: '·',
  bull: '•',
  laquo: '«',
  raquo: '»',
  rsquo: '’',
  hellip: '…',
  aacute: 'á',
  agrave: 'à',
  atilde: 'ã',
  auml: 'ä',
  ccedil: 'ç',
  eacute: 'é',
  egrave: 'è',
  iacute: 'í',
  ntilde: 'ñ',
  oacute: 'ó',
  ouml: 'ö',
  uacute: 'ú',
  uuml: 'ü',
};

function decodeEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]+));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? whole;
    const code = decimal !== undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

/** Characters outside tags and hidden elements, without runs of space; stops at `enough`. */
function visibleLength(html: string, enough: number): number {
  let length = 0;
  forEachText(html, (start, end) => {
    let in_space = true;
    for (let i = start; i < end && length < enough; i++) {
      const code = html.charCodeAt(i);
      const space = code <= 32 || code === 160;
      if (!space || !in_space) length++;
      in_space = space;
    }
    return length < enough;
  });
  return length;
}

/** The visible text, its pieces apart by spaces. */
export function visibleText(html: string): string {
  let text = '';
  forEachText(html, (start, end) => {
    text += html.slice(start, end) + ' ';
    return true;
  });
  return text;
}

/**
 * Calls `take` with each stretch of text outside tags, comments and hidden elements while it returns true. The work is
 * linear in the page, whatever is left open in it: a page may have been written to make it slow.
 */
function forEachText(html: string, take: (start: number, end: number) => boolean): void {
  const body = /<body\b/i.exec(html);
  let at = body === null ? 0 : body.index;
  while (at < html.length) {
    const tag = html.indexOf('<', at);
    const end = tag < 0 ? html.length : tag;
    if (end > at && !take(at, end)) return;
    at = tag < 0 ? html.length : skipTag(html, tag);
  }
}

const HIDDEN = /^<(script|style|noscript|template|svg|head|title)\b/i;
const CLOSING: { readonly [name: string]: RegExp } = {
  script: /<\/script/gi,
  style: /<\/style/gi,
  noscript: /<\/noscript/gi,
  template: /<\/template/gi,
  svg: /<\/svg/gi,
  head: /<\/head/gi,
  title: /<\/title/gi,
};

/** The index after the tag, comment or hidden element that starts at `at`; the end of the page when it is left open. */
function skipTag(html: string, at: number): number {
  if (html.startsWith('<!--', at)) return after(html, '-->', at + 4);
  const hidden = HIDDEN.exec(html.slice(at, at + 12));
  if (hidden === null) return after(html, '>', at);
  const closing = CLOSING[hidden[1]!.toLowerCase()]!;
  closing.lastIndex = at;
  const found = closing.exec(html);
  return found === null ? html.length : after(html, '>', found.index);
}

function after(html: string, mark: string, from: number): number {
  const at = html.indexOf(mark, from);
  return at < 0 ? html.length : at + mark.length;
}

/** A bottom-k sketch of a page's word pairs: the smallest hashes of them, in order. */
export type Sketch = Uint32Array;
const SKETCH_SIZE = 128;
const MAX_WORDS = 4000;

/** Of the visible text. Digits and the words of `ignored` (the URL's own, which error pages repeat) do not count. */
export function sketch(html: string, ignored: string): Sketch {
  const words = visibleText(html)
    .toLowerCase()
    .split(/[^\p{L}]+/u, MAX_WORDS);
  const skip = new Set(ignored.toLowerCase().split(/[^\p{L}]+/u));
  const hashes = new Set<number>();
  let previous = '';
  for (const word of words) {
    if (word === '' || skip.has(word)) continue;
    hashes.add(hash('md5', `${previous} ${word}`, 'buffer').readUInt32LE(0));
    previous = word;
  }
  return Uint32Array.from(hashes).sort().subarray(0, SKETCH_SIZE);
}

/** The share of word pairs that two pages have in common (Jaccard, estimated), 0 to 1; two empty pages are equal. */
export function similarity(a: Sketch, b: Sketch): number {
  if (a.length === 0 && b.length === 0) return 1;
  const size = Math.min(SKETCH_SIZE, Math.max(a.length, b.length));
  let i = 0;
  let j = 0;
  let union = 0;
  let common = 0;
  while (union < size && (i < a.length || j < b.length)) {
    const x = a[i] ?? Number.POSITIVE_INFINITY;
    const y = b[j] ?? Number.POSITIVE_INFINITY;
    if (x === y) common++;
    if (x <= y) i++;
    if (y <= x) j++;
    union++;
  }
  return common / union;
}
