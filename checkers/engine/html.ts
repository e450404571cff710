// Reads the signs of a page: its title, headings, marks and amount of prose, and a sketch by which pages are compared.
import { hash } from 'node:crypto';
import { decodeHTML } from 'entities';

export interface Heading {
  level: 1 | 2;
  text: string;
  /** Index of its tag in the page. */
  at: number;
}

export interface PageSigns {
  title: string;
  /** The first few h1 and h2. */
  headings: readonly Heading[];
}

const MAX_HEADINGS = 4;
const MAX_LABEL = 300;

export function readSigns(html: string): PageSigns {
  const title_tag = /<title[^<>]*>([^<]*)/i.exec(html);
  const headings: Heading[] = [];
  const heading_tag = /<h([12])(?:\s[^<>]*)?>/gi;
  while (headings.length < MAX_HEADINGS) {
    const tag = heading_tag.exec(html);
    if (tag === null) break;
    const start = heading_tag.lastIndex;
    const end = html.indexOf('</h', start);
    const inner = html.slice(start, Math.min(end < 0 ? html.length : end, start + 1000));
    const text = label(inner.includes('<') ? inner.replace(/<[^<>]*>/g, ' ') : inner);
    headings.push({ level: tag[1] === '1' ? 1 : 2, text, at: tag.index });
  }
  return { title: title_tag === null ? '' : label(title_tag[1]!), headings };
}

/** Whether index `at` is inside a script or a template, which browsers do not show. */
export function isHidden(html: string, at: number): boolean {
  return ['script', 'template'].some((name) => html.lastIndexOf(`<${name}`, at) > html.lastIndexOf(`</${name}`, at));
}

/** Whether the page asks search engines to pass it over. */
export function isNoindex(html: string): boolean {
  return metaTags(html).some((tag) => /\brobots\b/i.test(tag) && /noindex/i.test(tag));
}

/** Whether the page is marked as a question or a discussion, of which the title says what somebody asks. */
export function isMarkedDiscussion(html: string): boolean {
  return DISCUSSION.test(html);
}

const DISCUSSION =
  /(?:"@type"\s*:\s*(?:\[\s*)?"|\bitemtype=["']https?:\/\/schema\.org\/)(?:QAPage|Question|DiscussionForumPosting|SocialMediaPosting|Comment)["']/;

/** Whether the page declares itself an article, a discussion or a work: then its title is a name, not a statement. */
export function isWork(html: string): boolean {
  return (
    WORK.test(html) || metaTags(html).some((tag) => PUBLISHED.test(tag) || (OG_TYPE.test(tag) && WORK_TYPE.test(tag)))
  );
}

/** Generators write the zero of their clock for a page without a date, such as an error page. */
const PUBLISHED = /\barticle:published_time\b(?!.*["'](?:0{1,4}1?-|1970-01-01))/s;
const OG_TYPE = /\bog:type["']/;
const WORK_TYPE = /\bcontent=["'](?:article|book|music\.|video\.|product)/;

const WORK =
  /"@type"\s*:\s*(?:\[\s*)?"(?:\w*Article|BlogPosting|QAPage|Question|DiscussionForumPosting|Book|Movie|TVSeries|Music\w+|\w*Event|Recipe|CreativeWork|VideoGame)"/;

/** The text of each meta tag, without its `>`. */
const metaTags = (html: string) => html.match(/<meta[^<>]*/gi) ?? [];

/** Whether the page bears the mark of its platform's not-found template, or tells crawlers the status 404 or 410. */
export function hasNotFoundMark(html: string): boolean {
  const body = bodyAt(html);
  const status = html.slice(0, body).indexOf('prerender-status-code');
  if (status >= 0 && /\b4(?:04|10)\b/.test(html.slice(status, status + 60))) return true;
  // Next.js names the page at the end of its data.
  const tail = Math.max(0, html.length - 2000);
  if (html.indexOf('"page":"/404"', tail) >= 0 || html.indexOf('"page":"/_error"', tail) >= 0) return true;
  const end = html.indexOf('>', body);
  return end - body > 10 && end - body < 2000 && NOT_FOUND_CLASS.test(html.slice(body, end));
}

/** Index of the body tag; 0 without one. */
function bodyAt(html: string): number {
  const at = html.indexOf('<body');
  return Math.max(0, at >= 0 ? at : html.indexOf('<BODY'));
}

/** A whole word in the body's classes, or its id. */
const NOT_FOUND_CLASS =
  /[\s"'](?:error-?404|template-404|page-404|error-404-page|path-system-404|cms-no-?route(?:-index)?|page-?not-?found|not-?found(?:-page)?|no-results|search-no-results|noarticle)(?=["'\s]|$)/i;

const label = (text: string) => plain(text.slice(0, MAX_LABEL));

/** Decodes the entities of a text and leaves single spaces in it. */
function plain(text: string): string {
  return squeeze(text.includes('&') ? decodeHTML(text) : text).trim();
}

/** Replaces each run of white space by one space. Most spaces stand alone already and cost nothing. */
const squeeze = (text: string) => text.replace(/\s\s+|[^\S ]/g, ' ');

/** Whether the page's prose has fewer than `enough` characters, not counting spaces. */
export function isShort(html: string, enough: number): boolean {
  let length = 0;
  forEachText(
    html,
    (start, end) => {
      for (let i = start; i < end && length < enough; i++) if (html.charCodeAt(i) > 32) length++;
      return length < enough;
    },
    NOT_PROSE,
  );
  return length < enough;
}

/**
 * The page's prose: its text outside links, menus, forms and footer, at most `enough` characters, with single spaces. ` | `
 * separates the texts of blocks.
 */
export function prose(html: string, enough: number): string {
  let text = '';
  let last = -1;
  forEachText(
    html,
    (start, end) => {
      const words = plain(html.slice(start, Math.min(end, start + 4 * enough)));
      if (words === '') return true;
      if (last >= 0) text += BLOCK.test(html.slice(last, Math.min(start, last + MAX_LABEL))) ? ' | ' : ' ';
      last = end;
      text += words;
      return text.length < enough;
    },
    NOT_PROSE,
  );
  return text.slice(0, enough);
}

const BLOCK = /<\/?(?:p|div|h[1-6]|li|ul|ol|br|td|tr|section|article|main|header|dt|dd|pre|hr)[\s>/]/i;

/** The visible text, its pieces separated by spaces. */
function visibleText(html: string): string {
  let text = '';
  forEachText(html, (start, end) => {
    text += html.slice(start, end) + ' ';
    return true;
  });
  return text;
}

/**
 * Calls `take` with each stretch of text outside tags, comments and hidden elements while it returns true. The work is
 * linear in the page's length, also for a hostile page with unclosed elements.
 */
function forEachText(html: string, take: (start: number, end: number) => boolean, skipped = HIDDEN): void {
  let at = bodyAt(html);
  while (at < html.length) {
    const tag = html.indexOf('<', at);
    const end = tag < 0 ? html.length : tag;
    if (end > at && !take(at, end)) return;
    at = tag < 0 ? html.length : skipTag(html, tag, skipped);
  }
}

/** Sticky expressions, tested at the start of a tag. */
const HIDDEN = /<(?:script|style|noscript|template|svg|head|title)(?=[\s>])/iy;
const NOT_PROSE = /<(?:script|style|noscript|template|svg|head|title|a|nav|footer|button|select)(?=[\s>])/iy;
/** The first letters of these names, in lower case: other tags need no expression. */
const SKIPPED_LETTERS: ReadonlySet<number> = new Set(Array.from('abfhnst', (letter) => letter.charCodeAt(0)));
const LOWER_CASE = 0x20;
const CLOSING: { readonly [name: string]: RegExp } = {
  script: /<\/script/gi,
  style: /<\/style/gi,
  noscript: /<\/noscript/gi,
  template: /<\/template/gi,
  svg: /<\/svg/gi,
  head: /<\/head/gi,
  title: /<\/title/gi,
  a: /<\/a[\s>]/gi,
  nav: /<\/nav/gi,
  footer: /<\/footer/gi,
  button: /<\/button/gi,
  select: /<\/select/gi,
};

/** The index after the tag, comment or skipped element that starts at `at`; the end of the page when it is unclosed. */
function skipTag(html: string, at: number, skipped: RegExp): number {
  if (html.startsWith('<!--', at)) return after(html, '-->', at + 4);
  skipped.lastIndex = at;
  if (!SKIPPED_LETTERS.has(html.charCodeAt(at + 1) | LOWER_CASE) || !skipped.test(html)) return after(html, '>', at);
  const closing = CLOSING[html.slice(at + 1, skipped.lastIndex).toLowerCase()]!;
  closing.lastIndex = at;
  const found = closing.exec(html);
  return found === null ? html.length : after(html, '>', found.index);
}

function after(html: string, mark: string, from: number): number {
  const at = html.indexOf(mark, from);
  return at < 0 ? html.length : at + mark.length;
}

/** A bottom-k sketch of a page: the smallest hashes of its word pairs, in order. */
export type Sketch = Uint32Array;
const SKETCH_SIZE = 128;
const MAX_WORDS = 4000;

/** Sketches the visible text. Digits and the words of `ignored` (the URL's, which error pages repeat) do not count. */
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
