// Where a redirect leads: the next URL, or why there is none.
import type { ErrorCode } from '../../events/checks.ts';

export const MAX_REDIRECTS = 10;

/** Statuses whose Location is followed; 300 and 304 are answers of their own. */
export function isRedirect(status: number): boolean {
  return status === 301 || status === 302 || status === 303 || status === 307 || status === 308;
}

export type NextHop = { ok: true; url: URL } | { ok: false; code: Extract<ErrorCode, 'invalid_redirect'> };

const INVALID: NextHop = { ok: false, code: 'invalid_redirect' };

/**
 * The URL that `location` names, seen from `from`; an undefined Location, one that is no URL and one that is not
 * http(s) are invalid. The fragment is kept as browsers do (https://fetch.spec.whatwg.org/#concept-response-location-url).
 */
export function nextHop(from: URL, location: string | undefined): NextHop {
  if (location === undefined || location === '') return INVALID;
  const url = URL.parse(decodeLocation(location), from.href);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return INVALID;
  if (url.hash === '' && from.hash !== '') url.hash = from.hash;
  return { ok: true, url: withoutUser(url) };
}

/** A check sends nobody's user name and password, and what it reports, which may be shared, does not hold them. */
export function withoutUser(url: URL): URL {
  if (url.href.includes('@')) {
    url.username = '';
    url.password = '';
  }
  return url;
}

/** Headers come as latin1; servers that do not encode their Location mostly send UTF-8. */
function decodeLocation(location: string): string {
  if (!/[\x80-\xff]/.test(location)) return location;
  const bytes = Buffer.from(location, 'latin1');
  const text = bytes.toString('utf8');
  return text.includes('\ufffd') ? location : text;
}

/** What makes two hops the same: the URL that is asked for and the cookies that go with it. */
export function hopKey(url: URL, cookie: string | null): string {
  const href = url.hash === '' ? url.href : url.href.slice(0, -url.hash.length);
  return cookie === null ? href : `${href}\n${cookie}`;
}
