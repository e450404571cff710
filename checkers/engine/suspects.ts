// The URLs whose answers made a checker hang or crash. The engine does not request them again, nor any URL of a host that has
// several of them, because pages of one host are alike.
import { LRUCache } from 'lru-cache';

const KEPT = 1_000;
/** A suspect expires after this long, since the page or the checker may be mended. */
const KEPT_MS = 60 * 60_000;
/** With this many suspects all URLs of a host are suspect. Each suspect has stopped every job for ten seconds and more. */
const HOST_AFTER = 5;

export class Suspects {
  readonly #now: () => number;
  /** End of suspicion, by `href`. */
  readonly #until = new LRUCache<string, number>({ max: KEPT });
  /** The suspect `href`s of each host. */
  readonly #hosts = new LRUCache<string, Set<string>>({ max: KEPT });

  /** `now`: a monotonic clock, in milliseconds. */
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
