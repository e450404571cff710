// The cookies that one check collects on its redirects and sends on the next hop (RFC 6265, without persistence).

interface Cookie {
  name: string;
  value: string;
  domain: string;
  host_only: boolean;
  path: string;
  secure: boolean;
}

const MAX_COOKIES = 50;
const MAX_COOKIE_LENGTH = 4096;
const MAX_HEADER_LENGTH = 8192;

export class CookieJar {
  #cookies: Cookie[] = [];

  /** Keeps the cookies of the Set-Cookie headers of an answer to `url`. `now_ms` is the wall clock. */
  store(url: URL, headers: string | readonly string[], now_ms: number): void {
    for (const header of typeof headers === 'string' ? [headers] : headers) {
      if (header.length > MAX_COOKIE_LENGTH) continue;
      const parsed = parseSetCookie(url, header, now_ms);
      if (parsed === null) continue;
      const { cookie, expired } = parsed;
      this.#cookies = this.#cookies.filter(
        (other) => other.name !== cookie.name || other.domain !== cookie.domain || other.path !== cookie.path,
      );
      if (!expired && this.#cookies.length < MAX_COOKIES) this.#cookies.push(cookie);
    }
  }

  /** The Cookie header for a request to `url`, or null when none applies. */
  header(url: URL): string | null {
    let header = '';
    for (const cookie of this.#cookies) {
      if (cookie.secure && url.protocol !== 'https:') continue;
      if (cookie.host_only ? url.hostname !== cookie.domain : !domainMatches(url.hostname, cookie.domain)) continue;
      if (!pathMatches(url.pathname, cookie.path)) continue;
      const pair = `${cookie.name}=${cookie.value}`;
      if (header.length + pair.length > MAX_HEADER_LENGTH) break;
      header += header === '' ? pair : `; ${pair}`;
    }
    return header === '' ? null : header;
  }
}

function parseSetCookie(url: URL, header: string, now_ms: number): { cookie: Cookie; expired: boolean } | null {
  const [pair = '', ...attributes] = header.split(';');
  const equals = pair.indexOf('=');
  if (equals <= 0) return null;
  const name = pair.slice(0, equals).trim();
  const value = pair.slice(equals + 1).trim();
  // Only what may stand in a request header goes back: no controls and nothing beyond latin1.
  if (name === '' || /[^\t\x20-\x7e\x80-\xff]/.test(name + value)) return null;

  const cookie: Cookie = {
    name,
    value,
    domain: url.hostname,
    host_only: true,
    path: url.pathname.slice(0, url.pathname.lastIndexOf('/')) || '/',
    secure: false,
  };
  let expires_ms = Number.POSITIVE_INFINITY;
  let max_age_s: number | null = null;
  for (const attribute of attributes) {
    const at = attribute.indexOf('=');
    const key = (at < 0 ? attribute : attribute.slice(0, at)).trim().toLowerCase();
    const text = at < 0 ? '' : attribute.slice(at + 1).trim();
    if (key === 'secure') cookie.secure = true;
    else if (key === 'path' && text.startsWith('/')) cookie.path = text;
    else if (key === 'max-age' && /^-?\d+$/.test(text)) max_age_s = Number(text);
    else if (key === 'expires') expires_ms = Date.parse(text) || expires_ms;
    else if (key === 'domain' && text !== '') {
      const domain = text.replace(/^\./, '').toLowerCase();
      if (!domainMatches(url.hostname, domain)) return null;
      // A name without a dot is a top-level domain: the cookie stays with its host.
      if (domain.includes('.')) {
        cookie.domain = domain;
        cookie.host_only = domain === url.hostname && /^[\d.]+$|^\[/.test(domain);
      }
    }
  }
  const expired = max_age_s !== null ? max_age_s <= 0 : expires_ms <= now_ms;
  return { cookie, expired };
}

function domainMatches(host: string, domain: string): boolean {
  return host === domain || (host.endsWith(`.${domain}`) && !/^[\d.]+$/.test(host));
}

function pathMatches(path: string, cookie_path: string): boolean {
  if (!path.startsWith(cookie_path)) return false;
  return path.length === cookie_path.length || cookie_path.endsWith('/') || path[cookie_path.length] === '/';
}
