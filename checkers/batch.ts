// A batch that this checker works on. It checks URLs in any order and records their outcomes a second or two after they are found.
// Later messages may extend the batch, and a held batch continues where it stopped when its job resumes.
import { EMPTY_BATCH, type RecordedBatch } from '../commands/record-checks.ts';
import type { Outcome } from '../events/checks.ts';
import { NotStarted } from './engine/engine.ts';
import type { WorkRange } from './work.ts';

/** The effects of a batch. Each of them rejects when the job is cancelled or the worker stops. */
export interface BatchPorts {
  /** Rejects with `NotStarted` when the job is held before a request is in flight. */
  check(url: string): Promise<Outcome>;
  /**
   * Resolves when the log has the outcomes of the range that are not undefined, whichever checker appended them. `recorded` is the
   * batch in the log as it was last seen; the answer is the batch now.
   */
  record(range: WorkRange, outcomes: readonly (Outcome | undefined)[], recorded: RecordedBatch): Promise<RecordedBatch>;
  read(batch: number): Promise<RecordedBatch>;
}

/** `recorded`: the log has every outcome. `held`: the job was held; the queue delivers URLs without an outcome again. */
export type BatchResult = 'recorded' | 'held';

export class Batch {
  readonly batch: number;
  readonly done: Promise<BatchResult>;
  readonly #ports: BatchPorts;
  /** Index of `#urls[0]` in the job. */
  readonly #first: number;
  /** The URLs, and the outcomes that the log lacks: a batch in hand keeps nothing that nobody reads. */
  readonly #urls: string[] = [];
  readonly #outcomes: (Outcome | undefined)[] = [];
  /** Whether the check of each URL runs. */
  readonly #is_in_flight: boolean[] = [];
  /** Whether the log has the outcome of each URL. */
  readonly #is_recorded: boolean[] = [];
  /** Number of checks that run. */
  #in_flight = 0;
  /** Number of outcomes that the log lacks. */
  #unrecorded = 0;
  /** Whether some of them were there at the last look of `recordAged`. */
  #is_aged = false;
  #recorded = 0;
  /** The batch in the log, as this checker last saw it. */
  #in_log: RecordedBatch = EMPTY_BATCH;
  #recording: Promise<void> | null = null;
  #failure: unknown = null;
  #is_held = false;
  /** Whether `#in_log` was read where it had to be. The batch checks no URL before. */
  #is_ready = false;
  #is_over = false;
  #none_in_flight = Promise.withResolvers<void>();

  /** `is_begun`: the log may have outcomes of the range, so the batch asks it first. */
  constructor(range: WorkRange, is_begun: boolean, ports: BatchPorts) {
    this.batch = range.batch;
    this.#first = range.from_index;
    this.#ports = ports;
    this.#urls.push(...range.urls);
    this.done = this.#run(is_begun);
  }

  /** Number of outcomes found, recorded or not. */
  get found(): number {
    return this.#recorded + this.#unrecorded;
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
    this.#is_held = false;
    this.#leaveOutRecorded();
    this.#checkMissing();
  }

  /** Starts no further check until `extend`. The checks that run go on to their end. */
  hold(): void {
    this.#is_held = true;
  }

  /** Records the outcomes found so far, if some of them were there at the last call: few events have many outcomes each. */
  async recordAged(): Promise<void> {
    if (this.#is_aged) await this.recordSoFar();
    this.#is_aged = this.#unrecorded > 0;
  }

  /** Records the outcomes found so far while the other checks run. */
  async recordSoFar(): Promise<void> {
    this.#recording ??= this.#record().finally(() => (this.#recording = null));
    await this.#recording;
  }

  async #run(is_begun: boolean): Promise<BatchResult> {
    if (is_begun) {
      this.#in_log = await this.#ports.read(this.batch);
      this.#leaveOutRecorded();
    }
    this.#is_ready = true;
    for (;;) {
      this.#checkMissing();
      while (this.#in_flight > 0) await this.#none_in_flight.promise;
      try {
        while (this.#unrecorded > 0) await this.recordSoFar();
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
    for (const [n, url] of this.#urls.entries()) {
      if (this.#is_recorded[n] || this.#outcomes[n] || this.#is_in_flight[n]) continue;
      if (this.#in_flight++ === 0) this.#none_in_flight = Promise.withResolvers();
      this.#is_in_flight[n] = true;
      this.#ports.check(url).then(
        (outcome) => {
          // Another checker may have recorded one meanwhile.
          if (!this.#is_recorded[n]) {
            this.#outcomes[n] = outcome;
            this.#unrecorded++;
          }
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
    const from = this.#outcomes.findIndex(Boolean);
    if (from < 0) return;
    const to = this.#outcomes.findLastIndex(Boolean) + 1;
    const outcomes = this.#outcomes.slice(from, to);
    const range = { batch: this.batch, from_index: this.#first + from, urls: this.#urls.slice(from, to) };
    this.#in_log = await this.#ports.record(range, outcomes, this.#in_log);
    for (const [n, outcome] of outcomes.entries()) if (outcome) this.#isInLog(from + n);
    this.#leaveOutRecorded();
  }

  /** Leaves out the URLs that the log has, from whichever checker. */
  #leaveOutRecorded(): void {
    for (const index of this.#in_log.known) {
      const n = index - this.#first;
      if (n >= 0 && n < this.#urls.length) this.#isInLog(n);
    }
  }

  #isInLog(n: number): void {
    if (this.#is_recorded[n]) return;
    this.#is_recorded[n] = true;
    this.#recorded++;
    if (this.#outcomes[n]) this.#unrecorded--;
    this.#outcomes[n] = undefined;
    this.#urls[n] = '';
  }
}
