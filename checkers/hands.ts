// What a checker has in hand: the batches of each job, held together by what stops the job.
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { CommandContext } from '../commands/aggregate.ts';
import type { Jobs } from '../commands/job.ts';
import { recordChecks, recordedUpTo } from '../commands/record-checks.ts';
import type { EventStore, Position } from '../events/event-store.ts';
import { jobStream } from '../events/streams.ts';
import { Batch, type BatchParts } from './batch.ts';
import type { Engine } from './engine/engine.ts';
import type { Patiently } from './patience.ts';
import type { Stop } from './stops.ts';
import type { InHand, Work, WorkRange } from './work.ts';

export interface HandsOptions {
  log: EventStore;
  jobs: Jobs;
  engine: Engine;
  logger: Logger;
  signal: AbortSignal;
  patiently: Patiently;
  context: (job_id: string) => CommandContext;
  /** Every stop after this position is told to `stop`; of those before it the log is asked. */
  began_at: Position;
}

interface JobInHand {
  job_id: string;
  /** Cuts off what is in flight. */
  abort: AbortController;
  /** Lets nothing more start; another one when the job goes on. */
  hold: AbortController;
  batches: Map<number, Batch>;
  parts: BatchParts;
}

/** `done`: the message needs no second delivery; `given_back`: another checker, or this one later, has to do it. */
export type WorkEnded = 'done' | 'given_back';

/** Jobs whose stops are remembered for what is still to come of them. */
const STOPS_KEPT = 10_000;

export class Hands {
  readonly #options: HandsOptions;
  readonly #jobs = new Map<string, JobInHand>();
  /** Job to the revision up to which its work is void. */
  readonly #stops = new LRUCache<string, number>({ max: STOPS_KEPT });
  #waiting_for_log = 0;

  constructor(options: HandsOptions) {
    this.#options = options;
  }

  /** URLs whose outcomes the log has not taken for want of an answer. */
  get waiting_for_log(): number {
    return this.#waiting_for_log;
  }

  /** Rejects when a batch fails for its own sake. `again`: the message was delivered before. */
  async work(work: Work, again: boolean): Promise<WorkEnded> {
    if (this.#isVoid(work)) return 'done';
    const verified = work.position < this.#options.began_at ? this.#verify(work) : null;
    const ranges = work.ranges.map((range) => this.#takeRange(work, range, again));
    // Together: a rejection that is awaited later than it comes would end the thread.
    const [verification, ...ended] = await Promise.allSettled([verified, ...ranges]);
    if (this.#isVoid(work)) return 'done';
    const failed = [verification, ...ended].find((one) => one.status === 'rejected');
    if (failed) throw failed.reason;
    return ended.every((one) => one.status === 'fulfilled' && one.value === 'recorded') ? 'done' : 'given_back';
  }

  stop({ job_id, revision, drops_in_flight }: Stop): void {
    this.#stops.set(job_id, Math.max(revision, this.#stops.get(job_id) ?? 0));
    const job = this.#jobs.get(job_id);
    if (!job) return;
    job.hold.abort();
    if (drops_in_flight) job.abort.abort();
  }

  /** Batches that take long record what they have. */
  recordSoFar(): void {
    for (const { batches } of this.#jobs.values()) {
      // What fails here fails again when the batch ends, and is heard of there.
      for (const batch of batches.values()) batch.recordSoFar().catch(() => {});
    }
  }

  inHand(): InHand['jobs'] {
    return [...this.#jobs.values()].map(({ job_id, batches }) => {
      const all = [...batches.values()];
      const found = all.reduce((sum, batch) => sum + batch.found, 0);
      return { job_id, batches: [...batches.keys()], found, is_checking: all.some((batch) => batch.is_checking) };
    });
  }

  /** Cuts off everything; what was found is recorded as far as the log answers at once. */
  drop(): void {
    for (const { abort } of this.#jobs.values()) abort.abort();
  }

  async #takeRange(work: Work, range: WorkRange, again: boolean): Promise<'recorded' | 'held'> {
    let job = this.#jobOf(work);
    for (let there = job.batches.get(range.batch); there; there = job.batches.get(range.batch)) {
      if (there.takes(range)) {
        there.extend(range);
        return there.done;
      }
      // Another part of the batch, which comes first or after a gap: what the log then has of it is not asked again.
      await there.done.catch(() => {});
      if (this.#isVoid(work)) return 'held';
      again = true;
      job = this.#jobOf(work);
    }
    const batch = new Batch(range, again, job.parts);
    job.batches.set(range.batch, batch);
    const forget = () => {
      if (job.batches.get(range.batch) === batch) job.batches.delete(range.batch);
      if (job.batches.size === 0 && this.#jobs.get(job.job_id) === job) this.#jobs.delete(job.job_id);
    };
    batch.done.then(forget, forget);
    return batch.done;
  }

  /** A job that stopped before this checker began to listen. */
  async #verify({ job_id, revision }: Work): Promise<void> {
    const { jobs, patiently, signal } = this.#options;
    const read = () => jobs.aggregate.read(jobStream(job_id));
    const { status } = (await patiently('reading a job', read, signal)).state;
    if (status !== 'processing') {
      this.stop({ job_id, revision: revision + 1, drops_in_flight: status !== 'paused' });
    }
  }

  readonly #isVoid = (work: Work) => work.revision < (this.#stops.get(work.job_id) ?? 0);

  #jobOf({ job_id, owner_id, batch_size }: Work): JobInHand {
    const known = this.#jobs.get(job_id);
    if (known && !known.abort.signal.aborted) {
      // It goes on after a pause.
      if (known.hold.signal.aborted) known.hold = new AbortController();
      return known;
    }
    const { log, engine, signal, patiently, context } = this.#options;
    const abort = new AbortController();
    const ends = AbortSignal.any([signal, abort.signal]);
    const at = (batch: number) => ({ job_id, batch, batch_from_index: batch * batch_size });
    const job: JobInHand = {
      job_id,
      abort,
      hold: new AbortController(),
      batches: new Map(),
      parts: {
        check: (url) =>
          engine.check(url, { owner: owner_id, group: job_id, signal: abort.signal, hold: job.hold.signal }),
        record: async ({ batch, from_index, urls }, outcomes) => {
          // Of a job that has ended nothing counts any more.
          if (!signal.aborted) abort.signal.throwIfAborted();
          this.#waiting_for_log += urls.length;
          try {
            const range = { ...at(batch), from_index, urls };
            await patiently('recording', () => recordChecks(log, range, outcomes, context(job_id)), ends);
          } finally {
            this.#waiting_for_log -= urls.length;
          }
        },
        recordedUpTo: (batch) => patiently('reading a batch', () => recordedUpTo(log, at(batch)), ends),
      },
    };
    this.#jobs.set(job_id, job);
    return job;
  }
}
