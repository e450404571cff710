// Opens an HTML page, or bookmarks as browsers export them, as its links and the URLs in its text.
import { Tokenizer, type TokenizerCallbacks } from 'htmlparser2';
import { breather } from '../time/event-loop.ts';
import { beginsLikeUrl, urlsInCell } from './cell-urls.ts';
import { type Cell, listSheet, type OpenedText, type Sheet } from './sheet.ts';
import { readText } from './text-source.ts';

const PIECE_CHARS = 8 * 1024;
/** What the tokenizer names may begin in the piece before, and a name even before that. */
const KEPT_CHARS = PIECE_CHARS + 64;
const MAX_TEXT_CHARS = 32 * 1024;
/** Elements whose text is no text of the page. */
const NO_TEXT = new Set(['script', 'style', 'template', 'noscript', 'title']);
const LINKS = new Set(['a', 'area']);
/** Elements inside of words: where a line may break, and what search results and editors mark. */
const IN_WORDS = new Set(['wbr', 'b', 'strong', 'i', 'em', 'mark', 'u', 'font']);
const HREFS = new Set(['href', 'xlink:href']);

export function openHtml(file: OpenedText): Sheet {
  return listSheet(file, { format: 'html', warnings: [], cells: () => htmlCells(file) });
}

async function* htmlCells({ source, encoding, limits }: OpenedText): AsyncGenerator<Cell[]> {
  yield* linksOfHtml(readText(source, encoding), limits.max_url_chars);
}

/** The links of a page and the URLs in its text, some at a time. Yields to the event loop. */
export async function* linksOfHtml(
  pieces: AsyncIterable<string> | Iterable<string>,
  max_url_chars: number,
): AsyncGenerator<Cell[]> {
  const links = new LinkFinder(max_url_chars);
  const breathe = breather();
  for await (const text of pieces) {
    for (let at = 0; at < text.length; at += PIECE_CHARS) {
      links.write(text.slice(at, at + PIECE_CHARS));
      const page = links.take();
      if (page.length > 0) yield page;
      await breathe();
    }
  }
  links.end();
  const page = links.take();
  if (page.length > 0) yield page;
}

/** Finds links as pieces of a page come. It keeps one value and one text of bounded length, and no tree. */
class LinkFinder implements TokenizerCallbacks {
  readonly #tokenizer = new Tokenizer({ decodeEntities: true }, this);
  readonly #max_url_chars: number;
  #found: Cell[] = [];
  /** The last characters that the tokenizer has seen, and the place of the first of them in the page. */
  #window = '';
  #window_start = 0;
  #line = 1;
  #counted_to = 0;
  #element = '';
  #attribute = '';
  #value = '';
  #href: string | null = null;
  #base: string | null = null;
  #text = '';
  /** The element that hides its text, or is a link whose text names it; empty for none. */
  #quiet = '';

  constructor(max_url_chars: number) {
    this.#max_url_chars = max_url_chars;
  }

  write(text: string): void {
    this.#window = this.#window.slice(-KEPT_CHARS) + text;
    const seen = this.#window_start + this.#length;
    this.#window_start = seen + text.length - this.#window.length;
    this.#length = this.#window.length;
    this.#tokenizer.write(text);
    this.#countLines(this.#window_start + this.#length);
  }
  #length = 0;

  end(): void {
    this.#tokenizer.end();
    this.#endText();
  }

  take(): Cell[] {
    const found = this.#found;
    this.#found = [];
    return found;
  }

  onopentagname(start: number, end: number): void {
    this.#element = this.#slice(start, end).toLowerCase();
    if (!IN_WORDS.has(this.#element)) this.#endText();
    this.#countLines(start);
    this.#href = null;
  }
  onattribname(start: number, end: number): void {
    this.#attribute = this.#slice(start, end).toLowerCase();
    this.#value = '';
  }
  onattribdata(start: number, end: number): void {
    if (HREFS.has(this.#attribute) && this.#value.length <= this.#max_url_chars) this.#value += this.#slice(start, end);
  }
  onattribentity(codepoint: number): void {
    if (HREFS.has(this.#attribute) && this.#value.length <= this.#max_url_chars) {
      this.#value += String.fromCodePoint(codepoint);
    }
  }
  onattribend(): void {
    if (HREFS.has(this.#attribute)) this.#href ??= this.#value.trim();
  }
  onopentagend(): void {
    const [element, href] = [this.#element, this.#href];
    if (element === 'base' && href !== null) this.#base ??= URL.parse(href)?.href ?? null;
    if (LINKS.has(element) && href !== null) this.#link(href);
    if (this.#quiet === '' && (NO_TEXT.has(element) || (element === 'a' && href !== null))) this.#quiet = element;
  }
  onselfclosingtag(): void {
    this.onopentagend();
    if (this.#quiet === this.#element) this.#quiet = '';
  }
  onclosetag(start: number, end: number): void {
    const name = this.#slice(start, end).toLowerCase();
    if (!IN_WORDS.has(name)) this.#endText();
    if (name === this.#quiet) this.#quiet = '';
  }
  ontext(start: number, end: number): void {
    if (this.#quiet === '') this.#addText(this.#slice(start, end));
  }
  ontextentity(codepoint: number): void {
    if (this.#quiet === '') this.#addText(String.fromCodePoint(codepoint));
  }
  oncdata(): void {}
  oncomment(): void {}
  ondeclaration(): void {}
  onprocessinginstruction(): void {}
  onend(): void {}

  /** A link to a part of the page itself is no URL. A relative one needs a page that the file does not name. */
  #link(attribute: string): void {
    // The URL parser drops these, as browsers do.
    const href = attribute.replace(/[\t\n\r]/g, '');
    if (href === '' || href.startsWith('#')) return;
    const has_host = /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(href);
    const value = has_host ? href : this.#base && (URL.parse(href, this.#base)?.href ?? href);
    if (value === null) this.#found.push({ row: this.#line, value: href, refused: 'relative' });
    else this.#found.push({ row: this.#line, value });
  }

  #addText(text: string): void {
    this.#text += text;
    if (this.#text.length <= MAX_TEXT_CHARS) return;
    // A URL at the end may go on.
    const end = Math.max(this.#text.lastIndexOf(' '), this.#text.lastIndexOf('\n')) + 1;
    const rest = end > MAX_TEXT_CHARS / 2 ? this.#text.slice(end) : '';
    this.#text = this.#text.slice(0, this.#text.length - rest.length);
    this.#endText();
    this.#text = rest;
  }
  #endText(): void {
    if (this.#text.includes('://') || this.#text.includes('www.')) {
      const { texts } = urlsInCell(this.#text);
      for (const value of texts) if (beginsLikeUrl(value)) this.#found.push({ row: this.#line, value });
    }
    this.#text = '';
  }

  #slice(start: number, end: number): string {
    const from = start - this.#window_start;
    return from < 0 ? '' : this.#window.slice(from, end - this.#window_start);
  }
  #countLines(to: number): void {
    for (let at = this.#counted_to; at < to; at++) {
      if (this.#window.charCodeAt(at - this.#window_start) === 10) this.#line++;
    }
    this.#counted_to = Math.max(this.#counted_to, to);
  }
}
