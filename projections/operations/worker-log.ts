// The worker log: an entry for each attempt at a URL. A follower of its own makes it, so that it delays no other read model. What is
// deleted stays deleted, because deletions are events.
import { unfold } from '../../events/checked-range.ts';
import { workerOf } from '../../events/checks.ts';
import { checksOf, idOf } from '../../events/streams.ts';
import type { LogEvent } from '../../events/vocabulary.ts';
import type { Write } from '../../readmodels/documents.ts';
import type { WorkerLogLimits } from '../../readmodels/operations/log-follower.ts';
import {
  domainOfUrl,
  emptyLog,
  entriesOf,
  LOG_STATE,
  type LogEntry,
  type LogJobDocument,
  type LogStateDocument,
  logJobs,
  logSegments,
  logStates,
  ofSegment,
  SEGMENT_ENTRIES,
  type SegmentDocument,
  segmentId,
  toSegment,
} from '../../readmodels/operations/log-segments.ts';
import { groupHolds } from '../../readmodels/results/results.ts';
import { type Checked, isChecked, type UrlsOf } from '../jobs/checked-urls.ts';
import { handlersOf, type OpenCollection, type Projection, projection } from '../projection.ts';
import { readAll, writeAll } from '../slices.ts';
import { compareWorkerLogs } from './worker-log-comparison.ts';

interface Page {
  urls_of: UrlsOf;
  state: LogStateDocument;
  /** Jobs whose results make no entries. */
  deleted_jobs: Set<string>;
  entries: LogEntry[];
  job_writes: Write<LogJobDocument>[];
}

/** One transaction of a deletion looks at so many segments. */
const SLICE = 20;
/** One transaction drops at most so many segments that are too old: more than it makes. */
const DROPPED_AT_ONCE = 20;

export const workerLogProjection = (limits: WorkerLogLimits): Projection =>
  projection({
    name: 'worker_log',
    version: 1,
    collections: [logStates, logSegments, logJobs],
    compare: compareWorkerLogs,
    covers: ['worker_log'],
    isHeavy: ({ type }) => isDeletion(type),
    mayBeHeavy: isEndOfEntries,
    async findHeavy(deletions, open) {
      const found = await readAll(
        await open(logJobs),
        deletions.map(({ stream }) => idOf(stream)),
      );
      return deletions.find(({ stream }) => found.get(idOf(stream))?.is_deleted === false) ?? null;
    },
    clear,
    async begin(open, events, urls_of): Promise<Page> {
      const ids = events.filter(isChecked).map(({ stream }) => checksOf(stream).job_id);
      const found = (await readAll(await open(logJobs), ids)).values();
      const deleted_jobs = new Set(found.filter(({ is_deleted }) => is_deleted).map(({ _id }) => _id));
      return { urls_of, state: await stateOf(open), deleted_jobs, entries: [], job_writes: [] };
    },
    on: {
      URLChecked(event, { urls_of, deleted_jobs, entries }) {
        if (!deleted_jobs.has(checksOf(event.stream).job_id)) addEntries(event, urls_of(event).urls, entries);
      },
      JobDeleted: deleteEntries,
      ResultsExpired: deleteEntries,
      JobPurged: forgetJob,
      ResultsRemoved: forgetJob,
      ...handlersOf('worker_log', (_, { state }: Page) => void (state.clearing = null)),
    },
    async end({ state, entries, job_writes }, open) {
      state.revision++;
      if (entries.length > 0) {
        await append(entries, state, open);
        await dropOld(state, limits, entries.at(-1)!.at_ms, open);
      }
      await writeAll(await open(logJobs), job_writes);
      await (await open(logStates)).write([{ replace: state }]);
    },
  });

/** What earlier transactions have stored is cleared. */
function deleteEntries({ stream }: LogEvent, page: Page): void {
  const job_id = idOf(stream);
  page.state.clearing = null;
  page.entries = page.entries.filter((entry) => entry.job_id !== job_id);
  page.deleted_jobs.add(job_id);
  page.job_writes.push({ replace: { _id: job_id, first: 0, last: -1, is_deleted: true } });
}

function forgetJob({ stream }: LogEvent, { job_writes }: Page): void {
  job_writes.push({ delete: idOf(stream) });
}

const isEndOfEntries = ({ type }: LogEvent) => type === 'JobDeleted' || type === 'ResultsExpired';
const isDeletion = (type: string) => type === 'LogsDeleted' || type === 'LogDeleted' || type === 'LogsTruncated';

const stateOf = async (open: OpenCollection): Promise<LogStateDocument> =>
  (await (await open(logStates)).get(LOG_STATE)) ?? emptyLog();

/** An attempt that was made again is an entry before that of the last one. */
function addEntries({ data, metadata }: Checked, urls: readonly string[], entries: LogEntry[]): void {
  const at_ms = Date.parse(metadata.at);
  const worker = workerOf(metadata.actor);
  for (const row of unfold(data, urls)) {
    const { job_id, index, url, earlier_attempts = [] } = row;
    const domain = domainOfUrl(url);
    const attempts = [...earlier_attempts, row];
    for (const [n, { status_code, error_code, response_time_ms: duration_ms, proxy_id = null }] of attempts.entries()) {
      const attempt = n + 1;
      entries.push({
        ...{ job_id, index, attempt, at_ms, worker, proxy_id, domain, status_code, error_code, duration_ms },
      });
    }
  }
}

/** Fills the last segment up, and makes more. */
async function append(entries: readonly LogEntry[], state: LogStateDocument, open: OpenCollection): Promise<void> {
  const segments = await open(logSegments);
  const writes: Write<SegmentDocument>[] = [];
  const jobs = new Map<string, { first: number; last: number }>();
  for (let from = 0; from < entries.length; ) {
    let before: LogEntry[] = [];
    if (state.room === 0) {
      state.next++;
      state.room = SEGMENT_ENTRIES;
    } else {
      const last = await segments.get(segmentId(state.next - 1));
      before = last === null ? [] : allOf(last);
    }
    const number = state.next - 1;
    const more = entries.slice(from, from + state.room);
    writes.push({ replace: toSegment(number, state.revision, [...before, ...more]) });
    for (const { job_id } of more) {
      const there = jobs.get(job_id);
      if (there) there.last = number;
      else jobs.set(job_id, { first: number, last: number });
    }
    if (number === state.first) state.oldest = null;
    state.room -= more.length;
    state.entries += more.length;
    from += more.length;
  }
  await segments.write(writes);
  const job_writes = [...jobs].map(([job_id, { first, last }]) => ({
    update: job_id,
    set: { $set: { last }, $setOnInsert: { first, is_deleted: false } },
    upsert: true,
  }));
  await writeAll(await open(logJobs), job_writes);
}

function allOf(document: SegmentDocument): LogEntry[] {
  const segment = ofSegment(document);
  const entryAt = entriesOf(segment);
  return Array.from({ length: segment.entries }, (_, place) => entryAt(place));
}

/** Drops whole segments, the oldest first. The events' own times say what is too old, so that a replay drops the same ones. */
async function dropOld(
  state: LogStateDocument,
  { max_entries, max_age_ms }: WorkerLogLimits,
  now_ms: number,
  open: OpenCollection,
): Promise<void> {
  const segments = await open(logSegments);
  const dropped: string[] = [];
  while (dropped.length < DROPPED_AT_ONCE && state.first < state.next - 1) {
    const id = segmentId(state.first);
    state.oldest ??= await segments
      .get(id)
      .then((found) => found && { entries: found.entries, until_ms: found.until_ms });
    const { entries, until_ms } = state.oldest ?? { entries: 0, until_ms: 0 };
    const is_old = entries === 0 || until_ms < now_ms - max_age_ms || state.entries - entries >= max_entries;
    if (!is_old) break;
    dropped.push(id);
    state.entries -= entries;
    state.first++;
    state.oldest = null;
  }
  await dropSegments(dropped, state, open);
}

async function dropSegments(ids: readonly string[], state: LogStateDocument, open: OpenCollection): Promise<void> {
  if (ids.length === 0) return;
  await (await open(logSegments)).write(ids.map((id) => ({ delete: id })));
  await (await open(logJobs)).write([{ deleteMany: { is_deleted: false, last: { $lt: state.first } } }]);
}

/** Deletes the entries of a slice of segments; the state says how far the deletion has come. */
async function clear(event: LogEvent, open: OpenCollection): Promise<boolean> {
  const state = await stateOf(open);
  const range = await segmentsOf(event, state, open);
  const from = state.clearing?.event_id === event.id ? Math.max(state.clearing.next, range.from) : range.from;
  const until = Math.min(from + SLICE, range.until);
  if (from >= until) return false;
  state.revision++;
  state.oldest = null;
  state.clearing = { event_id: event.id, next: until };
  const segments = await open(logSegments);
  const ids = Array.from({ length: until - from }, (_, n) => segmentId(from + n));
  const documents = await segments.getMany(ids);
  if (event.type === 'LogsTruncated') {
    state.entries -= documents.reduce((sum, { entries }) => sum + entries, 0);
    state.first = until;
    if (until === state.next) state.room = 0;
    await dropSegments(ids, state, open);
  } else {
    const writes: Write<SegmentDocument>[] = [];
    for (const document of documents) {
      if (!mayHold(document, event)) continue;
      const all = allOf(document);
      const kept = all.filter((entry) => !isDeletedBy(entry, event));
      if (kept.length === all.length) continue;
      state.entries -= all.length - kept.length;
      writes.push({ replace: toSegment(Number(document._id), state.revision, kept) });
    }
    await segments.write(writes);
  }
  await (await open(logStates)).write([{ replace: state }]);
  return until < range.until;
}

/** The segments that may have entries which the event deletes. */
async function segmentsOf(event: LogEvent, { first, next }: LogStateDocument, open: OpenCollection) {
  const job_id = jobOf(event);
  if (job_id === null) return { from: first, until: next };
  const job = await (await open(logJobs)).get(job_id);
  return job === null ? { from: 0, until: 0 } : { from: Math.max(first, job.first), until: job.last + 1 };
}

function jobOf(event: LogEvent): string | null {
  if (isEndOfEntries(event)) return idOf(event.stream);
  return event.type === 'LogDeleted' || event.type === 'LogsDeleted' ? (event.data.job_id ?? null) : null;
}

function mayHold({ jobs, domains }: SegmentDocument, event: LogEvent): boolean {
  const job_id = jobOf(event);
  if (job_id !== null && !jobs.includes(job_id)) return false;
  return event.type !== 'LogsDeleted' || event.data.domain === undefined || domains.includes(event.data.domain);
}

function isDeletedBy(entry: LogEntry, event: LogEvent): boolean {
  const { job_id, index, attempt, domain, status_code, at_ms } = entry;
  switch (event.type) {
    case 'JobDeleted':
    case 'ResultsExpired':
      return job_id === idOf(event.stream);
    case 'LogDeleted':
      return job_id === event.data.job_id && index === event.data.index && attempt === event.data.attempt;
    case 'LogsDeleted': {
      const wanted = event.data;
      if (wanted.job_id !== undefined && wanted.job_id !== job_id) return false;
      if (wanted.domain !== undefined && wanted.domain !== domain) return false;
      if (wanted.non_2xx && groupHolds('2xx', status_code)) return false;
      return wanted.before === undefined || at_ms < Date.parse(wanted.before);
    }
    default:
      return false;
  }
}
