// A job's batches that are published and not done yet, by the job's document. Without effects.
import { type Done, doneWithin, leading } from '../readmodels/batch-progress.ts';
import type { JobDocument } from '../readmodels/jobs.ts';

export interface Range {
  batch: number;
  from: number;
  to: number;
  /** The URLs of the range without an outcome. */
  open: number;
  /** Whether the log may have outcomes of the range: somebody had worked on the batch before. */
  is_begun: boolean;
}

/** The fields of a job's document that the dispatcher needs. */
export type Progress = { has_options?: boolean } & Pick<
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
  readonly #published = new Map<number, PublishedRange>();
  /** Batches whose published work was lost. */
  readonly #lost = new Set<number>();

  constructor(job: Progress) {
    this.job = job;
    this.#next = job.batches_done_before;
  }

  /** Takes a newer document of the job; calls `ended` for each published batch that is done. */
  progressed(job: Progress, ended: (batch: number) => void): void {
    this.job = job;
    for (const range of this.#published.values()) {
      const { batch } = range;
      const done = doneOf(job, batch);
      if (done === range.done) continue;
      const open = openIn(job, range, done);
      this.held -= range.open - open;
      Object.assign(range, { done, open });
      if (open > 0) continue;
      this.#forget(batch);
      this.#lost.delete(batch);
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
      if (range) return this.#lost.has(range.batch) ? { ...range, is_begun: true } : range;
    }
    return null;
  }

  /** Notes that the range is published up to and without `to`. */
  published(range: Range, to = range.to): void {
    const done = doneOf(this.job, range.batch);
    const open = openIn(this.job, { ...range, to }, done);
    this.#published.set(range.batch, { ...range, to, open, done });
    this.held += open;
  }

  /** Marks a batch as unpublished, so that `next` returns it again. */
  lost(batch: number): void {
    if (!this.#published.has(batch)) return;
    this.#lost.add(batch);
    this.#forget(batch);
  }

  #forget(batch: number): void {
    this.held -= this.#published.get(batch)!.open;
    this.#published.delete(batch);
    // A credit ceiling or the size of a message may have left a rest of the batch.
    this.#next = Math.min(this.#next, batch);
  }
}

interface PublishedRange extends Range {
  /** What the job's document last said of the batch. */
  done: Done;
}

/** Returns the URLs of a batch that are paid for, from the first unchecked one on; null when all are checked. */
function rangeOf(job: Progress, batch: number): Range | null {
  const done = doneOf(job, batch);
  const from = batch * job.batch_size + leading(done);
  const to = Math.min((batch + 1) * job.batch_size, job.credits_allocated);
  if (from >= to) return null;
  return { batch, from, to, open: openIn(job, { batch, from, to }, done), is_begun: done !== 0 };
}

function doneOf(job: Progress, batch: number): Done {
  if (batch < job.batches_done_before) return job.batch_size;
  return job.batches_done[batch] ?? 0;
}

function openIn(
  { batch_size }: Progress,
  { batch, from, to }: Pick<Range, 'batch' | 'from' | 'to'>,
  done: Done,
): number {
  const first = batch * batch_size;
  return to - from - doneWithin(done, from - first, to - first);
}
