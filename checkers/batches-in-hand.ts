// The work that a checker has in hand: the batches of each job, and the abort signals that stop them together.
import { AsyncResource } from 'node:async_hooks';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { CommandContext } from '../commands/aggregate.ts';
import { creationOf, type Jobs } from '../commands/jobs/job.ts';
import { readBatch, recordChecks } from '../commands/jobs/record-checks.ts';
import type { Outcome } from '../events/checks.ts';
import type { EventStore, Position } from '../events/event-store.ts';
import { readSealedJson } from '../events/job-options.ts';
import { jobStream } from '../events/streams.ts';
import { traced, traceparent } from '../events/tracing.ts';
import { Batch, type BatchPorts } from './batch.ts';
import type { Engine } from './engine/engine.ts';
import type { Wishes } from './engine/wishes.ts';
import type { Retry } from './retry.ts';
import type { Standing } from './standing.ts';
import type { Stop } from './stops.ts';
import type { InHand, Work, WorkRange } from './work.ts';

export interface BatchesInHandOptions {
  log: EventStore;
  jobs: Jobs;
  engine: Engine;
  logger: Logger;
  signal: AbortSignal;
  retry: Retry;
  context: (job_id: string) => CommandContext;
  /** The checker's present standing among the others. */
  standing: () => Pick<Standing, 'isFor'>;
  /** The caller passes every stop after this position to `stop`; `BatchesInHand` asks the log about earlier ones. */
  began_at: Position;
  /** Called for each outcome. */
  checked?: (outcome: Outcome) => void;
}

interface JobInHand {
  job_id: string;
  /** Aborts the requests in flight. */
  abort: AbortController;
  /** Lets no further request start. A resumed job gets a new controller. */
  hold: AbortController;
  batches: Map<number, Batch>;
  /** Null for a job without options. */
  wishes: Promise<Wishes | undefined> | null;
  ports: BatchPorts;
}

/** `done`: the worker acknowledges the message. `given_back`: the queue delivers it again, here or to another checker. */
export type WorkResult = 'done' | 'given_back';

/** Number of jobs whose latest stop this checker remembers, for messages that the queue still holds. */
const STOPS_KEPT = 10_000;

export class BatchesInHand {
  readonly #options: BatchesInHandOptions;
  readonly #jobs = new Map<string, JobInHand>();
  /** Revision of a job's latest stop, by job id: work published under an older revision is void. */
  readonly #stops = new LRUCache<string, number>({ max: STOPS_KEPT });
  #waiting_for_log = 0;

  constructor(options: BatchesInHandOptions) {
    this.#options = options;
  }

  /** Number of URLs whose outcomes wait for the log's acknowledgement. */
  get waiting_for_log(): number {
    return this.#waiting_for_log;
  }

  /** Checks and records the ranges of a message. Rejects when a batch fails for a reason that no retry mends. */
  async work(work: Work, is_redelivery: boolean): Promise<WorkResult> {
    if (this.#isVoid(work)) return 'done';
    const verified = work.position < this.#options.began_at ? this.#verify(work) : null;
    const ranges = this.#own(work).map((range) =>
      this.#takeRange(work, range, is_redelivery || range.is_begun === true),
    );
    // allSettled handles every rejection at once: one awaited later would be unhandled and end the thread.
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

  /** Records the outcomes that were found before the last call. */
  recordAged(): void {
    for (const { batches } of this.#jobs.values()) {
      // An append that fails here fails again when the batch ends, and rejects its `done`.
      for (const batch of batches.values()) batch.recordAged().catch(() => {});
    }
  }

  inHand(): InHand['jobs'] {
    return [...this.#jobs.values()].map(({ job_id, batches }) => {
      const all = [...batches.values()];
      const found = all.reduce((sum, batch) => sum + batch.found, 0);
      return { job_id, batches: [...batches.keys()], found, is_checking: all.some((batch) => batch.is_checking) };
    });
  }

  /**
   * Starts no further request of the batches in hand: each records its outcomes when its requests in flight have ended, and the worker gives its message back. A redelivery to this checker continues the batch.
   */
  hold(): void {
    for (const { hold, batches } of this.#jobs.values()) {
      for (const batch of batches.values()) batch.hold();
      hold.abort();
    }
  }

  /** Aborts every check. Outcomes found so far are recorded if the log answers at once. */
  drop(): void {
    for (const { abort } of this.#jobs.values()) abort.abort();
  }

  /** Leaves out URLs whose hosts have moved since the message was published: the dispatcher sends them to their checker. */
  #own({ view = 0, ranges }: Work): WorkRange[] {
    const standing = this.#options.standing();
    return ranges.flatMap((range) => {
      const are_ours = range.urls.map((url) => standing.isFor(url, view));
      return are_ours.includes(false) ? runsOf(range, are_ours) : [range];
    });
  }

  async #takeRange(work: Work, range: WorkRange, is_begun: boolean): Promise<'recorded' | 'held'> {
    let job = this.#jobOf(work);
    for (let there = job.batches.get(range.batch); there; there = job.batches.get(range.batch)) {
      if (!there.is_over) {
        there.extend(range);
        return there.done;
      }
      // The log has what it found.
      await there.done.catch(() => {});
      if (this.#isVoid(work)) return 'held';
      is_begun = true;
      job = this.#jobOf(work);
    }
    const step = () => ({
      name: 'check batch',
      kind: 'consumer' as const,
      attributes: { job_id: work.job_id, batch: range.batch, urls: range.urls.length },
      causes: work.traceparent === undefined ? [] : [work.traceparent],
    });
    const { ports } = job;
    let batch!: Batch;
    void traced(step, () => {
      // A timer records too, and what it records belongs to this step.
      const bound = traceparent() === undefined ? ports : { ...ports, record: AsyncResource.bind(ports.record) };
      batch = new Batch(range, is_begun, bound);
      return batch.done;
    }).catch(() => {});
    job.batches.set(range.batch, batch);
    const forget = () => {
      if (job.batches.get(range.batch) === batch) job.batches.delete(range.batch);
      if (job.batches.size === 0 && this.#jobs.get(job.job_id) === job) this.#jobs.delete(job.job_id);
    };
    batch.done.then(forget, forget);
    return batch.done;
  }

  /** Reads the job from the log, which may have stopped before this checker followed the stops. */
  async #verify({ job_id, revision }: Work): Promise<void> {
    const { jobs, retry, signal } = this.#options;
    const read = () => jobs.aggregate.read(jobStream(job_id));
    const { status } = (await retry('reading a job', read, signal)).state;
    if (status !== 'processing') {
      this.stop({ job_id, revision: revision + 1, drops_in_flight: status !== 'paused' });
    }
  }

  readonly #isVoid = (work: Work) => work.revision < (this.#stops.get(work.job_id) ?? 0);

  /** Reads the options of a job; without any where the job is deleted meanwhile, because its checks count no more. */
  async #wishesOf(job_id: string, ends: AbortSignal): Promise<Wishes | undefined> {
    const { log, retry } = this.#options;
    const read = async () => (await creationOf(log, job_id))?.data.options;
    return readSealedJson(await retry('reading the options of a job', read, ends)) as Wishes | undefined;
  }

  #jobOf({ job_id, owner_id, has_options = false }: Work): JobInHand {
    const known = this.#jobs.get(job_id);
    if (known && !known.abort.signal.aborted) {
      // The job resumed after a pause, or the queue delivers a held batch again.
      if (known.hold.signal.aborted) known.hold = new AbortController();
      return known;
    }
    const { log, engine, signal, retry, context, checked } = this.#options;
    const abort = new AbortController();
    const ends = AbortSignal.any([signal, abort.signal]);
    const reading = has_options ? this.#wishesOf(job_id, ends) : null;
    // Each check awaits it.
    reading?.catch(() => {});
    const job: JobInHand = {
      job_id,
      abort,
      hold: new AbortController(),
      batches: new Map(),
      wishes: reading,
      ports: {
        async check(url) {
          const stops = { signal: abort.signal, hold: job.hold.signal };
          const wishes = job.wishes === null ? undefined : await job.wishes;
          const options = { owner: owner_id, group: job_id, ...stops, ...(wishes && { wishes }) };
          const outcome = await engine.check(url, options);
          checked?.(outcome);
          return outcome;
        },
        record: async ({ batch, from_index, urls }, outcomes, recorded) => {
          // Checks recorded after the end of a job do not count, so they are not recorded.
          if (!signal.aborted) abort.signal.throwIfAborted();
          const found = outcomes.filter(Boolean).length;
          this.#waiting_for_log += found;
          try {
            const record = () =>
              recordChecks(log, { job_id, batch, from_index, urls }, outcomes, context(job_id), recorded);
            return (await retry('recording', record, ends)).batch;
          } finally {
            this.#waiting_for_log -= found;
          }
        },
        read: (batch) => retry('reading a batch', () => readBatch(log, { job_id, batch }), ends),
      },
    };
    this.#jobs.set(job_id, job);
    return job;
  }
}

/** The parts of a range that are marked. */
function runsOf({ from_index, urls, ...rest }: WorkRange, marked: readonly boolean[]): WorkRange[] {
  const runs: WorkRange[] = [];
  for (const [n, url] of urls.entries()) {
    if (!marked[n]) continue;
    if (marked[n - 1]) runs.at(-1)!.urls.push(url);
    else runs.push({ ...rest, from_index: from_index + n, urls: [url] });
  }
  return runs;
}
