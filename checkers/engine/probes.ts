// The answers of folders to a name that cannot be there: one probe a folder and job, shared by all who suspect a page of it.
import { LRUCache } from 'lru-cache';
import type { ProbeAnswer } from './soft-404.ts';

/** That a folder be asked for `url`, which cannot be there. */
export interface ProbeRequest {
  /** With the group: what the answer is kept by. */
  folder: string;
  /** Unknown to checkers of an earlier version. */
  owner?: string;
  group: string;
  url: string;
  /** The suspect page's own URL. Unknown to checkers of an earlier version. */
  on_behalf_of?: string;
}

/** Several checkers ask a folder once. */
export interface ProbePeers {
  /** One of them is to ask: in time `Probes.probe` is called here or there, and in the end `Probes.answer`. */
  probe(request: ProbeRequest): void;
  /** What a probe from here found: the others are to know. */
  probed(folder: string, answer: ProbeAnswer): void;
}

const ANSWERS = 10_000;
const ASKED = 100_000;

/** Tells nothing: of a folder whose answer is no longer held, or that could not be asked. */
export const SILENT: ProbeAnswer = { status: null, final_path: '', sketch: null };

/** Sends a probe: `answered` is called once, unless the engine closes. */
export type SendProbe = (request: ProbeRequest, answered: (answer: ProbeAnswer) => void) => void;

export class Probes {
  readonly #send: SendProbe;
  readonly #answers: LRUCache<string, ProbeAnswer>;
  /** Folders whose answers had to go: they tell nothing any more, and are not asked again. In order of going. */
  readonly #asked = new Set<string>();
  readonly #waiting = new Map<string, ((answer: ProbeAnswer) => void)[]>();
  /** Folders that are being asked from here. */
  readonly #under_way = new Set<string>();
  /** Null: this checker is alone. */
  peers: ProbePeers | null = null;

  constructor(send: SendProbe, answers = ANSWERS, asked = ASKED) {
    this.#send = send;
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

  /** Null while there is no answer. */
  recall(key: string): ProbeAnswer | null {
    return this.#answers.get(key) ?? (this.#asked.has(key) ? SILENT : null);
  }

  /** Calls `done` when the folder's answer is known, perhaps at once. 'new': the caller is to have it asked. */
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

  /** Asks a folder, unless that was done or is under way; the peers are told what it said. */
  probe(request: ProbeRequest): void {
    const { folder } = request;
    if (this.#under_way.has(folder) || this.recall(folder) !== null) return;
    this.#under_way.add(folder);
    this.#send(request, (answer) => {
      this.#under_way.delete(folder);
      this.answer(folder, answer);
      this.peers?.probed(folder, answer);
    });
  }

  /** One that asked waits no longer. True when nobody does: the folder need not be asked. */
  dropped(key: string, done: (answer: ProbeAnswer) => void): boolean {
    const waiting = this.#waiting.get(key);
    const at = waiting?.indexOf(done) ?? -1;
    if (waiting === undefined || at < 0) return false;
    waiting.splice(at, 1);
    if (waiting.length > 0) return false;
    this.#waiting.delete(key);
    return true;
  }

  /** A folder is not asked after all. */
  cancelled(key: string): void {
    this.#under_way.delete(key);
  }

  /** Of a folder that was asked, from here or by another checker. */
  answer(key: string, answer: ProbeAnswer): void {
    const waiting = this.#waiting.get(key) ?? [];
    this.#waiting.delete(key);
    this.#answers.set(key, answer);
    for (const done of waiting) done(answer);
  }
}
