// The message that hands work to a checker.
import type { Message } from '../checkers/queue.ts';
import type { Work, WorkRange } from '../checkers/work.ts';
import type { Flight } from './flights.ts';

export interface MessageFacts {
  ranges: WorkRange[];
  /** The view that the work is sent in; absent for work that whichever checker takes. */
  view: number | undefined;
  traceparent: string | undefined;
  /** Ends the id: a message that is published again, or in another view, is no repeat of the first. */
  suffix: string;
}

export function workMessage(job: Flight['job'], { ranges, view, traceparent, suffix }: MessageFacts): Message {
  const { _id: job_id, owner_id, revision, batch_size, position } = job;
  const [first, last] = [ranges[0]!, ranges.at(-1)!];
  const id = `${job_id}:${first.from_index}-${last.from_index + last.urls.length}:${revision}${suffix}`;
  const work: Work = { owner_id, job_id, revision, batch_size, position, ranges };
  if (traceparent !== undefined) work.traceparent = traceparent;
  if (job.has_options) work.has_options = true;
  if (view !== undefined) work.view = view;
  return { id, body: work };
}
