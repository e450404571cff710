// Records the outcomes of a batch's URLs: one event a range, at the revision after the range before it.
import { endOf, foldRange } from '../events/checked-range.ts';
import { boundedOutcome, MAX_RANGE_URLS, type Outcome, type URLChecked } from '../events/checks.ts';
import { type EventStore, jsonBytes, MAX_APPEND_BYTES, runsOf } from '../events/event-store.ts';
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

/** The end of a batch in the log: the revision of its last event, and the index in the job after that event's last URL. */
export interface BatchEnd {
  revision: number | 'no_stream';
  to_index: number;
}

/** The log lacks the range before this one in the batch. */
export class RangeBeforeMissing extends Error {
  readonly code = 'range_before_missing';
}

/** An event's size without its metadata and the 10 % that a store may add. */
const EVENT_BYTES = MAX_APPEND_BYTES * 0.9;

export interface Recorded {
  /** `recorded`: this call appended a part of the range, now or in an earlier attempt. `already`: the log had all of it. */
  result: 'recorded' | 'already';
  end: BatchEnd;
}

/**
 * Records one outcome for each URL of the range that the log lacks. A range of many bytes takes several appends; after a crash
 * between them the next call continues where the log ends. `known` is the batch's end as the caller last saw it; without it
 * this function assumes an empty stream for the batch's first range, and reads the end for others. A retry with the same arguments appends
 * the same ids at the same revisions, so that it is the same append. Throws `RangeBeforeMissing`.
 * @example await recordChecks(log, { job_id, batch: 0, batch_from_index: 0, from_index: 0, urls: [url] }, [outcome], context);
 */
export async function recordChecks(
  log: EventStore,
  range: Range,
  outcomes: readonly Outcome[],
  context: CommandContext,
  known: BatchEnd | null = null,
): Promise<Recorded> {
  if (outcomes.length !== range.urls.length) throw new Error('one outcome a URL');
  const { job_id, batch, batch_from_index, from_index, urls } = range;
  const stream = checksStream(job_id, batch);
  const to_index = from_index + urls.length;
  const metadata = metadataOf(context);
  const bounded = outcomes.map(boundedOutcome);
  let result: Recorded['result'] = 'already';
  let end = known ?? (from_index === batch_from_index ? emptyBatch(range) : await readBatchEnd(log, range));
  for (;;) {
    if (end.to_index < from_index) {
      throw new RangeBeforeMissing(`batch ${batch} of job ${job_id}: the range before is not recorded`);
    }
    if (end.to_index >= to_index) return { result, end };
    const skip = end.to_index - from_index;
    const data = firstEvent(job_id, end.to_index, urls.slice(skip), bounded.slice(skip));
    const id = urlCheckedId(job_id, data.from_index, data.response_times_ms.length);
    const appended = await log.append(stream, end.revision, [{ id, type: 'URLChecked', data, metadata }]);
    if (appended.ok) {
      result = 'recorded';
      end = { revision: appended.revision, to_index: endOf(data) };
      continue;
    }
    // The stream was deleted with its job.
    if (appended.actual === 'no_stream') return { result, end };
    // Another run has recorded a part of the range: this run records the rest.
    end = await readBatchEnd(log, range);
    if (end.revision === 'no_stream') return { result, end };
  }
}

type InBatch = Pick<Range, 'job_id' | 'batch' | 'batch_from_index'>;

const emptyBatch = ({ batch_from_index }: InBatch): BatchEnd => ({
  revision: 'no_stream',
  to_index: batch_from_index,
});

/** Reads where the batch ends in the log. */
export async function readBatchEnd(log: EventStore, range: InBatch): Promise<BatchEnd> {
  const stream = checksStream(range.job_id, range.batch);
  for await (const { revision, data } of log.readStream(stream, { direction: 'backwards', limit: 1 })) {
    return { revision, to_index: endOf(data as URLChecked) };
  }
  return emptyBatch(range);
}

/** Makes an event of the first outcomes, as many as fit an append. */
function firstEvent(job_id: string, from_index: number, urls: readonly string[], outcomes: readonly Outcome[]) {
  let count = Math.min(outcomes.length, MAX_RANGE_URLS);
  if (outcomes.reduce((sum, outcome) => sum + mostBytes(outcome), 0) > EVENT_BYTES) {
    const [run] = runsOf(outcomes, jsonBytes, { most_bytes: EVENT_BYTES, most_items: MAX_RANGE_URLS });
    count = run!.length;
  }
  return foldRange(job_id, from_index, urls.slice(0, count), outcomes.slice(0, count));
}

/** An upper bound of an outcome's size without its texts. */
const FIXED_BYTES = 512;
/** An upper bound of the size of an earlier attempt. */
const EARLIER_ATTEMPT_BYTES = 192;
/** JSON takes at most six bytes for a UTF-16 unit, as an escape. */
const UNIT_BYTES = 6;

/** Returns an upper bound of an outcome's size in bytes, without the cost of making its JSON. */
function mostBytes(outcome: Outcome): number {
  const { final_url, redirect_chain, content_type, protection, meta_refresh, earlier_attempts } = outcome;
  let units = 0;
  for (const text of [final_url, content_type, protection, meta_refresh]) units += text?.length ?? 0;
  for (const text of redirect_chain) units += text.length;
  return FIXED_BYTES + UNIT_BYTES * units + EARLIER_ATTEMPT_BYTES * (earlier_attempts?.length ?? 0);
}
