// A batch in hand: its URLs are asked in any order and recorded in their own, as far as there is no gap. More of the same
// batch may come while it is in hand, and one that was held goes on where it stood when its job does.
import type { Outcome } from '../events/checks.ts';
import { NotStarted } from './engine/engine.ts';
import type { WorkRange } from './work.ts';

/** What a batch asks and records by. All of them reject when nothing more is to be done. */
export interface BatchParts {
  /** Rejects with `NotStarted` when the job is held before a request is in flight. */
  check(url: string): Promise<Outcome>;
  /** Of the range that begins at an index in the job; resolves when it is in the log, by whomever. */
  record(range: WorkRange, outcomes: readonly Outcome[]): Promise<void>;
  /** The index in the job up to which the batch is in the log. */
  recordedUpTo(batch: number): Promise<number>;
}

/** `recorded`: all is in the log; `held`: the job was held, and what has no outcome goes back. */
export type Ended = 'recorded' | 'held';

export class Batch {
  readonly batch: number;
  readonly done: Promise<Ended>;
  readonly #parts: BatchParts;
  /** Of `#urls[0]` in the job. */
  readonly #first: number;
  readonly #urls: string[] = [];
  readonly #outcomes: (Outcome | undefined)[] = [];
  /** Of each URL, whether it is being asked; and how many are. */
  readonly #is_asked: boolean[] = [];
  #asking = 0;
  /** Outcomes at the front that are in the log. */
  #recorded = 0;
  #recording: Promise<void> | null = null;
  #failure: unknown = null;
  #is_held = false;
  /** Whether it is known what of it the log has: nothing is asked before. */
  #is_begun = false;
  #is_over = false;
  #quiet = Promise.withResolvers<void>();

  /** `again`: it may have been worked on before, so that the log is asked what of it is there. */
  constructor(range: WorkRange, again: boolean, parts: BatchParts) {
    this.batch = range.batch;
    this.#first = range.from_index;
    this.#parts = parts;
    this.#urls.push(...range.urls);
    this.#outcomes.length = this.#urls.length;
    this.done = this.#run(again);
  }

  /** Outcomes that are there, recorded or not. */
  get found(): number {
    let found = this.#recorded;
    for (let n = this.#recorded; n < this.#urls.length; n++) if (this.#outcomes[n]) found++;
    return found;
  }

  get unrecorded(): number {
    return this.#urls.length - this.#recorded;
  }

  get is_checking(): boolean {
    return this.#asking > 0;
  }

  /** Whether the range can be made part of this one: it leaves no gap, and this one is not over. */
  takes({ from_index }: WorkRange): boolean {
    return !this.#is_over && from_index >= this.#first && from_index <= this.#first + this.#urls.length;
  }

  /** More of the batch, or the same once more: what was held is asked again. */
  extend({ from_index, urls }: WorkRange): void {
    this.#urls.push(...urls.slice(this.#first + this.#urls.length - from_index));
    this.#outcomes.length = this.#urls.length;
    this.#is_held = false;
    this.#ask();
  }

  /** Records what is there without a gap, while the rest is still being asked. */
  async recordSoFar(): Promise<void> {
    this.#recording ??= this.#record().finally(() => (this.#recording = null));
    await this.#recording;
  }

  async #run(again: boolean): Promise<Ended> {
    if (again) {
      const recorded = (await this.#parts.recordedUpTo(this.batch)) - this.#first;
      this.#recorded = Math.max(0, Math.min(recorded, this.#urls.length));
    }
    this.#is_begun = true;
    for (;;) {
      this.#ask();
      while (this.#asking > 0) await this.#quiet.promise;
      try {
        await this.recordSoFar();
      } catch (error) {
        this.#failure ??= error;
      }
      if (this.#asking > 0) continue;
      const is_recorded = this.#recorded === this.#urls.length;
      if (this.#failure === null && !is_recorded && !this.#is_held) continue;
      // From here on nothing can be added.
      this.#is_over = true;
      if (this.#failure !== null) throw this.#failure;
      return is_recorded ? 'recorded' : 'held';
    }
  }

  #ask(): void {
    if (!this.#is_begun || this.#failure !== null || this.#is_held) return;
    for (let n = this.#recorded; n < this.#urls.length; n++) {
      if (this.#outcomes[n] || this.#is_asked[n]) continue;
      if (this.#asking++ === 0) this.#quiet = Promise.withResolvers();
      this.#is_asked[n] = true;
      this.#parts.check(this.#urls[n]!).then(
        (outcome) => {
          this.#outcomes[n] = outcome;
          this.#answered(n);
        },
        (error: unknown) => {
          if (error instanceof NotStarted) this.#is_held = true;
          else this.#failure ??= error;
          this.#answered(n);
        },
      );
    }
  }

  #answered(n: number): void {
    this.#is_asked[n] = false;
    if (--this.#asking === 0) this.#quiet.resolve();
  }

  async #record(): Promise<void> {
    for (;;) {
      const from = this.#recorded;
      let end = from;
      while (end < this.#urls.length && this.#outcomes[end]) end++;
      if (end === from) return;
      const range = { batch: this.batch, from_index: this.#first + from, urls: this.#urls.slice(from, end) };
      await this.#parts.record(range, this.#outcomes.slice(from, end) as Outcome[]);
      this.#recorded = end;
    }
  }
}
