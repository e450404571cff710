// URLs of a batch that this checker works on; others of the batch may be another checker's. It checks them in any order and records their
// outcomes a second or two after they are found. Later messages may bring more URLs, and a held batch continues when its job resumes.
import { EMPTY_BATCH, type RecordedBatch } from '../commands/jobs/record-checks.ts';
import type { Outcome } from '../events/checks.ts';
import { NotStarted, Released } from './engine/engine.ts';
import type { WorkRange } from './work.ts';

/** The effects of a batch. Each of them rejects when the job is cancelled or the worker stops. */
export interface BatchPorts {
  /** Rejects with `NotStarted` when the job is held before a request is in flight, and with `Released` when its host has moved. */
  check(url: string): Promise<Outcome>;
  /**
   * Resolves when the log has the outcomes of the range that are not undefined, whichever checker appended them. `recorded` is the
   * batch in the log as it was last seen; the answer is the batch now.
   */
  record(range: WorkRange, outcomes: readonly (Outcome | undefined)[], recorded: RecordedBatch): Promise<RecordedBatch>;
  read(batch: number): Promise<RecordedBatch>;
}

/**
 * `recorded`: the log has every outcome, but for URLs that are another checker's now. `held`: the job was held; the queue delivers URLs
 * without an outcome again.
 */
export type BatchResult = 'recorded' | 'held';

interface Entry {
  /** Empty once the log has the outcome: a batch in hand keeps nothing that nobody reads. */
  url: string;
  /** Until the log has it. */
  outcome: Outcome | undefined;
  state: 'waiting' | 'in_flight' | 'found' | 'recorded' | 'released';
}

export class Batch {
  readonly batch: number;
  readonly done: Promise<BatchResult>;
  readonly #ports: BatchPorts;
  /** By index in the job. */
  readonly #entries = new Map<number, Entry>();
  /** Number of checks that run. */
  #in_flight = 0;
  /** Number of outcomes that the log lacks. */
  #unrecorded = 0;
  /** Whether some of them were there at the last look of `recordAged`. */
  #is_aged = false;
  #recorded = 0;
  #released = 0;
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
    this.#ports = ports;
    this.#add(range);
    this.done = this.#run(is_begun);
  }

  /** Number of outcomes found, recorded or not. */
  get found(): number {
    return this.#recorded + this.#unrecorded;
  }

  get is_checking(): boolean {
    return this.#in_flight > 0;
  }

  /** Whether the batch has ended, so that it takes no more URLs. */
  get is_over(): boolean {
    return this.#is_over;
  }

  /** Adds the URLs of the range that the batch lacks, and checks held and released URLs again. */
  extend(range: WorkRange): void {
    this.#add(range);
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

  #add({ from_index, urls }: WorkRange): void {
    for (const [n, url] of urls.entries()) {
      const entry = this.#entries.get(from_index + n);
      if (entry === undefined) {
        this.#entries.set(from_index + n, { url, outcome: undefined, state: 'waiting' });
      } else if (entry.state === 'released') {
        entry.state = 'waiting';
        this.#released--;
      }
    }
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
      const is_recorded = this.#recorded + this.#released === this.#entries.size;
      if (this.#failure === null && !is_recorded && !this.#is_held) continue;
      // From here on `extend` can add nothing.
      this.#is_over = true;
      if (this.#failure !== null) throw this.#failure;
      return is_recorded ? 'recorded' : 'held';
    }
  }

  #checkMissing(): void {
    if (!this.#is_ready || this.#failure !== null || this.#is_held) return;
    for (const [index, entry] of this.#entries) {
      if (entry.state !== 'waiting') continue;
      if (this.#in_flight++ === 0) this.#none_in_flight = Promise.withResolvers();
      entry.state = 'in_flight';
      this.#ports.check(entry.url).then(
        (outcome) => {
          entry.outcome = outcome;
          entry.state = 'found';
          this.#unrecorded++;
          // Another checker may have recorded one meanwhile.
          if (this.#in_log.known.has(index)) this.#isInLog(entry);
          this.#settle();
        },
        (error: unknown) => {
          entry.state = 'waiting';
          if (this.#in_log.known.has(index)) {
            this.#isInLog(entry);
          } else if (error instanceof Released) {
            entry.state = 'released';
            this.#released++;
          } else if (error instanceof NotStarted) {
            this.#is_held = true;
          } else {
            this.#failure ??= error;
          }
          this.#settle();
        },
      );
    }
  }

  #settle(): void {
    if (--this.#in_flight === 0) this.#none_in_flight.resolve();
  }

  async #record(): Promise<void> {
    const found = [...this.#entries].filter(([, { state }]) => state === 'found');
    if (found.length === 0) return;
    const indexes = found.map(([index]) => index);
    const [from, to] = [Math.min(...indexes), Math.max(...indexes) + 1];
    const urls = Array<string>(to - from).fill('');
    const outcomes = Array<Outcome | undefined>(to - from).fill(undefined);
    for (const [index, { url, outcome }] of found) {
      urls[index - from] = url;
      outcomes[index - from] = outcome;
    }
    this.#in_log = await this.#ports.record({ batch: this.batch, from_index: from, urls }, outcomes, this.#in_log);
    for (const [, entry] of found) this.#isInLog(entry);
    this.#leaveOutRecorded();
  }

  /** Leaves out the URLs that the log has, from whichever checker. Checks that run go on to their end. */
  #leaveOutRecorded(): void {
    for (const index of this.#in_log.known) {
      const entry = this.#entries.get(index);
      if (entry && entry.state !== 'in_flight') this.#isInLog(entry);
    }
  }

  #isInLog(entry: Entry): void {
    if (entry.state === 'recorded') return;
    if (entry.state === 'found') this.#unrecorded--;
    if (entry.state === 'released') this.#released--;
    this.#recorded++;
    entry.state = 'recorded';
    entry.outcome = undefined;
    entry.url = '';
  }
}
