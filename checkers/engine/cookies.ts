// The cookies that a check collects on its redirects and sends with its next hop (RFC 6265, by tough-cookie), bounded.
import { CookieJar as ToughJar } from 'tough-cookie';

/** Set-Cookie headers that a check obeys; honest redirects send far fewer. */
const MAX_STORED = 200;
/** As in browsers, which keep 180 cookies of a domain. The length of the header is limited for our memory alone. */
const MAX_COOKIE_LENGTH = 4096;
const MAX_COOKIES_SENT = 180;
const MAX_HEADER_LENGTH = 32 * 1024;
/** A request header takes latin1 without control characters. */
const SENDABLE = /^[\t\x20-\x7e\x80-\xff]*$/;

export class CookieJar {
  /** Browsers keep cookies without a name, too. */
  readonly #jar = new ToughJar(undefined, { looseMode: true });
  #stored = 0;

  /** Stores the cookies of the Set-Cookie headers of an answer to `url`. `now_ms` is wall time. */
  store(url: URL, headers: string | readonly string[], now_ms: number): void {
    const now = new Date(now_ms);
    for (const header of typeof headers === 'string' ? [headers] : headers) {
      if (header.length > MAX_COOKIE_LENGTH || !SENDABLE.test(header)) continue;
      if (this.#stored++ >= MAX_STORED) return;
      this.#jar.setCookieSync(header, url.href, { now, ignoreError: true });
    }
  }

  /** The Cookie header for a request to `url`, at most `MAX_HEADER_LENGTH` characters; null when no cookie applies. */
  header(url: URL, now_ms: number): string | null {
    let header = '';
    const cookies = this.#jar.getCookiesSync(url.href, { expire: false });
    const alive = cookies.filter((cookie) => cookie.TTL(now_ms) > 0);
    for (const cookie of alive.slice(0, MAX_COOKIES_SENT)) {
      const pair = cookie.cookieString();
      if (header.length + pair.length > MAX_HEADER_LENGTH) break;
      header += header === '' ? pair : `; ${pair}`;
    }
    return header === '' ? null : header;
  }
}
