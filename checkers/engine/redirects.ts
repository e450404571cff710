// The target of a redirect, or the reason why it has none.
import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import type { ErrorCode } from '../../events/checks.ts';
import { trimmed } from './headers.ts';

/** As in browsers. */
export const MAX_REDIRECTS = 20;
/** The most characters of the URLs of a chain that goes on. Ordinary chains have some hundreds. */
export const MAX_CHAIN_CHARS = 64 * 1024;

/** Whether a check follows the Location of this status. 300 and 304 are final answers. */
export function isRedirect(status: number): boolean {
  return status === 301 || status === 302 || status === 303 || status === 307 || status === 308;
}

export type NextHop = { ok: true; url: URL } | { ok: false; code: Extract<ErrorCode, 'invalid_redirect'> };

const INVALID: NextHop = { ok: false, code: 'invalid_redirect' };

/** The first Location that is not blank. Without one, browsers show the answer itself. */
export function locationOf({ location }: IncomingHttpHeaders): string | undefined {
  const all = location as string | string[] | undefined;
  if (typeof all === 'string') return trimmed(all) || undefined;
  return all?.map(trimmed).find((one) => one !== '');
}

/**
 * The URL of a Location header in an answer to `from`. A missing Location and one that is no http(s) URL are invalid. The
 * URL keeps the fragment of `from` as in browsers (https://fetch.spec.whatwg.org/#concept-response-location-url).
 */
export function nextHop(from: URL, location: string | undefined): NextHop {
  if (location === undefined || location === '') return INVALID;
  const url = URL.parse(decodeLocation(location), from.href);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return INVALID;
  if (url.hash === '' && from.hash !== '') url.hash = from.hash;
  return { ok: true, url: withoutUser(url) };
}

/** Removes user name and password: a check does not send them, and its outcome, which may be public, does not hold them. */
export function withoutUser(url: URL): URL {
  if (url.href.includes('@')) {
    url.username = '';
    url.password = '';
  }
  return url;
}

/**
 * Node decodes headers as latin1, but servers that do not percent-encode their Location mostly send UTF-8. The bytes of another charset
 * are percent-encoded one by one, as in browsers: the server knows what they mean.
 */
export function decodeLocation(location: string): string {
  if (!/[\x80-\xff]/.test(location)) return location;
  const bytes = Buffer.from(location, 'latin1');
  if (isUtf8(bytes)) return bytes.toString('utf8');
  return location.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`);
}

/**
 * Path and query, as a request has them. URL leaves out the question mark of an empty query, which a server may tell from none.
 * @example pathOf(new URL('http://a.example/b?#c')) // '/b?'
 */
export function pathOf({ pathname, search, href }: URL): string {
  return search === '' && href.includes('?') && href.split('#', 1)[0]!.endsWith('?')
    ? `${pathname}?`
    : pathname + search;
}

/** The identity of a request, to tell a loop from a long chain: its URL and its cookies. */
export function hopKey(url: URL, cookie: string | null): string {
  const href = url.hash === '' ? url.href : url.href.slice(0, -url.hash.length);
  return cookie === null ? href : `${href}\n${cookie}`;
}
