// One text to one category: can it be checked, could it with `https://` before it, is its domain blocked, or is it
// nothing that can be checked at all. What is a URL is decided by the WHATWG parser, as in every browser and in the
// checker; the rules before and after it turn away what that parser takes but no web server has ever answered to.

export const CATEGORIES = ['valid', 'missing_prefix', 'blocked', 'invalid'] as const;
export type Category = (typeof CATEGORIES)[number];

export const INVALID_REASONS = {
  empty: 'is empty',
  too_long: 'is longer than a URL may be',
  control_character: 'holds control characters, such as a tab or a line break',
  undecodable: 'holds characters that were lost in encoding; save the file as UTF-8',
  unsupported_scheme: 'is neither http nor https',
  email_address: 'is an e-mail address',
  several_words: 'holds white space and no single URL',
  no_domain: 'has no domain name such as example.com',
  malformed: 'is not a well-formed URL',
  prefix_missing: 'does not begin with http:// or https://',
} as const;
export type InvalidReason = keyof typeof INVALID_REASONS;

/** The blocked domain that a host (in the URL parser's ASCII form) falls under, or null. */
export type BlockedDomainOf = (host: string) => string | null;

export interface ClassifyOptions {
  max_url_chars: number;
  blocked_domain_of?: BlockedDomainOf;
}

/** A URL that can be checked: `url` as submitted, with the prefix where one was missing. */
export interface CheckableUrl {
  category: 'valid' | 'missing_prefix' | 'blocked';
  url: string;
  /** What two URLs that are the same have in common: the parser's form without the fragment. */
  key: string;
  prefix_added: boolean;
  blocked_domain: string | null;
}

export type ClassifiedUrl = CheckableUrl | { category: 'invalid'; reason: InvalidReason };

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f-\u009f]/;
const HTTP = /^https?:/i;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const HOST_AND_PORT = /^([^/?#:]*):\d+(?:[/?#]|$)/;
const WHITE_SPACE = /\s/;
const SECOND_URL = /\s(?:https?:\/\/|www\.)/i;
const ANY_DOT = /[.\u3002\uff0e\uff61]/;
/** The parser takes `https://a.com,b` and `https://"a.com"`; no name in the DNS of the web has such characters. */
const HOST_NAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?$/;
const TOP_LEVEL_DOMAIN = /\.(?:[a-z]{2,}|xn--[a-z0-9-]+)\.?$/;
const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;
const MAX_HOST_CHARS = 254;

/** Never throws. White space round the text is not part of it. */
export function classifyUrl(submitted: string, options: ClassifyOptions): ClassifiedUrl {
  const text = submitted.trim();
  if (text.length === 0) return invalid('empty');
  if (text.length > options.max_url_chars) return invalid('too_long');
  if (CONTROL_CHARACTER.test(text)) return invalid('control_character');
  if (text.includes('\ufffd') || !text.isWellFormed()) return invalid('undecodable');
  if (HTTP.test(text)) return classifyAbsolute(text, options);
  if (SCHEME.test(text) && !isHostAndPort(text)) return invalid('unsupported_scheme');
  return classifyWithoutPrefix(text, options);
}

/** Whether a cell counts as a URL where a column is chosen: 1 with its prefix, half without it, 0 for all else. */
export function urlLikeness(text: string, max_url_chars: number): number {
  const { category } = classifyUrl(text, { max_url_chars });
  return category === 'valid' ? 1 : category === 'missing_prefix' ? 0.5 : 0;
}

function classifyAbsolute(text: string, options: ClassifyOptions): ClassifiedUrl {
  const parsed = URL.parse(text);
  if (parsed === null) return invalid(WHITE_SPACE.test(text) ? 'several_words' : 'malformed');
  if (!isHost(parsed.hostname)) return invalid('malformed');
  if (SECOND_URL.test(text)) return invalid('several_words');
  return checkable(text, parsed, false, options);
}

function classifyWithoutPrefix(text: string, options: ClassifyOptions): ClassifiedUrl {
  if (WHITE_SPACE.test(text)) return invalid('several_words');
  const bare = text.startsWith('//') ? text.slice(2) : text;
  const end = bare.search(/[/?#]/);
  const authority = end === -1 ? bare : bare.slice(0, end);
  if (authority.includes('@')) return invalid('email_address');
  if (!ANY_DOT.test(authority)) return invalid(bare.includes('://') ? 'malformed' : 'no_domain');
  const url = `https://${bare}`;
  if (url.length > options.max_url_chars) return invalid('too_long');
  const parsed = URL.parse(url);
  if (parsed === null || !isHost(parsed.hostname)) return invalid('malformed');
  // A number such as 1.5 is an address to the parser, and a file name is not a domain unless its ending could be one.
  const named = TOP_LEVEL_DOMAIN.test(parsed.hostname) || IPV4.test(authority.replace(/:\d*$/, ''));
  if (!named) return invalid('no_domain');
  return checkable(url, parsed, true, options);
}

/** `example.com:8080/path` has the form of a URL with the scheme `example.com`. */
function isHostAndPort(text: string): boolean {
  return HOST_AND_PORT.exec(text)?.[1]?.includes('.') === true;
}

function isHost(hostname: string): boolean {
  return hostname.startsWith('[') || (hostname.length <= MAX_HOST_CHARS && HOST_NAME.test(hostname));
}

function checkable(url: string, parsed: URL, prefix_added: boolean, options: ClassifyOptions): CheckableUrl {
  const { href } = parsed;
  // In the parser's form the first # begins the fragment: everywhere else it is percent-encoded.
  const hash = href.indexOf('#');
  const blocked_domain = options.blocked_domain_of?.(parsed.hostname) ?? null;
  return {
    category: blocked_domain !== null ? 'blocked' : prefix_added ? 'missing_prefix' : 'valid',
    // Equal texts, but `url` may be a slice that keeps the whole chunk it was cut from in memory.
    url: href === url ? href : url,
    key: hash === -1 ? href : href.slice(0, hash),
    prefix_added,
    blocked_domain,
  };
}

function invalid(reason: InvalidReason): ClassifiedUrl {
  return { category: 'invalid', reason };
}
