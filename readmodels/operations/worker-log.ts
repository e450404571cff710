// Searches the worker log. A process that is asked for it keeps the columns of all segments in memory, 26 to 46 bytes an entry, and reads
// what has changed since: so that any filter, total and page of a million entries takes milliseconds, on either store.
import { breather, ownTurn } from '../../time/event-loop.ts';
import type { Document } from '../documents.ts';
import type { Page, Paging } from '../pages.ts';
import type { LiveCollection, ReadModels } from '../read-models.ts';
import { groupHolds } from '../results/results.ts';
import {
  emptyLog,
  entriesOf,
  LOG_STATE,
  type LogEntry,
  logJobs,
  logSegments,
  logStates,
  ofSegment,
  placeOf,
  type Segment,
  type SegmentDocument,
} from './log-segments.ts';
import { type LogOptions, openLogTally } from './log-tally.ts';

/** All given conditions hold. */
export interface LogFilter {
  domain?: string;
  status_code?: number;
  /** Attempts whose answer was not 2xx, and those without an answer. */
  non_2xx?: boolean;
  /** Whether the attempt ended with an error code. */
  has_error?: boolean;
  job_id?: string;
  /** Entries of before this time, in Unix milliseconds. */
  before_ms?: number;
}

export interface LogHour {
  /** The beginning of the hour, in Unix milliseconds. */
  hour_ms: number;
  entries: number;
  non_2xx: number;
  errors: number;
  answers: number;
  duration_total_ms: number;
}

export interface WorkerLog {
  /** The newest entries first; `page` counts from 1. */
  list(filter: LogFilter, paging: Paging): Promise<Page<LogEntry>>;
  find(of: Pick<LogEntry, 'job_id' | 'index' | 'attempt'>): Promise<LogEntry | null>;
  /** The most frequent domains first, at most `max_domains`, and all codes. */
  options(max_domains: number): Promise<LogOptions>;
  /** Every hour from `from_ms` to `to_ms`, the oldest first. */
  stats(from_ms: number, to_ms: number): Promise<LogHour[]>;
  /** Reads what has changed. */
  refresh(): Promise<void>;
  /** Does that while the log is asked for, and forgets it once nobody has asked for a minute: the next one to ask has it read whole. */
  keepUp(): Promise<void>;
}

export interface WorkerLogSettings {
  worker_log_entries: number;
  worker_log_days: number;
}
export interface WorkerLogLimits {
  /** The newest entries are kept. */
  max_entries: number;
  max_age_ms: number;
}
export const workerLogLimits = ({ worker_log_entries, worker_log_days }: WorkerLogSettings): WorkerLogLimits => ({
  max_entries: worker_log_entries,
  max_age_ms: worker_log_days * 86_400_000,
});

/** Segments that are read at once: some 1 MB. */
const READ_AT_ONCE = 16;
const HOUR_MS = 3_600_000;
const KEPT_MS = 60_000;

/** Which entries of a segment pass; null: all of them. */
interface Pass {
  segment: Segment;
  count: number;
  /** Entries before this place are beyond the number that is kept. */
  from: number;
  ranges: Uint8Array | null;
  outcomes: Uint8Array | null;
  domain: number | null;
}

export function openWorkerLog(
  readmodels: Pick<ReadModels, 'collection' | 'position' | 'flips'>,
  limits: WorkerLogLimits,
  now: () => number,
  monotonic = () => performance.now(),
): WorkerLog {
  const states = readmodels.collection(logStates);
  const documents = readmodels.collection(logSegments);
  const jobs = readmodels.collection(logJobs);
  /** In order of their numbers. */
  let segments: Segment[] = [];
  let revision = 0;
  let flips = 0;
  let reading: Promise<void> | null = null;
  let next: Promise<void> | null = null;
  let tally = openLogTally();
  let asked_at = Number.NEGATIVE_INFINITY;

  async function read(): Promise<void> {
    // The position tells of a flip, after which all segments are others.
    await readmodels.position();
    const noticed = readmodels.flips;
    const is_anew = noticed !== flips;
    const state = (await states.get(LOG_STATE)) ?? emptyLog();
    const kept = new Map(is_anew ? [] : segments.map((segment) => [segment.number, segment]));
    if (is_anew || state.revision > revision) {
      for await (const found of changedSince(documents, is_anew ? 0 : revision)) kept.set(found.number, found);
    }
    segments = [...kept.values()].filter(({ number }) => number >= state.first).sort((a, b) => a.number - b.number);
    revision = state.revision;
    flips = noticed;
    // Its counts would keep the segments of before in memory.
    if (is_anew || segments.length === 0) tally = openLogTally();
  }
  const readOnce = () => (reading = read().finally(() => (reading = null)));
  /** A reading under way may have missed a deletion that its caller was told of, so that another one follows it. */
  const refresh = () =>
    reading === null
      ? readOnce()
      : (next ??= reading
          .catch(() => {})
          .then(() => {
            next = null;
            return readOnce();
          }));
  const asked = () => {
    asked_at = monotonic();
    return refresh();
  };
  async function keepUp(): Promise<void> {
    if (monotonic() - asked_at < KEPT_MS) return refresh();
    if (reading !== null) return;
    segments = [];
    revision = 0;
    tally = openLogTally();
  }

  /** The newest segment first. Yields to the event loop. */
  async function* passing(filter: LogFilter): AsyncGenerator<Pass> {
    const least_ms = now() - limits.max_age_ms;
    let left = limits.max_entries;
    const all = segments;
    await ownTurn();
    const breathe = breather();
    for (let n = all.length - 1; n >= 0 && left > 0; n--) {
      const segment = all[n]!;
      const from = Math.max(0, segment.entries - left);
      left -= segment.entries;
      const pass = passOf(segment, filter, least_ms, from);
      if (pass !== null) yield pass;
      await breathe();
    }
  }

  return {
    refresh,
    keepUp,
    async list(filter, { limit, offset }) {
      await asked();
      const items: LogEntry[] = [];
      let total = 0;
      for await (const pass of passing(filter)) {
        let before = Math.max(0, offset - total);
        total += pass.count;
        if (before >= pass.count || items.length >= limit) continue;
        const entryAt = entriesOf(pass.segment);
        for (let place = pass.segment.entries - 1; place >= pass.from && items.length < limit; place--) {
          if (passes(pass, place) && before-- <= 0) items.push(entryAt(place));
        }
      }
      return { items, total };
    },
    async find({ job_id, index, attempt }) {
      // The job's document says at once when there is no such job.
      if ((await jobs.get(job_id)) === null) return null;
      // Nothing is awaited between this and the search: a process that sleeps there forgets what it has read.
      await asked();
      for await (const { segment, ...pass } of passing({ job_id })) {
        for (let place = segment.entries - 1; place >= pass.from; place--) {
          const is_it = segment.index[place] === index && (segment.attempt?.[place] ?? 1) === attempt;
          if (is_it && passes({ segment, ...pass }, place)) return entriesOf(segment)(place);
        }
      }
      return null;
    },
    async options(max_domains) {
      await asked();
      return tally.options(await Array.fromAsync(passing({})), max_domains);
    },
    async stats(from_ms, to_ms) {
      await asked();
      const first = Math.floor(from_ms / HOUR_MS);
      const hours = Array.from({ length: Math.floor(to_ms / HOUR_MS) - first + 1 }, (_, n): LogHour => {
        const counts = { entries: 0, non_2xx: 0, errors: 0, answers: 0, duration_total_ms: 0 };
        return { hour_ms: (first + n) * HOUR_MS, ...counts };
      });
      for await (const pass of passing({})) {
        const { segment, from } = pass;
        if (segment.until_ms < first * HOUR_MS) continue;
        const hour_of = segment.ranges.map(({ at_ms }) => hours[Math.floor(at_ms / HOUR_MS) - first]);
        const is_2xx = segment.outcomes.map(([status]) => groupHolds('2xx', status));
        const is_error = segment.outcomes.map(([, error]) => error !== null);
        for (let place = from; place < segment.entries; place++) {
          const hour = hour_of[segment.range[place]!];
          if (hour === undefined || !passes(pass, place)) continue;
          const outcome = segment.outcome[place]!;
          hour.entries++;
          if (!is_2xx[outcome]) hour.non_2xx++;
          if (is_error[outcome]) hour.errors++;
          if (segment.duration[place] === 0) continue;
          hour.answers++;
          hour.duration_total_ms += segment.duration[place]! - 1;
        }
      }
      return hours;
    },
  };
}

/** Yields the segments that were written after a revision. */
async function* changedSince(
  documents: LiveCollection<SegmentDocument>,
  revision: number,
): AsyncGenerator<Segment, void> {
  const filter = { revision: { $gt: revision } };
  const sort = { revision: 1 } as const;
  const breathe = breather();
  for (let after: [number, string] | undefined; ; ) {
    const options = after ? { sort, after, limit: READ_AT_ONCE } : { sort, limit: READ_AT_ONCE };
    const found: readonly (SegmentDocument & Document)[] = await documents.find(filter, options);
    for (const document of found) {
      yield ofSegment(document);
      await breathe();
    }
    const last = found.at(-1);
    if (last === undefined || found.length < READ_AT_ONCE) return;
    after = [last.revision, last._id];
  }
}

/** Null: no entry passes. */
function passOf(segment: Segment, filter: LogFilter, least_ms: number, from: number): Pass | null {
  const { entries, outcomes: found, ranges, jobs, from_ms, until_ms } = segment;
  const { domain: wanted, job_id, before_ms = Number.POSITIVE_INFINITY } = filter;
  if (entries <= from || until_ms < least_ms || from_ms >= before_ms) return null;
  const job = job_id === undefined ? null : jobs.indexOf(job_id);
  const domain = wanted === undefined ? null : placeOf(wanted, segment);
  if (job === -1 || domain === -1) return null;
  const outcomes = maskOf(found, ([status_code, error_code]) => passesOutcome(filter, status_code, error_code));
  if (outcomes === 'none') return null;
  const is_all_time = from_ms >= least_ms && until_ms < before_ms;
  const of_ranges =
    job === null && is_all_time
      ? null
      : maskOf(ranges, (range) => {
          const is_of_job = job === null || range.job === job;
          return is_of_job && range.at_ms >= least_ms && range.at_ms < before_ms;
        });
  if (of_ranges === 'none') return null;
  const pass: Pass = { segment, count: 0, from, ranges: of_ranges, outcomes, domain };
  pass.count = countOf(pass);
  return pass.count === 0 ? null : pass;
}

function passesOutcome(filter: LogFilter, status_code: number | null, error_code: string | null): boolean {
  if (filter.status_code !== undefined && filter.status_code !== status_code) return false;
  if (filter.non_2xx && groupHolds('2xx', status_code)) return false;
  return filter.has_error === undefined || filter.has_error === (error_code !== null);
}

/** 1 where the test holds; null where it holds for all. */
function maskOf<Item>(items: readonly Item[], test: (item: Item) => boolean): Uint8Array | null | 'none' {
  const mask = Uint8Array.from(items, (item) => (test(item) ? 1 : 0));
  if (!mask.includes(1)) return 'none';
  return mask.includes(0) ? mask : null;
}

function countOf(pass: Pass): number {
  const { segment, ranges, outcomes, domain, from } = pass;
  if (ranges === null && domain === null && from === 0) {
    if (outcomes === null) return segment.entries;
    return segment.outcome_counts.reduce((sum, count, n) => sum + (outcomes[n] ? count : 0), 0);
  }
  let count = 0;
  for (let place = from; place < segment.entries; place++) if (passes(pass, place)) count++;
  return count;
}

function passes({ segment, ranges, outcomes, domain }: Pass, place: number): boolean {
  if (domain !== null && segment.domain[place] !== domain) return false;
  if (outcomes !== null && outcomes[segment.outcome[place]!] === 0) return false;
  return ranges === null || ranges[segment.range[place]!] === 1;
}
