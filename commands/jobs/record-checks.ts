// Records the outcomes of a batch's URLs as they come: an event for those that are known now, and never a URL twice.
import { foldRange, indexesOf } from '../../events/checked-range.ts';
import { boundedOutcome, MAX_RANGE_URLS, type Outcome, type URLChecked } from '../../events/checks.ts';
import { type EventStore, jsonBytes, MAX_APPEND_BYTES, runsOf } from '../../events/event-store.ts';
import { urlCheckedId } from '../../events/ids.ts';
import { checksStream } from '../../events/streams.ts';
import { type CommandContext, metadataOf } from '../aggregate.ts';

/** A range of a job's URLs, all of one batch. */
export interface Range {
  job_id: string;
  batch: number;
  /** The index in the job of the range's first URL. */
  from_index: number;
  urls: readonly string[];
}

/** A batch in the log: the revision of its last event, and the indexes in the job of the URLs whose outcomes it has. */
export interface RecordedBatch {
  revision: number | 'no_stream';
  known: ReadonlySet<number>;
  /** Whether others were seen to append to it: whoever knows that reads on before an append, which would fail. */
  is_shared?: true;
}

export const EMPTY_BATCH: RecordedBatch = { revision: 'no_stream', known: new Set() };

/** An event's size without its metadata and the 10 % that a store may add. */
const EVENT_BYTES = MAX_APPEND_BYTES * 0.9;

export interface Recorded {
  /** `recorded`: this call appended some of the outcomes, now or in an earlier attempt. `already`: the log had all of them. */
  result: 'recorded' | 'already';
  batch: RecordedBatch;
}

/**
 * Records the outcomes of the range that the log lacks; an undefined one is not known yet. Outcomes of many bytes take several appends;
 * after a crash between them the next call records the rest. `batch` is the batch in the log as the caller last saw it, by default an
 * empty one: what others recorded since makes a conflict, and then this function reads it. A retry with the same arguments
 * appends the same ids at the same revisions, so that it is the same append.
 * @example await recordChecks(log, { job_id, batch: 0, from_index: 0, urls: [url] }, [outcome], context);
 */
export async function recordChecks(
  log: EventStore,
  range: Range,
  outcomes: readonly (Outcome | undefined)[],
  context: CommandContext,
  batch = EMPTY_BATCH,
): Promise<Recorded> {
  if (outcomes.length !== range.urls.length) throw new Error('an outcome, or undefined, for each URL');
  const { job_id, from_index, urls } = range;
  const stream = checksStream(job_id, range.batch);
  const metadata = metadataOf(context);
  const bounded = outcomes.map((outcome) => outcome && boundedOutcome(outcome));
  let result: Recorded['result'] = 'already';
  for (let is_read = batch.is_shared !== true; ; is_read = true) {
    if (!is_read) batch = await readBatch(log, range, batch);
    const { revision, known } = batch;
    const lacking = bounded.map((outcome, n) => (known.has(from_index + n) ? undefined : outcome));
    const data = firstEvent(job_id, from_index, urls, lacking);
    if (data === null) return { result, batch };
    const id = urlCheckedId(job_id, data.from_index, data.response_times_ms.length, data.mask);
    const appended = await log.append(stream, revision, [{ id, type: 'URLChecked', data, metadata }]);
    if (appended.ok) {
      result = 'recorded';
      batch = { ...batch, revision: appended.revision, known: new Set([...known, ...indexesOf(data)]) };
      continue;
    }
    // The stream was deleted with its job.
    if (appended.actual === 'no_stream') return { result, batch };
    // A log that was restored may have less than it had.
    const has_more = revision !== 'no_stream' && appended.actual > revision;
    batch = { ...(await readBatch(log, range, has_more ? batch : EMPTY_BATCH)), is_shared: true };
    if (batch.revision === 'no_stream') return { result, batch };
  }
}

/**
 * Reads which URLs of a batch the log knows, after what is known already. A batch has few events: at the most one a second and checker in
 * which an outcome came.
 */
export async function readBatch(
  log: EventStore,
  { job_id, batch }: Pick<Range, 'job_id' | 'batch'>,
  already = EMPTY_BATCH,
): Promise<RecordedBatch> {
  const known = new Set(already.known);
  let last = already.revision;
  const from = last === 'no_stream' ? 0 : last + 1;
  for await (const { revision, data } of log.readStream(checksStream(job_id, batch), { from })) {
    for (const index of indexesOf(data as URLChecked)) known.add(index);
    last = revision;
  }
  return { ...already, revision: last, known };
}

/** Makes an event of the first known outcomes, as many as fit an append; null when none is known. */
function firstEvent(
  job_id: string,
  from_index: number,
  urls: readonly string[],
  outcomes: readonly (Outcome | undefined)[],
): URLChecked | null {
  const from = outcomes.findIndex(Boolean);
  if (from < 0) return null;
  const places = [...outcomes.keys()]
    .slice(from, from + MAX_RANGE_URLS)
    .filter((place) => outcomes[place] !== undefined);
  const known = places.map((place) => outcomes[place]!);
  let count = known.length;
  if (known.reduce((sum, outcome) => sum + mostBytes(outcome), 0) > EVENT_BYTES) {
    const [run] = runsOf(known, jsonBytes, { most_bytes: EVENT_BYTES, most_items: MAX_RANGE_URLS });
    count = run!.length;
  }
  const to = places[count - 1]! + 1;
  return foldRange(job_id, from_index + from, urls.slice(from, to), outcomes.slice(from, to));
}

/** An upper bound of an outcome's size without its texts. */
const FIXED_BYTES = 640;
/** An upper bound of the size of an earlier attempt. */
const EARLIER_ATTEMPT_BYTES = 192;
/** JSON takes at most six bytes for a UTF-16 unit, as an escape. */
const UNIT_BYTES = 6;

/** Returns an upper bound of an outcome's size in bytes, without the cost of making its JSON. */
function mostBytes(outcome: Outcome): number {
  const { final_url, redirect_chain, content_type, protection, meta_refresh, tls_detail, earlier_attempts } = outcome;
  let units = 0;
  for (const text of [final_url, content_type, protection, meta_refresh, tls_detail]) units += text?.length ?? 0;
  for (const text of redirect_chain) units += text.length;
  return FIXED_BYTES + UNIT_BYTES * units + EARLIER_ATTEMPT_BYTES * (earlier_attempts?.length ?? 0);
}
