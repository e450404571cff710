// A batch that this checker works on. It checks URLs in any order and records their outcomes in the order of the job, up to
// the first gap. Later messages may extend the batch, and a held batch continues where it stopped when its job resumes.
import type { BatchEnd } from '../commands/record-checks.ts';
import type { Outcome } from '../events/checks.ts';
import { NotStarted } from './engine/engine.ts';
import type { WorkRange } from './work.ts';

/** The effects of a batch. Each of them rejects when the job is cancelled or the worker stops. */
export interface BatchPorts {
  /** Rejects with `NotStarted` when the job is held before a request is in flight. */
  check(url: string): Promise<Outcome>;
  /**
   * Resolves when the log has the outcomes of the range, whichever checker appended them, to the batch's end in the log.
   * `end` is the end as the batch last saw it; null before it saw one.
   */
  record(range: WorkRange, outcomes: readonly Outcome[], end: BatchEnd | null): Promise<BatchEnd>;
  readEnd(batch: number): Promise<BatchEnd>;
}

/** `recorded`: the log has every outcome. `held`: the job was held; the queue delivers URLs without an outcome again. */
export type BatchResult = 'recorded' | 'held';

export class Batch {
  readonly batch: number;
  readonly done: Promise<BatchResult>;
  readonly #ports: BatchPorts;
  /** Index of `#urls[0]` in the job. */
  readonly #first: number;
  /** The URLs and outcomes, without those that the log has: a batch in hand keeps nothing that nobody reads. */
  readonly #urls: string[] = [];
  readonly #outcomes: (Outcome | undefined)[] = [];
  /** Whether the check of each URL runs. */
  readonly #is_in_flight: boolean[] = [];
  /** Number of checks that run. */
  #in_flight = 0;
  /** Number of outcomes in the log, counted from the first URL. */
  #recorded = 0;
  #end: BatchEnd | null = null;
  #recording: Promise<void> | null = null;
  #failure: unknown = null;
  #is_held = false;
  /** Whether `#recorded` is known. The batch checks no URL before. */
  #is_ready = false;
  #is_over = false;
  #none_in_flight = Promise.withResolvers<void>();

  /** `is_redelivery`: another checker may have recorded some of the range, so the batch asks the log first. */
  constructor(range: WorkRange, is_redelivery: boolean, ports: BatchPorts) {
    this.batch = range.batch;
    this.#first = range.from_index;
    this.#ports = ports;
    this.#urls.push(...range.urls);
    this.#outcomes.length = this.#urls.length;
    this.done = this.#run(is_redelivery);
  }

  /** Number of outcomes found, recorded or not. */
  get found(): number {
    let found = this.#recorded;
    for (let n = this.#recorded; n < this.#urls.length; n++) if (this.#outcomes[n]) found++;
    return found;
  }

  get is_checking(): boolean {
    return this.#in_flight > 0;
  }

  /** Whether `extend` takes the range: the range leaves no gap, and the batch has not ended. */
  canExtendWith({ from_index }: WorkRange): boolean {
    return !this.#is_over && from_index >= this.#first && from_index <= this.#first + this.#urls.length;
  }

  /** Adds the URLs of the range that the batch lacks, and checks held URLs again. */
  extend({ from_index, urls }: WorkRange): void {
    this.#urls.push(...urls.slice(this.#first + this.#urls.length - from_index));
    this.#outcomes.length = this.#urls.length;
    this.#is_held = false;
    this.#checkMissing();
  }

  /** Starts no further check until `extend`. The checks that run go on to their end. */
  hold(): void {
    this.#is_held = true;
  }

  /** Records the outcomes before the first gap while the other checks run. */
  async recordSoFar(): Promise<void> {
    this.#recording ??= this.#record().finally(() => (this.#recording = null));
    await this.#recording;
  }

  async #run(is_redelivery: boolean): Promise<BatchResult> {
    if (is_redelivery) {
      this.#end = await this.#ports.readEnd(this.batch);
      this.#recorded = Math.max(0, Math.min(this.#end.to_index - this.#first, this.#urls.length));
    }
    this.#is_ready = true;
    for (;;) {
      this.#checkMissing();
      while (this.#in_flight > 0) await this.#none_in_flight.promise;
      try {
        await this.recordSoFar();
      } catch (error) {
        this.#failure ??= error;
      }
      if (this.#in_flight > 0) continue;
      const is_recorded = this.#recorded === this.#urls.length;
      if (this.#failure === null && !is_recorded && !this.#is_held) continue;
      // From here on `extend` can add nothing.
      this.#is_over = true;
      if (this.#failure !== null) throw this.#failure;
      return is_recorded ? 'recorded' : 'held';
    }
  }

  #checkMissing(): void {
    if (!this.#is_ready || this.#failure !== null || this.#is_held) return;
    for (let n = this.#recorded; n < this.#urls.length; n++) {
      if (this.#outcomes[n] || this.#is_in_flight[n]) continue;
      if (this.#in_flight++ === 0) this.#none_in_flight = Promise.withResolvers();
      this.#is_in_flight[n] = true;
      this.#ports.check(this.#urls[n]!).then(
        (outcome) => {
          this.#outcomes[n] = outcome;
          this.#settle(n);
        },
        (error: unknown) => {
          if (error instanceof NotStarted) this.#is_held = true;
          else this.#failure ??= error;
          this.#settle(n);
        },
      );
    }
  }

  #settle(n: number): void {
    this.#is_in_flight[n] = false;
    if (--this.#in_flight === 0) this.#none_in_flight.resolve();
  }

  async #record(): Promise<void> {
    for (;;) {
      const from = this.#recorded;
      let end = from;
      while (end < this.#urls.length && this.#outcomes[end]) end++;
      if (end === from) return;
      const range = { batch: this.batch, from_index: this.#first + from, urls: this.#urls.slice(from, end) };
      this.#end = await this.#ports.record(range, this.#outcomes.slice(from, end) as Outcome[], this.#end);
      this.#recorded = end;
      this.#outcomes.fill(undefined, from, end);
      this.#urls.fill('', from, end);
    }
  }
}
