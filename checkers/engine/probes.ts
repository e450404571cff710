// The answers of folders to a name that cannot exist. All suspect pages of a folder share one probe a job.
import { LRUCache } from 'lru-cache';
import type { ProbeAnswer } from './soft-404.ts';

/** A request to probe a folder with `url`, which cannot exist. */
export interface ProbeRequest {
  /** Group and folder: the key of the answer. */
  folder: string;
  owner: string;
  group: string;
  url: string;
  /** URL of the suspect page. */
  on_behalf_of: string;
}

const MAX_ANSWERS = 10_000;
const MAX_EVICTED = 100_000;

/** The answer of a folder whose answer was evicted or whose probe failed: it proves nothing. */
export const SILENT: ProbeAnswer = { status: null, final_path: '', sketch: null };

/** Sends a probe. It calls `answered` once, unless the engine closes. */
export type SendProbe = (request: ProbeRequest, answered: (answer: ProbeAnswer) => void) => void;

export class Probes {
  readonly #send: SendProbe;
  readonly #answers: LRUCache<string, ProbeAnswer>;
  /** Folders whose answers were evicted, in order of eviction. They are not probed again. */
  readonly #evicted = new Set<string>();
  readonly #waiting = new Map<string, ((answer: ProbeAnswer) => void)[]>();
  /** Folders whose probe is in flight. */
  readonly #in_flight = new Set<string>();

  constructor(send: SendProbe, max_answers = MAX_ANSWERS, max_evicted = MAX_EVICTED) {
    this.#send = send;
    this.#answers = new LRUCache<string, ProbeAnswer>({
      max: max_answers,
      dispose: (_answer, key, reason) => {
        if (reason !== 'evict') return;
        this.#evicted.add(key);
        if (this.#evicted.size > max_evicted) this.#evicted.delete(this.#evicted.values().next().value!);
      },
    });
  }

  /** The known answer of a folder, or null. */
  recall(key: string): ProbeAnswer | null {
    return this.#answers.get(key) ?? (this.#evicted.has(key) ? SILENT : null);
  }

  /** Calls `done` when the folder's answer is known, perhaps at once. 'new': the caller requests the probe. */
  ask(key: string, done: (answer: ProbeAnswer) => void): 'asked' | 'new' {
    const answer = this.recall(key);
    if (answer !== null) {
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

  /** Probes a folder, unless its answer is known or its probe is in flight. */
  probe(request: ProbeRequest): void {
    const { folder } = request;
    if (this.#in_flight.has(folder) || this.recall(folder) !== null) return;
    this.#in_flight.add(folder);
    this.#send(request, (answer) => {
      this.#in_flight.delete(folder);
      this.answer(folder, answer);
    });
  }

  /** Removes the waiting `done`. True when no page waits for the folder any more, so that its probe is not needed. */
  dropped(key: string, done: (answer: ProbeAnswer) => void): boolean {
    const waiting = this.#waiting.get(key);
    const at = waiting?.indexOf(done) ?? -1;
    if (waiting === undefined || at < 0) return false;
    waiting.splice(at, 1);
    if (waiting.length > 0) return false;
    this.#waiting.delete(key);
    return true;
  }

  /** The probe of a folder was cancelled before its first request. */
  cancelled(key: string): void {
    this.#in_flight.delete(key);
  }

  /** Stores the answer to a probe, and calls the waiting callbacks. */
  answer(key: string, answer: ProbeAnswer): void {
    const waiting = this.#waiting.get(key) ?? [];
    this.#waiting.delete(key);
    this.#answers.set(key, answer);
    for (const done of waiting) done(answer);
  }
}
