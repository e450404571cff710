// A job's batches that are published and not done yet, by the job's document. Without effects.
import type { JobDocument } from '../readmodels/jobs.ts';

export interface Range {
  batch: number;
  from: number;
  to: number;
}

/** The fields of a job's document that the dispatcher needs. */
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

/** A job between its start or resumption and its next stop. Work published before its start is void. */
export class Flight {
  job: Progress;
  /** The number of URLs that are published and not done. */
  held = 0;
  /** How many batches were lost: a message that is published again needs another id. */
  losses = 0;
  /** How many times in a row the listing lacked URLs. */
  unlisted = 0;
  /** The search for unpublished ranges starts at this batch: no lower batch has any. */
  #next: number;
  readonly #published = new Map<number, Range>();

  constructor(job: Progress) {
    this.job = job;
    this.#next = job.batches_done_before;
  }

  /** Takes a newer document of the job; calls `ended` for each published batch that is done. */
  progressed(job: Progress, ended: (batch: number) => void): void {
    this.job = job;
    for (const [batch, { to }] of this.#published) {
      if (doneUpTo(job, batch) < to) continue;
      this.#forget(batch);
      ended(batch);
    }
  }

  /** Returns the next unpublished range; null when there is none. */
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

  /** Marks a batch as unpublished, so that `next` returns it again. */
  lost(batch: number): void {
    if (this.#published.has(batch)) this.#forget(batch);
  }

  #forget(batch: number): void {
    const { from, to } = this.#published.get(batch)!;
    this.#published.delete(batch);
    this.held -= to - from;
    // A credit ceiling or the size of a message may have left a rest of the batch.
    this.#next = Math.min(this.#next, batch);
  }
}

/** Returns the URLs of a batch that are paid for and not checked; null when there are none. */
function rangeOf(job: Progress, batch: number): Range | null {
  const from = doneUpTo(job, batch);
  const to = Math.min((batch + 1) * job.batch_size, job.credits_allocated);
  return from < to ? { batch, from, to } : null;
}

/** Returns the index in the job of the batch's first unchecked URL. */
function doneUpTo(job: Progress, batch: number): number {
  if (batch < job.batches_done_before) return Math.min((batch + 1) * job.batch_size, job.total_urls);
  return batch * job.batch_size + (job.batches_done[batch] ?? 0);
}
