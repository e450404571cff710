// How many URLs may be published and not done: a multiple of those that the living checkers can have in flight. Without effects.
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

  /** Takes the announcement of a checker. Those of an older version tell of no slots. */
  hear({ id, leaves, slots = 0 }: Alive, now_ms: number): void {
    if (leaves) this.#checkers.delete(id);
    else this.#checkers.set(id, { slots, at: now_ms });
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
