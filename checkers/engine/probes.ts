// The answers of folders to a name that cannot be there: one probe a folder and job, shared by all who suspect a page of it.
import assert from 'node:assert';
import { LRUCache } from 'lru-cache';
import type { ProbeAnswer } from './soft-404.ts';

const ANSWERS = 10_000;
const ASKED = 100_000;

/** Of a folder whose answer is no longer held. */
const FORGOTTEN: ProbeAnswer = { status: null, final_path: '', sketch: null };

export class ProbeCache {
  readonly #answers: LRUCache<string, ProbeAnswer>;
  /** Folders whose answers had to go: they tell nothing any more, and are not asked again. In order of going. */
  readonly #asked = new Set<string>();
  readonly #waiting = new Map<string, ((answer: ProbeAnswer) => void)[]>();

  constructor(answers = ANSWERS, asked = ASKED) {
    this.#answers = new LRUCache<string, ProbeAnswer>({
      max: answers,
      dispose: (_answer, key, reason) => {
        if (reason !== 'evict') return;
        this.#asked.add(key);
        if (this.#asked.size > asked) this.#asked.delete(this.#asked.values().next().value!);
      },
    });
  }

  /** Whether asking costs no request. */
  knows(key: string): boolean {
    return this.#answers.has(key) || this.#waiting.has(key) || this.#asked.has(key);
  }

  /** Calls `done` when the folder's answer is known, perhaps at once. 'new': the caller is to send the probe. */
  ask(key: string, done: (answer: ProbeAnswer) => void): 'asked' | 'new' {
    const answer = this.#answers.get(key) ?? (this.#asked.has(key) ? FORGOTTEN : undefined);
    if (answer !== undefined) {
      done(answer);
      return 'asked';
    }
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined) {
      waiting.push(done);
      return 'asked';
    }
    this.#waiting.set(key, [done]);
    return 'new';
  }

  answer(key: string, answer: ProbeAnswer): void {
    const waiting = this.#waiting.get(key);
    assert(waiting !== undefined);
    this.#waiting.delete(key);
    this.#answers.set(key, answer);
    for (const done of waiting) done(answer);
  }
}
