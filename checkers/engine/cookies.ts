// The cookies that a check collects on its redirects and sends with its next hop (RFC 6265, by tough-cookie), bounded.
import { isIP } from 'node:net';
import { Cookie, getPublicSuffix, CookieJar as ToughJar } from 'tough-cookie';

/** Set-Cookie headers that a check obeys; honest redirects send far fewer. */
const MAX_STORED = 200;
/** As in browsers, which keep 180 cookies of a domain. The length of the headers is limited for our memory alone. */
const MAX_PAIR_LENGTH = 4096;
const MAX_COOKIES_SENT = 180;
const MAX_SET_LENGTH = 8 * 1024;
const MAX_HEADER_LENGTH = 32 * 1024;
/** A request header takes latin1 without control characters. */
const SENDABLE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** tough-cookie takes this byte, which ends letters in UTF-8 such as à, for a space. No header has its stand-in. */
const LATIN1_SPACE = '\xa0';
const STAND_IN = '\ue000';

export class CookieJar {
  /** Browsers keep cookies without a name, too. */
  readonly #jar = new ToughJar(undefined, { looseMode: true });
  #stored = 0;

  /**
   * Stores the cookies of the Set-Cookie headers of an answer to `url`. `now_ms` is wall time, and `date` the server's, by which it
   * means the ends of its cookies.
   */
  store(url: URL, headers: string | readonly string[], now_ms: number, date?: string): void {
    const now = new Date(now_ms);
    const server_ms = date === undefined ? Number.NaN : Date.parse(date);
    const is_late_by_ms = Number.isNaN(server_ms) ? 0 : now_ms - server_ms;
    for (const header of typeof headers === 'string' ? [headers] : headers) {
      if (header.length > MAX_SET_LENGTH || !SENDABLE.test(header)) continue;
      if (this.#stored++ >= MAX_STORED) return;
      const cookie = Cookie.parse(header.replaceAll(LATIN1_SPACE, STAND_IN), { loose: true });
      if (cookie === undefined || cookie.key.length + cookie.value.length > MAX_PAIR_LENGTH) continue;
      if (cookie.domain !== null && standsAlone(url.hostname, cookie.domain)) cookie.domain = null;
      if (cookie.path !== null) cookie.path = decoded(cookie.path);
      if (cookie.expires instanceof Date) cookie.expires = new Date(cookie.expires.getTime() + is_late_by_ms);
      this.#jar.setCookieSync(cookie, addressOf(url), { now, ignoreError: true });
    }
  }

  /** The Cookie header for a request to `url`, at most `MAX_HEADER_LENGTH` characters; null when no cookie applies. */
  header(url: URL, now_ms: number): string | null {
    let header = '';
    const cookies = this.#jar.getCookiesSync(addressOf(url), { expire: false });
    const alive = cookies.filter((cookie) => cookie.TTL(now_ms) > 0);
    for (const cookie of alive.slice(0, MAX_COOKIES_SENT)) {
      const pair = cookie.cookieString().replaceAll(STAND_IN, LATIN1_SPACE);
      if (header.length + pair.length > MAX_HEADER_LENGTH) break;
      header += header === '' ? pair : `; ${pair}`;
    }
    return header === '' ? null : header;
  }
}

/**
 * Whether a cookie's Domain is its own host, which can have no subdomain of the same site: an address, a name without a dot, or a public
 * suffix such as `github.io`. Browsers keep the cookie for the host alone (RFC 6265, 5.3, step 5).
 */
function standsAlone(hostname: string, domain: string): boolean {
  const host = hostname.replace(/\.$/, '');
  if (domain.toLowerCase().replace(/^\./, '') !== host) return false;
  return host.startsWith('[') || isIP(host) !== 0 || getPublicSuffix(host, { ignoreError: true }) == null;
}

/** tough-cookie takes the dot at the end of a full name for a part of another one. */
function addressOf(url: URL): URL {
  if (!url.hostname.endsWith('.')) return url;
  const address = new URL(url);
  address.hostname = url.hostname.slice(0, -1);
  return address;
}

/** tough-cookie compares the Path with the decoded path of a URL. */
function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}
