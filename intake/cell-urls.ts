// Takes the URLs out of a cell or a line: several of them, the link of a formula, Markdown, JSON arrays, bullets, zero-width
// characters. What is no URL, such as a note beside it, is left out.

import { decodeHTMLStrict } from 'entities';
import { isPublicName } from './domain-names.ts';
import { withoutMarkdown } from './markdown-links.ts';
import { type Span, spansOf } from './url-spans.ts';

export interface CellUrls {
  /** The texts to classify, in order: URLs and words that are written like one. The whole cell when it holds neither; none for a blank one. */
  texts: readonly string[];
  /** Words beside URLs that are written like URLs and have no scheme. The URLs do, so these are rejected and not mended. */
  without_scheme?: readonly string[];
  /** Whether other words stand beside the URLs, as in a note or a title. */
  is_prose: boolean;
  /** Whether the words behind the only URL may be its end, with spaces in it, as well as a note: `https://a.com/my report`. */
  is_unclear?: true;
}

/** A URL of ASCII characters, none of which separates URLs, or a word like one. Most cells are this and need no more work. */
const PLAIN =
  /^(?:(?:https?:\/\/|www\.)[\w.~:/?#@!$&+=%-]+|(?![\w-]*=)[\w.~/?#@!$&+=%-]+(?::\d+(?:[/?#][\w.~/?#@!$&+=%-]*)?)?)(?<!::)$/i;
/** Characters that nobody sees, which pages, PDF files and chats put into texts: they are no part of a URL. */
const INVISIBLE = /[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g;
/** What colours the text of a terminal, or makes links of it (ECMA-48). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals begin their codes with one
const TERMINAL_CODE = /\u001b(?:\[[\d;?]{0,32}[a-z]|[^[])?/gi;
/** Joiners shape Persian words and emoji, but mean nothing at an end. */
const JOINERS = new Set('\u200c\u200d');
/** A spreadsheet's formula; HYPERLINK has another name in each language. */
const FORMULA = /^=\s*[\p{L}_.]{1,40}\(/u;
/** Its first argument, where that is a whole text. */
const TEXT_ARGUMENT = /^[^"(]{0,60}\(\s*"((?:[^"]|"")*)"\s*[,;)]/;
/** A whole URL in a formula in a formula. */
const INNER_ARGUMENT = /\(\s*"(https?:\/\/[^"]*)"\s*[,;)]/i;
const BULLET = /^\s*(?:(?:[-*+•·–—‣▪◦>]|\(?\d{1,9}[.):]|\[\d{1,9}\]|\[[ xX]\])\s+)+/;
/** A name before a URL, such as `link:` in YAML. */
const LABEL = /^["']?[\p{L}\p{N}_-]{1,30}["']?[=:：]$/u;
const SEPARATORS = /[\s,;|\uff0c\uff1b\u3001]+/;
const WRAPPING = new Set('<>()[]{}"\'`*\u201c\u201d\u2018\u2019\uff08\uff09\u300c\u300d\u3010\u3011\u300a\u300b');
/** HTML or what is left of it, escaped or not. */
const MARKUP =
  /&(?:lt|gt|quot|apos|nbsp|#0*(?:3[49]|47|61)|#x0*(?:2[27f]|3d)|amp;(?:amp|lt|gt|quot|#\d+));|&amp;(?=[\w[\]%.-]+=)|<[a-z!/]/i;
/** HTML that was escaped is sometimes escaped again. */
const MAX_ESCAPED = 3;
/** What JSON, TeX, Markdown and files of properties put before a character that they would take for their own. */
const ESCAPE = /\\([\\/"'_&%#~$*()[\]{}<>|.!:=-])/g;
const UNICODE_ESCAPE = /\\u00([2-7][0-9a-f])/gi;
const LINE_ESCAPE = /\\[nrt](?![a-z])|\\[nrt](?=https?:|www\.)|\\f(?:[BIPR]|\[\w{0,8}\]|\([A-Z]{2})/g;
/** Where a page of a manual may break a URL; files of properties have the same before `//` and ports. */
const ROFF_BREAK = /(?<=\/)\\:|\\:(?!\/\/|\d)/g;
/** The scheme in a file of properties, which escapes every colon. */
const PROPERTY = /https?\\:\/\//i;
/** The first word behind a name, written like more of it: `http://my site.com/`, `http://my site/`. */
const REST_OF_NAME = /^ +[^\s/.,;:!?()]+(?:\.[\p{L}\p{N}]|\/)\S*/u;

const LETTER = /\p{L}/u;
/** A word that is written like a domain, whatever its ending is. */
const DOMAIN_LIKE = /^[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)+(?:[:/?#]\S*)?$/u;
/** It would be a domain if its ending could be one. */
const FILE_NAME =
  /^[^/]*\.(?:html?|php|aspx?|jsp|pdf|jpe?g|png|gif|svg|webp|docx?|xlsx?|pptx?|od[st]|csv|txt|md|rst|xml|json|ya?ml|js|ts|css|py|sh|zip|t?gz|rar|7z|exe|mp[34]|mov|avi)$/i;
const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}(?:[:/]\S*)?$/;
/** Words behind a URL with nothing that sets them off, such as a dash or a bracket. */
const MERE_WORDS = /^(?: [\p{L}\p{N}_~-]{1,60}){1,12}$/u;
/** An address of mail behind a URL. */
const HAS_ADDRESS = /\s[^\s@/?#]+@[^\s@]+\.[^\s@]+/;
/** How a URL with a space in it goes on behind the space: `My File.pdf`, `a b/c`, `?q=a b&c`. */
const GOES_ON = /[/=&%]|\.[a-z0-9]{2,5}$/i;

/** Whether the cell is one text to classify as it stands. */
export const isPlain = (cell: string): boolean => PLAIN.test(cell);

/**
 * `in_prose`: the cell is a line of prose, and what ends a sentence is no part of its URL, even where that is all of the line.
 * @example urlsInCell('see https://a.example/').texts // ['https://a.example/']
 */
export function urlsInCell(cell: string, in_prose = false): CellUrls {
  if (!in_prose && PLAIN.test(cell)) return { texts: [cell], is_prose: false };
  const text = visible(cell);
  if (FORMULA.test(text)) {
    const link = TEXT_ARGUMENT.exec(text)?.[1] ?? INNER_ARGUMENT.exec(text)?.[1];
    return one(link?.replaceAll('""', '"') ?? text);
  }
  const strings = stringsOfJson(text);
  if (strings !== null) return { texts: strings, is_prose: false };
  const bare = withoutMarkdown(unescaped(text).split('\n').map(withoutBullet).join('\n'));
  const spans = spansOf(bare, in_prose);
  if (spans.length === 1 && spans[0]!.start === 0) return single(bare, spans[0]!);
  return spans.length === 0 ? withoutScheme(bare) : several(bare, spans);
}

/** The text without the escapes of the syntax in which it stood before it came into the cell. */
function unescaped(text: string): string {
  const plain = text.includes('\\')
    ? text
        .replace(LINE_ESCAPE, ' ')
        .replace(ROFF_BREAK, PROPERTY.test(text) ? ':' : '')
        .replace(ESCAPE, '$1')
        .replace(UNICODE_ESCAPE, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    : text;
  let text_of_markup = plain;
  for (let n = 0; n < MAX_ESCAPED && MARKUP.test(text_of_markup); n++)
    text_of_markup = decodeHTMLStrict(text_of_markup);
  return text_of_markup;
}

/** Whether a text out of prose is meant as a URL, whatever its scheme is. */
export const isAttempt = (text: string): boolean => beginsLikeUrl(text) || text.includes('://');

/** Whether a text of a cell is meant as a URL, whatever comes of it. */
export const beginsLikeUrl = (text: string): boolean => /^(?:https?:\/\/|www\.)/i.test(text);

/** The text without characters that nobody sees, trimmed. */
function visible(text: string): string {
  const plain = text.includes('\u001b') ? text.replace(TERMINAL_CODE, ' ') : text;
  return within(plain.replace(INVISIBLE, '').trim(), JOINERS).trim();
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

/** A cell that begins with its only URL, which may have spaces in its path. */
function single(text: string, { end }: Span): CellUrls {
  const url = text.slice(0, end);
  const rest = text.slice(end);
  if (restOfName(url, rest) !== '') return one(text);
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
  return path !== -1 && path < url.length - 1 && GOES_ON.test(rest) && !HAS_ADDRESS.test(rest);
}

/** The word behind a name without a path, when it can only be the name's end or a URL without a scheme; else the empty text. */
function restOfName(url: string, rest: string): string {
  const name = url.slice(url.indexOf('//') + 2);
  const word = /[/?#]/.test(name) ? '' : (REST_OF_NAME.exec(rest)?.[0] ?? '');
  return word === '' || !name.includes('.') || isPublicName(hostOf(word)) ? word : '';
}

const hostOf = (word: string): string => URL.parse(`https://${word.trim()}`)?.hostname ?? '';

/** URLs among other words. A word beside them counts when it can only be a URL that is misspelt. */
function several(text: string, spans: readonly Span[]): CellUrls {
  const texts: string[] = [];
  const others: string[] = [];
  const addWords = (from: number, to: number) => {
    const words = wordsOf(text.slice(from, to));
    texts.push(...words.filter((word) => word.includes('://')));
    others.push(...words.filter((word) => !word.includes('://')));
  };
  let at = 0;
  for (const { start, end } of spans) {
    addWords(at, start);
    const url = text.slice(start, end);
    const rest = restOfName(url, text.slice(end, end + MAX_NAME_CHARS));
    texts.push(url + rest);
    at = end + rest.length;
  }
  addWords(at, text.length);
  const are_urls = others.every(isUrlLike);
  return { texts, is_prose: !are_urls, ...(are_urls && others.length > 0 && { without_scheme: others }) };
}

const MAX_NAME_CHARS = 256;

/** Words without brackets and quotes round them; numbers and names such as `link:` are none. */
function wordsOf(text: string): string[] {
  return text
    .split(SEPARATORS)
    .map((word) => within(word, WRAPPING))
    .filter((word) => (LETTER.test(word) && !LABEL.test(word)) || IPV4.test(word));
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
