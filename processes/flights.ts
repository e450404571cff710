// What is published of each job and not done yet, as far as its document tells. Pure.
import type { JobDocument } from '../readmodels/jobs.ts';

export interface Range {
  batch: number;
  from: number;
  to: number;
}

/** What the dispatcher has to know of a job's document. */
export type Progress = Pick<
  JobDocument,
  | '_id'
  | 'owner_id'
  | 'revision'
  | 'batch_size'
  | 'total_urls'
  | 'credits_allocated'
  | 'batches_done_before'
  | 'batches_done'
  | 'position'
>;

/** A job from one start or resumption to its next stop: what was published before that is void. */
export class Flight {
  job: Progress;
  /** URLs that are published and not done. */
  held = 0;
  /** How often something of it was lost: what is published again needs an id of its own. */
  losses = 0;
  /** How often its listing lacked URLs. */
  unlisted = 0;
  /** The lowest batch of which nothing may have been published. */
  #next: number;
  readonly #published = new Map<number, Range>();

  constructor(job: Progress) {
    this.job = job;
    this.#next = job.batches_done_before;
  }

  /** What its document says now; `ended` hears of each batch that is done. */
  progressed(job: Progress, ended: (batch: number) => void): void {
    this.job = job;
    for (const [batch, { to }] of this.#published) {
      if (doneUpTo(job, batch) < to) continue;
      this.#forget(batch);
      ended(batch);
    }
  }

  /** The next range that has not been published; null when there is none. */
  next(): Range | null {
    const { job } = this;
    const batches = Math.ceil(job.credits_allocated / job.batch_size);
    for (; this.#next < batches; this.#next++) {
      if (this.#published.has(this.#next)) continue;
      const range = rangeOf(job, this.#next);
      if (range) return range;
    }
    return null;
  }

  published(range: Range): void {
    this.#published.set(range.batch, range);
    this.held += range.to - range.from;
  }

  /** It is to be published again. */
  lost(batch: number): void {
    if (this.#published.has(batch)) this.#forget(batch);
  }

  #forget(batch: number): void {
    const { from, to } = this.#published.get(batch)!;
    this.#published.delete(batch);
    this.held -= to - from;
    // What a ceiling or the size of a message left of it.
    this.#next = Math.min(this.#next, batch);
  }
}

/** What is missing of a batch and paid for; null when nothing is. */
function rangeOf(job: Progress, batch: number): Range | null {
  const from = doneUpTo(job, batch);
  const to = Math.min((batch + 1) * job.batch_size, job.credits_allocated);
  return from < to ? { batch, from, to } : null;
}

/** The index in the job up to which a batch is checked. */
function doneUpTo(job: Progress, batch: number): number {
  if (batch < job.batches_done_before) return Math.min((batch + 1) * job.batch_size, job.total_urls);
  return batch * job.batch_size + (job.batches_done[batch] ?? 0);
}
