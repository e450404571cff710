// How many URLs may be published and not done: a multiple of those that the living checkers can have in flight. It counts those that
// are, by owner. Without effects.
import type { Alive } from '../checkers/work.ts';

/**
 * A lone job gets a third of the window: its requests in flight, what waits for a host or another attempt, and outcomes of the last
 * seconds that the read models lack.
 */
const URLS_A_SLOT = 16;
const LEAST_URLS = 32_768;
/** A checker that is silent for this long has no slots. */
const SILENT_AFTER_MS = 10_000;

export class Window {
  readonly #checkers = new Map<string, { slots: number; at: number }>();
  readonly #held_by_owner = new Map<string, number>();
  /** URLs that are published and not done. */
  held = 0;

  /** Takes the announcement of a checker. Those of an older version tell of no slots. */
  observe({ id, leaves, slots = 0 }: Alive, now_ms: number): void {
    if (leaves) this.#checkers.delete(id);
    else this.#checkers.set(id, { slots, at: now_ms });
  }

  /** `urls`: how many an owner holds more than before, negative for fewer. */
  hold(owner_id: string, urls: number): void {
    this.held += urls;
    const of_owner = (this.#held_by_owner.get(owner_id) ?? 0) + urls;
    if (of_owner > 0) this.#held_by_owner.set(owner_id, of_owner);
    else this.#held_by_owner.delete(owner_id);
  }

  /**
   * Whether a job may hold more URLs. An owner may hold as many as are free, and a job as many as its owner has free: a single job gets
   * a third, so that slow hosts always leave room for the next job and the next owner.
   */
  hasRoom({ owner_id, held }: { owner_id: string; held: number }, now_ms: number): boolean {
    const of_owner = this.#held_by_owner.get(owner_id) ?? 0;
    const free = this.urls(now_ms) - this.held;
    return (of_owner === 0 || of_owner < free) && (held === 0 || held < free - of_owner);
  }

  urls(now_ms: number): number {
    let slots = 0;
    for (const [id, checker] of this.#checkers) {
      if (now_ms - checker.at > SILENT_AFTER_MS) this.#checkers.delete(id);
      else slots += checker.slots;
    }
    return Math.max(LEAST_URLS, URLS_A_SLOT * slots);
  }
}
