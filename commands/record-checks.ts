// Recording what a batch found: one event a URL, at the revision that the range implies.

import { boundedOutcome, type Outcome, type URLChecked } from '../events/checks.ts';
import { appendRuns, type EventStore, MAX_APPEND_BYTES, type NewEvent } from '../events/event-store.ts';
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

/** A range cannot be recorded before the one before it in its batch. */
export class RangeBeforeMissing extends Error {
  readonly code = 'range_before_missing';
}

/** What is left of an append for what JSON and the store add to it. */
const APPEND_BYTES = MAX_APPEND_BYTES * 0.9;

/**
 * `recorded` when what was missing of these events is in the log, now or before (by the same ids); `already` when the
 * range was recorded by another run of the same batch. Either way the range is done. One of many bytes takes several
 * appends; interrupted between two of them, it is done again from where it stands.
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
  const events = outcomes.map((outcome, n): ChecksEvent => {
    const index = from_index + n;
    return {
      id: urlCheckedId(job_id, index),
      type: 'URLChecked',
      data: { job_id, index, url: range.urls[n]!, ...boundedOutcome(outcome) },
      metadata,
    };
  });
  const stream = checksStream(job_id, batch);
  const end = done_before + events.length;
  let recorded: 'recorded' | 'already' = 'already';
  for (let done = done_before; done < end; ) {
    const run = firstRun(events.slice(done - done_before));
    const result = await log.append(stream, done === 0 ? 'no_stream' : done - 1, run);
    if (result.ok) {
      recorded = 'recorded';
      done += run.length;
      continue;
    }
    const actual = result.actual === 'no_stream' ? 0 : result.actual + 1;
    if (actual < done_before) {
      throw new RangeBeforeMissing(`batch ${batch} of job ${job_id}: the range before is not recorded`);
    }
    // The stream is gone with its job.
    if (actual <= done) return recorded;
    // Another run had the range up to an earlier ceiling: the rest is this one's.
    done = actual;
  }
  return recorded;
}

/** The index in the job up to which a batch is recorded. */
export async function recordedUpTo(
  log: EventStore,
  { job_id, batch, batch_from_index }: Pick<Range, 'job_id' | 'batch' | 'batch_from_index'>,
): Promise<number> {
  for await (const { revision } of log.readStream(checksStream(job_id, batch), { direction: 'backwards', limit: 1 })) {
    return batch_from_index + revision + 1;
  }
  return batch_from_index;
}

type ChecksEvent = NewEvent<'URLChecked', URLChecked>;

/** As many of the events as one append takes. */
function firstRun(events: ChecksEvent[]): ChecksEvent[] {
  const most_bytes = events.reduce((sum, { data }) => sum + mostBytes(data), 0);
  return most_bytes <= APPEND_BYTES ? events : appendRuns(events, APPEND_BYTES)[0]!;
}

/** All but its texts, the metadata included. */
const FIXED_BYTES = 1024;
/** A character takes six bytes at the most, as an escape in JSON. */
const UNIT_BYTES = 6;

/** More than an event takes, without making its JSON, which the store does once more. */
function mostBytes({ url, final_url, redirect_chain, content_type, protection, meta_refresh }: URLChecked): number {
  const texts = [url, final_url, content_type, protection, meta_refresh, ...redirect_chain];
  return FIXED_BYTES + UNIT_BYTES * texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
}
