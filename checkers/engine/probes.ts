// The answers of folders to a name that cannot be there: one probe a folder, shared by all who suspect a page of it.
import assert from 'node:assert';
import { LRUCache } from 'lru-cache';
import type { ProbeAnswer } from './soft-404.ts';

const CACHED_FOLDERS = 5_000;

export class ProbeCache {
  readonly #answers = new LRUCache<string, ProbeAnswer>({ max: CACHED_FOLDERS });
  readonly #waiting = new Map<string, ((answer: ProbeAnswer) => void)[]>();

  /** Calls `done` when the folder's answer is known, perhaps at once. 'new': the caller is to send the probe. */
  ask(folder: string, done: (answer: ProbeAnswer) => void): 'asked' | 'new' {
    const answer = this.#answers.get(folder);
    if (answer !== undefined) {
      done(answer);
      return 'asked';
    }
    const waiting = this.#waiting.get(folder);
    if (waiting !== undefined) {
      waiting.push(done);
      return 'asked';
    }
    this.#waiting.set(folder, [done]);
    return 'new';
  }

  answer(folder: string, answer: ProbeAnswer): void {
    const waiting = this.#waiting.get(folder);
    assert(waiting !== undefined);
    this.#waiting.delete(folder);
    this.#answers.set(folder, answer);
    for (const done of waiting) done(answer);
  }
}
