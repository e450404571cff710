// Takes the URLs out of a cell or a line: several of them, the link of a formula, Markdown, JSON arrays, bullets, zero-width
// characters. What is no URL, such as a note beside it, is left out.

export interface CellUrls {
  /** The texts to classify, in order: URLs and words that are written like one. The whole cell when it holds neither; none for a blank one. */
  texts: readonly string[];
  /** Whether other words stand beside the URLs, as in a note or a title. */
  is_prose: boolean;
  /** Whether the words behind the only URL may be its end, with spaces in it, as well as a note: `https://a.com/my report`. */
  is_unclear?: true;
}

/** A URL of ASCII characters, none of which separates URLs, or a word like one. Most cells are this and need no more work. */
const PLAIN = /^(?![\w-]*=)[\w.~:/?#@!$&+=%-]+$/;
/** Characters that nobody sees, which pages, PDF files and chats put into texts: they are no part of a URL. */
const INVISIBLE = /[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g;
/** Joiners shape Persian words and emoji, but mean nothing at an end. */
const JOINERS = new Set('\u200c\u200d');
/** A spreadsheet's formula; HYPERLINK has another name in each language. */
const FORMULA = /^=\s*[\p{L}_.]{1,40}\(/u;
/** Its first argument, where that is a whole text. */
const TEXT_ARGUMENT = /^[^"(]{0,60}\(\s*"((?:[^"]|"")*)"\s*[,;)]/;
const BULLET = /^\s*(?:(?:[-*+•·–—‣▪◦>]|\(?\d{1,9}[.):]|\[\d{1,9}\]|\[[ xX]\])\s+)+/;
const SCHEME_OR_WWW = /https?:\/\/|www\.(?=[\p{L}\p{N}])/giu;
/** Where a URL ends: at a character that no URL has, or at a separator with the next URL right behind it. */
const END = /[\s<>"\u201c\u201d\u00ab\u00bb]|[,;|\uff0c\uff1b\u3001](?=https?:\/\/|www\.)/gi;
const OPENERS = new Set(
  ' \t\n\r,;|<>([{"\'`*~\u201c\u201d\u201e\u00ab\u00bb\u2018\u2019\uff0c\uff1b\u3001\u3002\uff1a\u00a0\u3000',
);
/** A name before a URL, such as `URL=` in a shortcut file or `link:` in YAML. */
const NAME_BEFORE = /(?:^|[\s,;|([{])["']?[\p{L}\p{N}_-]{1,30}["']?[=:]$/u;
const NAME_CHARS = 36;
const CLOSED_BY: Readonly<Record<string, string>> = { "'": "'", '`': '`', '*': '*', '~': '~', '\u2018': '\u2019' };
const BRACKETS: readonly (readonly [close: string, open: string])[] = [
  [')', '('],
  [']', '['],
  ['}', '{'],
];
const SEPARATORS = /[\s,;|\uff0c\uff1b\u3001]+/;
const WRAPPING = new Set('<>()[]{}"\'`*\u201c\u201d\u2018\u2019');
const LETTER = /\p{L}/u;
/** A word that is written like a domain, whatever its ending is. */
const DOMAIN_LIKE = /^[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)+(?:[:/?#]\S*)?$/u;
/** It would be a domain if its ending could be one. */
const FILE_NAME =
  /^[^/]*\.(?:html?|php|aspx?|jsp|pdf|jpe?g|png|gif|svg|webp|docx?|xlsx?|csv|txt|xml|json|js|css|mp[34])$/i;
const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}(?:[:/]\S*)?$/;
/** Words behind a URL with nothing that sets them off, such as a dash or a bracket. */
const MERE_WORDS = /^(?: [\p{L}\p{N}_~-]{1,60}){1,12}$/u;
/** How a URL with a space in it goes on behind the space: `My File.pdf`, `a b/c`, `?q=a b&c`. */
const GOES_ON = /[/=&%]|\.[a-z0-9]{2,5}$/i;

/** Whether the cell is one text to classify as it stands. */
export const isPlain = (cell: string): boolean => PLAIN.test(cell);

/** @example urlsInCell('see https://a.example/').texts // ['https://a.example/'] */
export function urlsInCell(cell: string): CellUrls {
  if (PLAIN.test(cell)) return { texts: [cell], is_prose: false };
  const text = visible(cell);
  if (FORMULA.test(text)) return one(TEXT_ARGUMENT.exec(text)?.[1]?.replaceAll('""', '"') ?? text);
  const strings = stringsOfJson(text);
  if (strings !== null) return { texts: strings, is_prose: false };
  const bare = withoutMarkdown(text.split('\n').map(withoutBullet).join('\n'));
  const spans = spansOf(bare);
  if (spans.length === 1 && spans[0]!.start === 0) return single(bare, spans[0]!);
  return spans.length === 0 ? withoutScheme(bare) : several(bare, spans);
}

/** Whether a text of a cell is meant as a URL, whatever comes of it. */
export const beginsLikeUrl = (text: string): boolean => /^(?:https?:\/\/|www\.)/i.test(text);

/** The text without characters that nobody sees, trimmed. */
function visible(text: string): string {
  return within(text.replace(INVISIBLE, '').trim(), JOINERS).trim();
}

/** The text without the characters of a set at its ends. */
function within(text: string, ends: ReadonlySet<string>): string {
  let start = 0;
  let end = text.length;
  while (start < end && ends.has(text[start]!)) start++;
  while (end > start && ends.has(text[end - 1]!)) end--;
  return text.slice(start, end);
}

const one = (text: string): CellUrls => {
  const trimmed = text.trim();
  return { texts: trimmed === '' ? [] : [trimmed], is_prose: false };
};

interface Span {
  start: number;
  end: number;
}

/** The URLs with `http://`, `https://` or `www.`, but not those inside of other URLs. */
function spansOf(text: string): Span[] {
  const spans: Span[] = [];
  SCHEME_OR_WWW.lastIndex = 0;
  for (let found = SCHEME_OR_WWW.exec(text); found; found = SCHEME_OR_WWW.exec(text)) {
    const start = found.index;
    if (!beginsAt(text, start)) continue;
    const end = endOf(text, start);
    // A www. without a name behind it, or https:// alone.
    if (end > start + found[0].length) spans.push({ start, end });
    SCHEME_OR_WWW.lastIndex = Math.max(end, start + found[0].length);
  }
  return spans;
}

function beginsAt(text: string, start: number): boolean {
  if (start === 0 || OPENERS.has(text[start - 1]!)) return true;
  const last = text[start - 1];
  return (last === '=' || last === ':') && NAME_BEFORE.test(text.slice(Math.max(0, start - NAME_CHARS), start));
}

function endOf(text: string, start: number): number {
  END.lastIndex = start;
  let span = text.slice(start, END.exec(text)?.index);
  const closer = CLOSED_BY[text[start - 1] ?? ''];
  const closed = closer === undefined ? -1 : span.indexOf(closer);
  if (closed > 0) span = span.slice(0, closed);
  const is_whole = start === 0 && span.length === text.length;
  return start + withoutEnd(span, is_whole).length;
}

/** Cuts off punctuation that ends a sentence or a list's item, and brackets that were opened before the URL. */
function withoutEnd(span: string, is_whole: boolean): string {
  const punctuation = is_whole ? ',;|' : ".,;:!?|\uff0c\uff1b\u3001\u3002'*`";
  let end = span.length;
  const balances = BRACKETS.map(([close, open]) => balanceOf(span, close, open));
  for (; end > 0; end--) {
    const last = span[end - 1]!;
    if (punctuation.includes(last)) continue;
    const bracket = BRACKETS.findIndex(([close]) => close === last);
    if (bracket === -1 || balances[bracket]! <= 0) break;
    balances[bracket]!--;
  }
  return span.slice(0, end);
}

/** How many more closing brackets than opening ones there are. */
function balanceOf(text: string, close: string, open: string): number {
  let balance = 0;
  for (let at = text.indexOf(close); at !== -1; at = text.indexOf(close, at + 1)) balance++;
  for (let at = text.indexOf(open); at !== -1; at = text.indexOf(open, at + 1)) balance--;
  return balance;
}

/** A cell that begins with its only URL, which may have spaces in its path. */
function single(text: string, { end }: Span): CellUrls {
  const url = text.slice(0, end);
  const rest = text.slice(end);
  if (!LETTER.test(rest)) return one(url);
  if (isRestOfUrl(url, rest)) return { texts: [text], is_prose: true };
  const found = several(text, [{ start: 0, end }]);
  return isUnclear(url, rest) ? { ...found, is_unclear: true } : found;
}

/** A path that ends in a slash or in a file's name has ended, and so has a URL without a path. */
function isUnclear(url: string, rest: string): boolean {
  const path = url.indexOf('/', url.indexOf('//') + 2);
  const may_go_on = path !== -1 && !url.endsWith('/') && !FILE_NAME.test(url.slice(path + 1));
  return may_go_on && MERE_WORDS.test(rest);
}

function isRestOfUrl(url: string, rest: string): boolean {
  if (!/^ \S/.test(rest) || /[\n\t<>"]/.test(rest)) return false;
  const path = url.indexOf('/', url.indexOf('//') + 2);
  return path !== -1 && path < url.length - 1 && GOES_ON.test(rest);
}

/** URLs among other words. A word beside them counts when it can only be a URL that is misspelt or lacks its prefix. */
function several(text: string, spans: readonly Span[]): CellUrls {
  const between: { at: number; words: string[] }[] = [];
  let at = 0;
  for (const { start, end } of [...spans, { start: text.length, end: text.length }]) {
    between.push({ at, words: wordsOf(text.slice(at, start)) });
    at = end;
  }
  const words = between.flatMap((one) => one.words);
  const are_urls = words.every(isUrlLike);
  const texts: string[] = [];
  for (const [i, one] of between.entries()) {
    texts.push(...one.words.filter((word) => are_urls || word.includes('://')));
    const span = spans[i];
    if (span) texts.push(text.slice(span.start, span.end));
  }
  return { texts, is_prose: !are_urls };
}

/** Words without brackets and quotes round them; numbers and names such as `link:` are none. */
function wordsOf(text: string): string[] {
  return text
    .split(SEPARATORS)
    .map((word) => within(word, WRAPPING))
    .filter((word) => (LETTER.test(word) && !NAME_BEFORE.test(word.slice(-NAME_CHARS))) || IPV4.test(word));
}

const isUrlLike = (word: string): boolean => word.includes('://') || (DOMAIN_LIKE.test(word) && !FILE_NAME.test(word));

/** A cell without `https://`: domains, one or several, or no URL at all. */
function withoutScheme(text: string): CellUrls {
  const words = wordsOf(text);
  if (words.length > 0 && words.every((word) => isUrlLike(word))) {
    return { texts: words, is_prose: false };
  }
  return one(text);
}

function withoutBullet(line: string): string {
  const bullet = BULLET.exec(line);
  return bullet ? line.slice(bullet[0].length) : line;
}

/** The strings of a JSON array; null for any other text. */
function stringsOfJson(text: string): string[] | null {
  if (!text.startsWith('[') || !text.endsWith(']')) return null;
  try {
    const value: unknown = JSON.parse(text);
    const is_list = Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string');
    return is_list ? (value as string[]).map(visible).filter((one) => one !== '') : null;
  } catch {
    return null;
  }
}

/** Limits of Markdown's parts, which keep the search for brackets short. */
const MAX_LABEL_CHARS = 1_000;
const MAX_TARGET_CHARS = 4_096;
const MAX_UNCLOSED = 1_000;

/** Puts `<url>` in place of Markdown's `[label](url "title")`, whose label is no URL to check. */
function withoutMarkdown(text: string): string {
  const done: string[] = [];
  /** The text before `from`, as far as a label may reach back. */
  let recent = '';
  let from = 0;
  let unclosed = 0;
  for (let at = text.indexOf(']('); at !== -1; at = text.indexOf('](', Math.max(from, at + 2))) {
    const end = endOfTarget(text, at + 2);
    if (end === -1 && ++unclosed === MAX_UNCLOSED) break;
    if (end === -1) continue;
    recent += text.slice(from, at);
    const label = startOfLabel(recent);
    // A picture in the label has a URL of its own.
    const pictures =
      recent
        .slice(label)
        .match(/<[^<>]*>/g)
        ?.join(' ') ?? '';
    recent = `${recent.slice(0, label)}${pictures} <${targetOf(text.slice(at + 2, end))}> `;
    from = end + 1;
    if (recent.length <= 2 * MAX_LABEL_CHARS) continue;
    done.push(recent.slice(0, -MAX_LABEL_CHARS));
    recent = recent.slice(-MAX_LABEL_CHARS);
  }
  return from === 0 ? text : `${done.join('')}${recent}${text.slice(from)}`;
}

/** Where the label that ends here began: its `[`, or the `!` of a picture. */
function startOfLabel(text: string): number {
  let depth = 1;
  const first = Math.max(0, text.length - MAX_LABEL_CHARS);
  for (let at = text.length - 1; at >= first; at--) {
    if (text[at] === ']') depth++;
    else if (text[at] === '[' && --depth === 0) return text[at - 1] === '!' ? at - 1 : at;
  }
  return text.length;
}

/** The place of the `)` that closes the target; -1 without one on the line. */
function endOfTarget(text: string, start: number): number {
  let depth = 1;
  const last = Math.min(text.length, start + MAX_TARGET_CHARS);
  for (let at = start; at < last; at++) {
    const c = text[at];
    if (c === '\n') return -1;
    if (c === '(') depth++;
    else if (c === ')' && --depth === 0) return at;
  }
  return -1;
}

/** The target without its title and angle brackets. */
function targetOf(text: string): string {
  const trimmed = text.trim();
  const title = trimmed.search(/\s["'(]/);
  return (title === -1 ? trimmed : trimmed.slice(0, title)).replace(/^<|>$/g, '');
}
