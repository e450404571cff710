// A job's URLs that are taken from its list and not done yet, by the job's document. Each batch is read once, and its URLs wait here for a
// message to the checker that has their hosts. Without effects.
import { type Done, doneWithin, isDone, leading } from '../readmodels/jobs/batch-progress.ts';
import type { JobDocument } from '../readmodels/jobs/jobs.ts';

/** URLs of a batch that are to be read from the list. */
export interface Range {
  batch: number;
  from: number;
  to: number;
}

/** A URL that waits for a message. */
export interface WaitingUrl {
  batch: number;
  index: number;
  url: string;
  /** Whether the log may have its outcome: somebody had worked on the batch before. */
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

/** The checker for a URL; null while there is none. */
export type TargetOf = (url: string) => string | null;

/** URLs that a checker will not do, of a batch that was sent to it: all, or those that `isReturned`. */
interface Returned {
  batch: number;
  target: string;
  isReturned: (url: string) => boolean;
}

interface Taken extends Range {
  /** What the job's document last said of the batch. */
  done: Done;
  /** The URLs of the range without an outcome. */
  open: number;
  is_begun: boolean;
  /** The indexes that are with each target. One from which all were returned keeps its entry. */
  sent: Map<string, Set<number>>;
}

/** A job between its start or resumption and its next stop. Work published before its start is void. */
export class Flight {
  job: Progress;
  /** The number of URLs that are taken and not done. */
  held = 0;
  /** How many times work was lost or returned: a message that is published again needs another id. */
  losses = 0;
  /** How many times in a row the listing lacked URLs. */
  unlisted = 0;
  /** The search for batches that are not taken starts here: no lower one is left. */
  #next: number;
  readonly #taken = new Map<number, Taken>();
  /** By batch and target. */
  readonly #returned = new Map<string, Returned>();
  #waiting = new Map<string | null, WaitingUrl[]>();

  constructor(job: Progress) {
    this.job = job;
    this.#next = job.batches_done_before;
  }

  /** Takes a newer document of the job; calls `ended` for each taken batch that is done, with those to which it was sent. */
  progressed(job: Progress, ended: (batch: number, targets: Iterable<string>) => void): void {
    this.job = job;
    for (const taken of this.#taken.values()) {
      const { batch } = taken;
      const done = doneOf(job, batch);
      if (done === taken.done) continue;
      const open = openIn(job, taken, done);
      this.held -= taken.open - open;
      Object.assign(taken, { done, open });
      if (open > 0) continue;
      this.#taken.delete(batch);
      // A credit ceiling may have left a rest of the batch.
      this.#next = Math.min(this.#next, batch);
      ended(batch, taken.sent.keys());
    }
  }

  /** Whether a message to the target has URLs waiting. */
  waitsFor(target: string): boolean {
    return this.#waiting.has(target);
  }

  /** How many URLs wait for a message to the target. */
  waiting(target: string): number {
    return this.#waiting.get(target)?.length ?? 0;
  }

  /** The next range to read and then to `take`: one that was returned, else one that nobody has had; null when there is none. */
  next(): Range | null {
    const { job } = this;
    for (const [key, { batch, target }] of this.#returned) {
      const taken = this.#taken.get(batch);
      if (taken?.sent.get(target)?.size) return taken;
      this.#returned.delete(key);
    }
    const batches = Math.ceil(job.credits_allocated / job.batch_size);
    for (; this.#next < batches; this.#next++) {
      const range = this.#taken.has(this.#next) ? null : rangeOf(job, this.#next);
      if (range) return range;
    }
    return null;
  }

  /** Whether the next range was taken before, so that it adds nothing to the URLs that are held. */
  get isNextReturned(): boolean {
    this.next();
    return this.#returned.size > 0;
  }

  /** Takes what `next` returned: its URLs wait for messages to their targets. */
  take(range: Range, urls: readonly string[], targetOf: TargetOf): void {
    const { batch, from } = range;
    const known = this.#taken.get(batch);
    if (known) {
      this.#takeAgain(known, urls, targetOf);
      return;
    }
    const done = doneOf(this.job, batch);
    const is_begun = done !== 0;
    const open = openIn(this.job, range, done);
    this.#taken.set(batch, { ...range, done, open, is_begun, sent: new Map() });
    this.held += open;
    for (const [n, url] of urls.entries()) this.#wait({ batch, index: from + n, url, is_begun }, targetOf);
  }

  #takeAgain(taken: Taken, urls: readonly string[], targetOf: TargetOf): void {
    const [key, { batch, target, isReturned }] = this.#returned.entries().next().value!;
    this.#returned.delete(key);
    const sent = taken.sent.get(target)!;
    taken.is_begun = true;
    for (const index of sent) {
      const url = urls[index - taken.from]!;
      if (!isReturned(url)) continue;
      sent.delete(index);
      this.#wait({ batch, index, url, is_begun: true }, targetOf);
    }
  }

  /** Notes the first URLs that wait for the target as sent, while `fits` says so. Returns whether it refused the first one. */
  send(target: string, fits: (url: WaitingUrl) => boolean): boolean {
    const waiting = this.#waiting.get(target) ?? [];
    let [seen, sent] = [0, 0];
    for (const one of waiting) {
      const taken = this.#taken.get(one.batch);
      if (taken && !isDone(taken.done, one.index - one.batch * this.job.batch_size)) {
        if (!fits(one)) break;
        const indexes = taken.sent.get(target);
        if (indexes) indexes.add(one.index);
        else taken.sent.set(target, new Set([one.index]));
        sent++;
      }
      seen++;
    }
    if (seen === waiting.length) this.#waiting.delete(target);
    else waiting.splice(0, seen);
    return sent === 0;
  }

  /** The target will not do what was sent to it of this batch, so that `next` returns it again. */
  lost(batch: number, target: string, isReturned: (url: string) => boolean = () => true): void {
    if (!this.#taken.get(batch)?.sent.get(target)?.size) return;
    this.losses++;
    const key = `${batch}:${target}`;
    const before = this.#returned.get(key)?.isReturned;
    this.#returned.set(key, {
      batch,
      target,
      isReturned: before ? (url) => before(url) || isReturned(url) : isReturned,
    });
  }

  /** The batches of which something was sent to the target. */
  sentTo(target: string): number[] {
    return [...this.#taken.values()].filter(({ sent }) => sent.get(target)?.size).map(({ batch }) => batch);
  }

  /** URLs have other targets now. */
  sortAgain(targetOf: TargetOf): void {
    const before = this.#waiting;
    this.#waiting = new Map();
    for (const waiting of before.values()) for (const one of waiting) this.#wait(one, targetOf);
  }

  #wait(one: WaitingUrl, targetOf: TargetOf): void {
    const target = targetOf(one.url);
    const waiting = this.#waiting.get(target);
    if (waiting) waiting.push(one);
    else this.#waiting.set(target, [one]);
  }
}

/** The URLs of a batch that are paid for, from the first unchecked one on; null when all are checked. */
function rangeOf(job: Progress, batch: number): Range | null {
  const from = batch * job.batch_size + leading(doneOf(job, batch));
  const to = Math.min((batch + 1) * job.batch_size, job.credits_allocated);
  return from >= to ? null : { batch, from, to };
}

function doneOf(job: Progress, batch: number): Done {
  if (batch < job.batches_done_before) return job.batch_size;
  return job.batches_done[batch] ?? 0;
}

function openIn({ batch_size }: Progress, { batch, from, to }: Range, done: Done): number {
  const first = batch * batch_size;
  return to - from - doneWithin(done, from - first, to - first);
}

/** Copies the fields that a flight keeps of a job's document. */
export function progressOf(job: JobDocument): Progress {
  const { _id, owner_id, revision, batch_size, total_urls, credits_allocated, position } = job;
  const { batches_done_before, batches_done, options } = job;
  return {
    ...{ _id, owner_id, revision, batch_size, total_urls, credits_allocated, position },
    ...{ batches_done_before, batches_done, has_options: options !== undefined },
  };
}
