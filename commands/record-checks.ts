// Recording what a batch found: one event a URL, at the revision that the range implies.

import type { Outcome, URLChecked } from '../events/checks.ts';
import type { EventStore, NewEvent } from '../events/event-store.ts';
import { urlCheckedId } from '../events/ids.ts';
import { checksStream } from '../events/streams.ts';
import { type CommandContext, metadataOf } from './aggregate.ts';

/** A range of a job's URLs, all of one batch. */
export interface Range {
  job_id: string;
  batch: number;
  /** Of the first URL of the batch (not of the range) in the job. */
  batch_from_index: number;
  /** Of the first URL of the range in the job. */
  from_index: number;
  urls: readonly string[];
}

/**
 * `recorded` when what was missing of these events is in the log, now or before (by the same ids); `already` when the
 * range was recorded by another run of the same batch. Either way the range is done.
 */
export async function recordChecks(
  log: EventStore,
  range: Range,
  outcomes: readonly Outcome[],
  context: CommandContext,
): Promise<'recorded' | 'already'> {
  if (outcomes.length !== range.urls.length) throw new Error('one outcome a URL');
  const { job_id, batch, from_index } = range;
  const done_before = from_index - range.batch_from_index;
  const metadata = metadataOf(context);
  const events = outcomes.map((outcome, n): NewEvent<'URLChecked', URLChecked> => {
    const index = from_index + n;
    return {
      id: urlCheckedId(job_id, index),
      type: 'URLChecked',
      data: { job_id, index, url: range.urls[n]!, ...outcome },
      metadata,
    };
  });
  const stream = checksStream(job_id, batch);
  for (let done = done_before; ; ) {
    const expected = done === 0 ? ('no_stream' as const) : done - 1;
    const result = await log.append(stream, expected, events.slice(done - done_before));
    if (result.ok) return 'recorded';
    const actual = result.actual === 'no_stream' ? 0 : result.actual + 1;
    if (actual < done_before) throw new Error(`batch ${batch} of job ${job_id}: the range before is not recorded`);
    // All is there, or the stream is gone with its job.
    if (actual >= done_before + events.length || actual <= done) return 'already';
    // Another run had the range up to an earlier ceiling: the rest is this one's.
    done = actual;
  }
}
