// The redirects that an attempt has followed: their targets, statuses and cookies, and when there are too many of them.
import type { IncomingHttpHeaders } from 'node:http';
import { CookieJar } from './cookies.ts';
import { firstOf } from './headers.ts';
import { hopKey, MAX_CHAIN_CHARS, MAX_REDIRECTS } from './redirects.ts';

export type Followed = { cookie: string | null } | 'redirect_loop' | 'too_many_redirects';

export class RedirectChain {
  /** The targets in order. */
  readonly urls: string[] = [];
  /** The statuses of the answers that redirected to them. */
  readonly statuses: number[] = [];
  #chars = 0;
  readonly #seen: Set<string>;
  #jar: CookieJar | null = null;

  constructor(first: URL) {
    this.#seen = new Set([hopKey(first, null)]);
  }

  /** Follows the answer of `from`, which redirects to `to`. Returns the Cookie header of the next request. `now`: wall time. */
  follow(from: URL, to: URL, status: number, headers: IncomingHttpHeaders, now: number): Followed {
    const set_cookie = headers['set-cookie'] as string | string[] | undefined;
    if (set_cookie !== undefined) {
      this.#jar ??= new CookieJar();
      this.#jar.store(from, set_cookie, now, firstOf(headers, 'date'));
    }
    const cookie = this.#jar?.header(to, now) ?? null;
    this.#seen.add(hopKey(to, cookie));
    // A request that comes back may be answered otherwise, since servers count, so only the end of a chain tells whether it is a loop.
    if (this.urls.length >= MAX_REDIRECTS || this.#chars > MAX_CHAIN_CHARS) {
      return this.#seen.size < this.urls.length + 2 ? 'redirect_loop' : 'too_many_redirects';
    }
    this.urls.push(to.href);
    this.statuses.push(status);
    this.#chars += to.href.length;
    return { cookie };
  }
}
