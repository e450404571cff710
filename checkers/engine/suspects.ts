// The URLs over whose answers a checker hung or ended: to ask for them again would only do so again. So would the next
// pages of a host that has several of them, which are made alike.
import { LRUCache } from 'lru-cache';

const KEPT = 1_000;
/** Whoever submits one again later may have found it mended, or the checker. */
const KEPT_MS = 60 * 60_000;
/** URLs of one host until all of its URLs are given up. Each has cost every job ten seconds and more. */
const HOST_AFTER = 5;

export class Suspects {
  readonly #now: () => number;
  /** Until when, by `href`. */
  readonly #until = new LRUCache<string, number>({ max: KEPT });
  /** Of a host, its `href`s. */
  readonly #hosts = new LRUCache<string, Set<string>>({ max: KEPT });

  /** `now`: milliseconds that never go back. */
  constructor(now: () => number) {
    this.#now = now;
  }

  add(href: string): void {
    this.#until.set(href, this.#now() + KEPT_MS);
    const host = URL.parse(href)?.host;
    if (host === undefined) return;
    const hrefs = this.#hosts.get(host) ?? new Set();
    this.#hosts.set(host, hrefs.add(href));
  }

  has(url: URL): boolean {
    if (this.#until.size === 0) return false;
    if (this.#isSuspect(url.href)) return true;
    const hrefs = this.#hosts.get(url.host);
    if (hrefs === undefined || hrefs.size < HOST_AFTER) return false;
    for (const href of hrefs) if (!this.#isSuspect(href)) hrefs.delete(href);
    return hrefs.size >= HOST_AFTER;
  }

  #isSuspect(href: string): boolean {
    const until = this.#until.peek(href);
    return until !== undefined && this.#now() < until;
  }

  get all(): string[] {
    return [...this.#until.keys()];
  }
}
