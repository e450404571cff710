// Where a URL begins and ends in text: one set of rules for prose, cells, pages and JSON, whatever syntax is written around the URL.
// `test/intake/url-spans.test.ts` has a table of cases by syntax.

export interface Span {
  start: number;
  end: number;
}

const SCHEME_OR_WWW = /https?:\/\/|www\.(?=[\p{L}\p{N}])/giu;
/** What each text with a URL has. */
const HINT = /:\/\/|www\./i;
/** Characters of a URL that never end it. */
const INNER = /[\w./:?#@!&+=%-]*/y;
const NEXT_URL = /https?:\/\/|www\./iy;
/** Characters behind which a URL begins, whatever stands before them. */
const OPENERS = new Set(' \t\n\r,;|<>([{"\'`*~^');
/** ASCII characters behind which a URL begins, unless they belong to a URL without a scheme, such as `a.com/?next=https://b.com`. */
const JOINTS = new Set('=:)]}!?-.');
/** A joint belongs to the word before it; a longer word is no label. */
const LABEL_CHARS = 64;
/** What tells a URL without a scheme from a label such as `Twitter:` or `[url=`. */
const URL_SYNTAX = /[/?#&%@]/;
/** No URL has these. Control characters and white space end it too. */
const STOPS = new Set('<>"\u201c\u201d\u201e\u00ab\u00bb\u2039\u203a');
const QUOTES: Readonly<Record<string, string>> = {
  ...{ "'": "'", '`': '`', '*': '*', '~': '~', '\u2018': '\u2019', '\u201a': '\u2018' },
};
/** What stands twice before a URL and behind it: AsciiDoc's `++`, the marks of Obsidian, the bars of Discord. */
const PAIRS = new Set(['++', '==', '||']);
const CLOSERS = ')]}\uff09\u300d\u300f\u3011\u300b\u3009\uff3d\uff5d\u3015';
const CLOSED: Readonly<Record<string, string>> = Object.fromEntries(
  [...'([{\uff08\u300c\u300e\u3010\u300a\u3008\uff3b\uff5b\u3014'].map((open, i) => [open, CLOSERS[i]!]),
);
/** Separators, when the next URL follows at once. */
const SEPARATORS = new Set(',;|\u00b7\u30fb');
/**
 * Punctuation and symbols beyond ASCII, such as `，`, `。`, `→` and emoji, a final ellipsis, and what ends sentences in Arabic, Hindi, Armenian,
 * Amharic, Burmese and Khmer; a dash may be part of a name.
 */
const FOREIGN_END =
  /[\uff0c\uff1b\u3001\u3002\uff01\uff1f\uff1a\ufe50-\ufe57\uff5c\u2026\u2022\u060c\u061b\u061f\u06d4\u0964\u0965\u0589\u1362\u104b\u17d4\p{So}\p{Sm}]/u;
/** The punctuation of all scripts ends a sentence where nothing follows it. */
const FOREIGN_PUNCTUATION = /[\p{Po}\p{Pd}]/u;
/** Scripts that are written without spaces. */
const UNSPACED = /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Thai}]/u;
/** What goes on behind a URL of ASCII in a sentence without a space: particles of Japanese and Korean, Thai words, a dash. */
const SUFFIX =
  /[\u3041-\u3096\u0e00-\u0e7f\u2014]|(?:\uc5d0\uc11c|\uc5d0\uac8c|\uc73c\ub85c|\uae4c\uc9c0|\ubd80\ud130|\uc785\ub2c8\ub2e4|\ub77c\uace0|\uc774\uba70|[\uc5d0\ub97c\uc744\ub294\uc740\uc774\uac00\ub85c\uc640\uacfc\uc758\ub3c4\ub9cc])(?!\p{L})/uy;
/** The closing tag of BBCode. */
const BBCODE_END = /\[\/[a-z]+\]/iy;
/** AsciiDoc's `https://a.com[label]`, which ends its word. Digits and an empty pair are part of a URL, as in `ids[]=1`. */
const ASCIIDOC_LABEL = /\[(?:[\p{L}^][^\]\n]{0,200})\](?=$|[\s.,;:!?)])/uy;
/** A note's number, as in `https://a.com[1]`. */
const NOTE = /\[\^?\d{1,3}\](?=$|[\s.,;:!?)[])/y;
/** A placeholder such as `<id>` for a part of a path or a value, but no tag of HTML. */
const PLACEHOLDER =
  /(?<=[/=])<(?!(?:a|b|i|p|s|u|br|hr|li|ul|ol|dl|dt|dd|td|tr|th|em|h[1-6]|wbr|img|pre|sup|sub|del|ins|div|span|code|font|small|strong|table)>)[a-z][\w-]{0,40}>/iy;
/** A value in quotes, in a URL that is a whole cell: `?q="a"`. */
const QUOTED_VALUE = /(?<==)"[^"<>\s]{1,200}"(?=$|[&#])/y;
/** A placeholder of a template may hold spaces. */
const TEMPLATE = /(?:\{\{[^{}\n]{0,80}\}\}|\{%[^{}\n]{0,80}%\}|\$\{[^{}\n]{0,80}\}|<[%?][^<>\n]{0,80}[%?]>)/y;
const ENDS_SENTENCE = ".,;:!?|'`\\";
/** `->` and `=>`, whose last character ends the URL. */
const ARROW = /[-=]{1,3}$/;
const ENDS_ITEM = ',;|\\';

/**
 * The URLs with `http://`, `https://` or `www.` in a text, in order, but not those inside of other URLs. A text that is one word is a URL as
 * it stands, but not `in_prose`.
 */
export function spansOf(text: string, in_prose = false): Span[] {
  const spans: Span[] = [];
  if (!HINT.test(text)) return spans;
  const context = new Context(text, !in_prose && !/\s/.test(text));
  SCHEME_OR_WWW.lastIndex = 0;
  for (let found = SCHEME_OR_WWW.exec(text); found; found = SCHEME_OR_WWW.exec(text)) {
    const start = found.index;
    if (!beginsAt(text, start)) continue;
    context.readTo(start);
    const end = endOf(text, start, start + found[0].length, context);
    // A www. without a name behind it, or https:// alone.
    if (end > start + found[0].length) spans.push({ start, end });
    SCHEME_OR_WWW.lastIndex = context.at = Math.max(end, start + found[0].length);
  }
  return spans;
}

/** What is open in the text before a URL. Each character outside of URLs is read once. */
class Context {
  /** The place up to which the text has been read. */
  at = 0;
  /** Whether the whole text is one word, and no prose. */
  readonly is_word: boolean;
  /** The closing brackets that are still to come. */
  readonly #open = new Map<string, number>();
  #bar_at = -1;
  /** Each mark that began a stress in this line, which another one ends. */
  stress = '';
  readonly #text: string;

  constructor(text: string, is_word: boolean) {
    this.#text = text;
    this.is_word = is_word;
  }

  readTo(start: number): void {
    for (; this.at < start; this.at++) {
      const char = this.#text[this.at]!;
      const closer = CLOSED[char];
      if (closer !== undefined) this.#open.set(closer, (this.#open.get(closer) ?? 0) + 1);
      else if (this.closes(char)) this.#open.set(char, this.#open.get(char)! - 1);
      else if (char === '|') this.#bar_at = this.at;
      else if (char === '\n') [this.#bar_at, this.stress] = [-1, ''];
      else if (!this.stress.includes(char) && this.#beginsStress(char)) this.stress += char;
    }
  }
  closes(char: string): boolean {
    return (this.#open.get(char) ?? 0) > 0;
  }
  /** Whether bars separate the cells or the parameters of this line. */
  get has_bar(): boolean {
    return this.#bar_at !== -1;
  }
  /** Whether a mark stands before a word: no asterisk of a list, and no underscore inside of a word. */
  #beginsStress(mark: string): boolean {
    const [before = ' ', after = ' '] = [this.#text[this.at - 1], this.#text[this.at + 1]];
    return mark === '*' ? after.trim() !== '' : mark === '_' && !/[\p{L}\p{N}_]/u.test(before);
  }
}

function beginsAt(text: string, start: number): boolean {
  if (start === 0) return true;
  const before = text[start - 1]!;
  if (opensWord(before) || isBehindSigns(text, start) || pairBefore(text, start) !== null) return true;
  if (!JOINTS.has(before) || (before === '.' && /^w/i.test(text[start]!))) return false;
  let at = start - 1;
  const first = Math.max(0, start - LABEL_CHARS);
  while (at > first && !OPENERS.has(text[at - 1]!)) at--;
  const label = text.slice(at, start);
  return at > first || first === 0 ? !URL_SYNTAX.test(label) : false;
}

/** The pair before a URL; behind a word, `==` and `++` are operators. */
function pairBefore(text: string, start: number): string | null {
  const pair = text.slice(Math.max(0, start - 2), start);
  return PAIRS.has(pair) && !/\w/.test(text[start - 3] ?? ' ') ? pair : null;
}

const opensWord = (char: string): boolean => OPENERS.has(char) || char > '\u007f';
const MAX_SIGNS = 8;
/** Whether nothing but signs stands before it in its word, such as `//` before a comment or `+` before the address of a robot. */
function isBehindSigns(text: string, start: number): boolean {
  let at = start - 1;
  const first = Math.max(0, start - MAX_SIGNS);
  while (at >= first && !opensWord(text[at]!) && !/[a-z\d]/i.test(text[at]!)) at--;
  return at < 0 || opensWord(text[at]!);
}

/** `from`: the place behind the scheme. */
function endOf(text: string, start: number, from: number, context: Context): number {
  const before = text[start - 1] ?? '';
  const quote = QUOTES[before];
  const pair = pairBefore(text, start);
  const paired = pair === null ? -1 : text.indexOf(pair, from);
  const last = paired === -1 ? text.length : paired;
  const is_word = start === 0 && context.is_word;
  const follows_unspaced = start > 0 && UNSPACED.test(before);
  const opened = new Map<string, number>();
  let at = from;
  for (; ; at++) {
    INNER.lastIndex = at;
    INNER.test(text);
    at = Math.min(INNER.lastIndex, last);
    if (at === last) break;
    const char = text[at]!;
    if (char <= ' ' || (char >= '\u007f' && char <= '\u009f') || STOPS.has(char)) {
      if (char === '<' && matchAt(PLACEHOLDER, text, at)) at = PLACEHOLDER.lastIndex - 1;
      else if (char === '<' && matchAt(TEMPLATE, text, at)) at = TEMPLATE.lastIndex - 1;
      else if (is_word && matchAt(QUOTED_VALUE, text, at)) at = QUOTED_VALUE.lastIndex - 1;
      else break;
      continue;
    }
    if ((char === '{' || char === '$') && matchAt(TEMPLATE, text, at)) {
      at = TEMPLATE.lastIndex - 1;
      continue;
    }
    if (char === quote) break;
    if (char === '|' && (before === '<' || context.has_bar || context.closes('}') || context.closes(']'))) break;
    if (SEPARATORS.has(char) && matchAt(NEXT_URL, text, at + 1)) break;
    if (char === '[' && at > from && endsAtBracket(text, start, at, is_word)) break;
    const closer = CLOSED[char];
    if (closer !== undefined) opened.set(closer, (opened.get(closer) ?? 0) + 1);
    else if (CLOSERS.includes(char)) {
      const depth = opened.get(char) ?? 0;
      if (depth > 0) opened.set(char, depth - 1);
      else if (context.closes(char) || (char > '\u007f' && !is_word)) break;
    } else if (char > '\u007f') {
      const is_ascii_before = text[at - 1]! <= '\u007f';
      if (/\s/.test(char)) break;
      if (isForeignEnd(text, at) && (!is_word || /[\w).~%]/.test(text[at - 1]!))) break;
      const ends = is_ascii_before && /[\w)]/.test(text[at - 1]!);
      if (ends && follows_unspaced && UNSPACED.test(char)) break;
      if (ends && !is_word && matchAt(SUFFIX, text, at)) break;
    }
  }
  const is_item = is_word && at === text.length;
  const sentence = ENDS_SENTENCE + context.stress;
  const is_bracket = before === '=' || /<(?:URL:)?$/i.test(text.slice(Math.max(0, start - 5), start));
  const is_arrow = text[at] === '>' && !is_bracket;
  const span = is_arrow ? text.slice(start, at).replace(ARROW, '') : text.slice(start, at);
  return start + withoutEnd(span, is_item ? ENDS_ITEM : sentence, !is_item).length;
}

/** Full-width punctuation, or a symbol; a pair of surrogates is one character. */
function isForeignEnd(text: string, at: number): boolean {
  return FOREIGN_END.test(String.fromCodePoint(text.codePointAt(at)!));
}

function endsAtBracket(text: string, start: number, at: number, is_word: boolean): boolean {
  if (matchAt(BBCODE_END, text, at)) return true;
  if (is_word && text[at - 1] === '/') return false;
  const may_be_part = text.slice(start, at).includes('?') && !text.startsWith('link:', start - 'link:'.length);
  return !may_be_part && (matchAt(ASCIIDOC_LABEL, text, at) || (!is_word && matchAt(NOTE, text, at)));
}

function matchAt(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at;
  return pattern.test(text);
}

/** Cuts off punctuation that ends a sentence or a list's item, and brackets that were opened before the URL. */
function withoutEnd(span: string, punctuation: string, is_sentence: boolean): string {
  // reStructuredText announces a block so.
  let end = span.length - (span.endsWith('::') ? 2 : 0);
  const balances = new Map<string, number>();
  const balanceOf = (close: string, open: string) => {
    let balance = balances.get(close);
    if (balance === undefined) {
      balance = 0;
      for (let i = 0; i < end; i++) balance += span[i] === close ? 1 : span[i] === open ? -1 : 0;
      balances.set(close, balance);
    }
    return balance;
  };
  for (; end > 0; end--) {
    const last = span[end - 1]!;
    if (punctuation.includes(last) || (is_sentence && last > '\u007f' && FOREIGN_PUNCTUATION.test(last))) continue;
    const open = last === ')' ? '(' : last === ']' ? '[' : last === '}' ? '{' : null;
    if (open === null || balanceOf(last, open) <= 0) break;
    balances.set(last, balances.get(last)! - 1);
  }
  return span.slice(0, end);
}
