// Records the results of a batch: one event a URL, at the revision that the range implies.
import { boundedOutcome, type Outcome, type URLChecked } from '../events/checks.ts';
import { appendRuns, type EventStore, MAX_APPEND_BYTES, type NewEvent } from '../events/event-store.ts';
import { urlCheckedId } from '../events/ids.ts';
import { checksStream } from '../events/streams.ts';
import { type CommandContext, metadataOf } from './aggregate.ts';

/** A range of a job's URLs, all of one batch. */
export interface Range {
  job_id: string;
  batch: number;
  /** The index in the job of the batch's first URL. */
  batch_from_index: number;
  /** The index in the job of the range's first URL. */
  from_index: number;
  urls: readonly string[];
}

/** The log lacks the range before this one in the batch. */
export class RangeBeforeMissing extends Error {
  readonly code = 'range_before_missing';
}

/** An append's size without the 10 % that JSON and the store may add. */
const APPEND_BYTES = MAX_APPEND_BYTES * 0.9;

/**
 * Records one outcome for each URL of the range. Returns `recorded` when the log has these events, now or since an earlier
 * attempt with the same ids, and `already` when another run of the batch has recorded the range. A range of many bytes takes
 * several appends; after a crash between them the next run continues where the log ends. Throws `RangeBeforeMissing`.
 * @example await recordChecks(log, { job_id, batch: 0, batch_from_index: 0, from_index: 0, urls: [url] }, [outcome], context);
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
    // The stream was deleted with its job.
    if (actual <= done) return recorded;
    // Another run has recorded the range up to an earlier credit ceiling: this run records the rest.
    done = actual;
  }
  return recorded;
}

/** Returns the index in the job of the batch's first URL that is not recorded. */
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

/** Returns as many of the first events as fit an append. */
function firstRun(events: ChecksEvent[]): ChecksEvent[] {
  const most_bytes = events.reduce((sum, { data }) => sum + mostBytes(data), 0);
  return most_bytes <= APPEND_BYTES ? events : appendRuns(events, APPEND_BYTES)[0]!;
}

/** An upper bound of an event's size without its texts, its metadata included. */
const FIXED_BYTES = 1024;
/** JSON takes at most six bytes for a UTF-16 unit, as an escape. */
const UNIT_BYTES = 6;

/** Returns an upper bound of an event's size in bytes, without the cost of making its JSON. */
function mostBytes({ url, final_url, redirect_chain, content_type, protection, meta_refresh }: URLChecked): number {
  const texts = [url, final_url, content_type, protection, meta_refresh, ...redirect_chain];
  return FIXED_BYTES + UNIT_BYTES * texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
}
