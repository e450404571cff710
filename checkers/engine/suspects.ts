// The URLs over whose answers a checker hung or ended: to ask for them again would only do so again.
import { LRUCache } from 'lru-cache';

const KEPT = 1_000;
/** Whoever submits one again later may have found it mended, or the checker. */
const KEPT_MS = 60 * 60_000;

export class Suspects {
  readonly #now: () => number;
  /** Until when, by `href`. */
  readonly #until = new LRUCache<string, number>({ max: KEPT });

  /** `now`: milliseconds that never go back. */
  constructor(now: () => number) {
    this.#now = now;
  }

  add(href: string): void {
    this.#until.set(href, this.#now() + KEPT_MS);
  }

  has(url: URL): boolean {
    if (this.#until.size === 0) return false;
    const until = this.#until.get(url.href);
    return until !== undefined && this.#now() < until;
  }

  get all(): string[] {
    return [...this.#until.keys()];
  }
}
