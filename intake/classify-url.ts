// Classifies a text: a valid URL, a URL without its `https://`, a URL of a blocklisted domain, or invalid. The WHATWG parser
// decides as in browsers and in the checker; the rules around it refuse texts that it accepts but no web server answers.
// Decision 133 says why.

import { isPublicName } from './domain-names.ts';

const CATEGORIES = ['valid', 'missing_prefix', 'blocked', 'invalid'] as const;
export type Category = (typeof CATEGORIES)[number];

export const INVALID_REASONS = {
  empty: 'is empty',
  too_long: 'is longer than a URL may be',
  control_character: 'holds control characters, such as a tab or a line break',
  undecodable: 'holds characters that were lost in encoding; save the file as UTF-8',
  unsupported_scheme: 'is neither http nor https',
  email_address: 'is an e-mail address',
  several_words: 'is text without a URL',
  space_in_url: 'holds spaces: write each as %20, or put the words behind the URL into a cell of their own',
  no_domain: 'has no domain name such as example.com',
  malformed: 'is not a well-formed URL',
  placeholder: 'holds a placeholder such as {{ id }}: put a value in its place',
  relative: 'is relative to a page that the file does not name',
  uncalculated: 'is a formula without a result: open the file in a spreadsheet program and save it',
  prefix_missing: 'does not begin with http:// or https://',
  not_of_sandbox: 'is not of http://sandbox.test, whose URLs are the only ones that a test key checks',
  private_address: 'is a private or reserved address, which is not checked unless CHECKER_ALLOW_ADDRESSES allows it',
} as const;
export type InvalidReason = keyof typeof INVALID_REASONS;

/** The blocklisted domain that a host (in the URL parser's ASCII form) falls under, or null. */
export type BlockedDomainOf = (host: string) => string | null;

export interface ClassifyOptions {
  max_url_chars: number;
  blocked_domain_of?: BlockedDomainOf;
  /** The host whose URLs alone, by http, are valid, with the names below it. */
  only_host?: string | undefined;
  /** Whether the checker may connect to an IP address, given without brackets. Default: to any. */
  allows_address?: (address: string) => boolean;
}

/** A URL that can be checked: `url` as submitted, with the prefix where one was missing, and without a password. */
export interface CheckableUrl {
  category: 'valid' | 'missing_prefix' | 'blocked';
  url: string;
  /** In the parser's form; it may end in a dot. */
  host: string;
  /** The key by which duplicates are found: the parser's form without the fragment. */
  key: string;
  prefix_added: boolean;
  blocked_domain: string | null;
}

export type ClassifiedUrl = CheckableUrl | { category: 'invalid'; reason: InvalidReason };

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f-\u009f]/;
/** Most URLs are of these characters alone: no white space and no control character, nothing that encoding has lost, no bracket of a placeholder. */
const CLEAN = /^[hH][tT][tT][pP][sS]?:[!-;=-Z\\-z|}~]+$/;
const HTTP = /^https?:/i;
/** A word with a colon and a space behind it, as in `Status: open`, is text. */
const SCHEME = /^[a-z][a-z0-9+.-]*:(?!\s)/i;
const HOST_AND_PORT = /^([^/?#:]*):\d+(?:[/?#]|$)/;
const WHITE_SPACE = /\s/;
const SECOND_URL = /\s(?:https?:\/\/|www\.)/i;
const ANY_DOT = /[.\u3002\uff0e\uff61]/;
/**
 * The parser accepts `https://a.com,b` and `https://"a.com"`, but no host name of the web has such characters. Where a scheme stands twice, as in
 * `https://https://a.com`, the second one is left for a host.
 */
const HOST_NAME = /^(?!https?$)[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?$/;
/** Syntax of templates: `{{ id }}`, `${id}`, `{% url %}`, `<%= id %>`, `<?= $id ?>`, and a part of the path or a value that is `{id}`, `<id>` or `[id]`. */
const PLACEHOLDER = /\{\{|\$\{|\{%|<[%?]|[/=](?:\{[a-z_]\w*\}|<[a-z][\w-]*>)|\/\[[a-z_][\w-]*\](?:\/|$)/i;
const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;
const MAX_HOST_CHARS = 254;

/**
 * Trims and classifies a text. Never throws.
 * @example classifyUrl('example.com', { max_url_chars: 2_048 }).category // 'missing_prefix'
 */
export function classifyUrl(submitted: string, options: ClassifyOptions): ClassifiedUrl {
  const text = submitted.trim();
  if (text.length === 0) return invalid('empty');
  if (text.length > options.max_url_chars) return invalid('too_long');
  if (CLEAN.test(text)) return classifyAbsolute(text, options);
  if (CONTROL_CHARACTER.test(text)) return invalid('control_character');
  if (PLACEHOLDER.test(text)) return invalid('placeholder');
  if (text.includes('\ufffd') || !text.isWellFormed()) return invalid('undecodable');
  if (HTTP.test(text)) return SECOND_URL.test(text) ? invalid('several_words') : classifyAbsolute(text, options);
  if (SCHEME.test(text) && !isHostAndPort(text)) return invalid('unsupported_scheme');
  return classifyWithoutPrefix(text, options);
}

/** How much a cell counts when the URL column is chosen: 1 for a URL, 0.5 for a URL without its prefix, else 0. */
export function urlLikeness(text: string, max_url_chars: number): number {
  const { category } = classifyUrl(text, { max_url_chars });
  return category === 'valid' ? 1 : category === 'missing_prefix' ? 0.5 : 0;
}

function classifyAbsolute(text: string, options: ClassifyOptions): ClassifiedUrl {
  const parsed = URL.parse(text);
  if (parsed === null) return invalid(WHITE_SPACE.test(text) ? 'several_words' : 'malformed');
  if (!isHost(parsed.hostname)) return invalid('malformed');
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
  // The parser takes a number such as 1.5 for an address, and a file name for a domain if its ending could be one.
  const named = isPublicName(parsed.hostname) || IPV4.test(authority.replace(/:\d*$/, ''));
  if (!named) return invalid('no_domain');
  return checkable(url, parsed, true, options);
}

/** Whether a text such as `example.com:8080/path`, which looks like a URL of the scheme `example.com`, is host and port. */
function isHostAndPort(text: string): boolean {
  return HOST_AND_PORT.exec(text)?.[1]?.includes('.') === true;
}

function isHost(hostname: string): boolean {
  if (hostname.startsWith('[')) return true;
  return hostname.length <= MAX_HOST_CHARS && HOST_NAME.test(hostname);
}

function checkable(url: string, parsed: URL, prefix_added: boolean, options: ClassifyOptions): ClassifiedUrl {
  const { hostname: host, href } = parsed;
  if (href.includes('@') && parsed.password !== '') {
    parsed.password = '';
    return checkable(parsed.href, parsed, prefix_added, options);
  }
  if (options.only_host !== undefined && !isOf(options.only_host, parsed)) return invalid('not_of_sandbox');
  if (options.allows_address) {
    const address = addressIn(host);
    if (address !== null && !options.allows_address(address)) return invalid('private_address');
  }
  // In the parser's form the first # starts the fragment; it is percent-encoded everywhere else.
  const hash = href.indexOf('#');
  const blocked_domain = options.blocked_domain_of?.(host) ?? null;
  return {
    category: blocked_domain !== null ? 'blocked' : prefix_added ? 'missing_prefix' : 'valid',
    // The texts are equal, but `url` may be a slice that keeps its whole chunk in memory.
    url: href === url ? href : url,
    host,
    key: hash === -1 ? href : href.slice(0, hash),
    prefix_added,
    blocked_domain,
  };
}

const isOf = (only: string, { protocol, host }: URL) =>
  protocol === 'http:' && (host === only || host.endsWith(`.${only}`));

/** The IP address that a host in the parser's form is, without brackets; null for a name. */
function addressIn(host: string): string | null {
  if (host.startsWith('[')) return host.slice(1, -1);
  return IPV4.test(host) ? host : null;
}

function invalid(reason: InvalidReason): ClassifiedUrl {
  return { category: 'invalid', reason };
}
