// Follows the documents of the worker log: the columns of all segments, 26 to 46 bytes an entry, are in memory, and what has changed since is
// read by its revision. Tells which entries of each segment pass a filter.
import { breather, ownTurn } from '../../time/event-loop.ts';
import type { Document } from '../documents.ts';
import type { LiveCollection, ReadModels } from '../read-models.ts';
import { groupHolds } from '../results/results.ts';
import {
  emptyLog,
  LOG_STATE,
  type LogStateDocument,
  logSegments,
  logStates,
  ofSegment,
  placeOf,
  type Segment,
  type SegmentDocument,
} from './log-segments.ts';
import { openLogTally } from './log-tally.ts';

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

export interface WorkerLogLimits {
  /** The newest entries are kept. */
  max_entries: number;
  max_age_ms: number;
}
/** Segments that are read at once: some 1 MB. */
const READ_AT_ONCE = 16;
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

export type WorkerLogReadModels = Pick<ReadModels, 'collection' | 'position' | 'flips'>;

/** The segments in memory, which follow the documents. */
export class LogFollower {
  /** Counts of the segments. */
  tally = openLogTally();
  readonly #readmodels: WorkerLogReadModels;
  readonly #states: LiveCollection<LogStateDocument>;
  readonly #documents: LiveCollection<SegmentDocument>;
  readonly #limits: WorkerLogLimits;
  readonly #now: () => number;
  readonly #monotonic: () => number;
  /** In order of their numbers. */
  #segments: Segment[] = [];
  #revision = 0;
  #flips = 0;
  #reading: Promise<void> | null = null;
  #next: Promise<void> | null = null;
  #asked_at = Number.NEGATIVE_INFINITY;

  constructor(readmodels: WorkerLogReadModels, limits: WorkerLogLimits, now: () => number, monotonic: () => number) {
    this.#readmodels = readmodels;
    this.#states = readmodels.collection(logStates);
    this.#documents = readmodels.collection(logSegments);
    this.#limits = limits;
    this.#now = now;
    this.#monotonic = monotonic;
  }

  /** Reads what is new for somebody who asks. */
  asked(): Promise<void> {
    this.#asked_at = this.#monotonic();
    return this.refresh();
  }

  /** A reading under way may have missed a deletion that its caller was told of, so that another one follows it. */
  refresh(): Promise<void> {
    if (this.#reading === null) return this.#readOnce();
    this.#next ??= this.#reading
      .catch(() => {})
      .then(() => {
        this.#next = null;
        return this.#readOnce();
      });
    return this.#next;
  }

  /** Forgets all when nobody has asked for a while. */
  async keepUp(): Promise<void> {
    if (this.#monotonic() - this.#asked_at < KEPT_MS) return this.refresh();
    if (this.#reading !== null) return;
    this.#segments = [];
    this.#revision = 0;
    this.tally = openLogTally();
  }

  /** The newest segment first. Yields to the event loop. */
  async *passing(filter: LogFilter): AsyncGenerator<Pass> {
    const least_ms = this.#now() - this.#limits.max_age_ms;
    let left = this.#limits.max_entries;
    const all = this.#segments;
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

  #readOnce(): Promise<void> {
    this.#reading = this.#read().finally(() => (this.#reading = null));
    return this.#reading;
  }

  async #read(): Promise<void> {
    // The position tells of a flip, after which all segments are others.
    await this.#readmodels.position();
    const noticed = this.#readmodels.flips;
    const is_anew = noticed !== this.#flips;
    const state = (await this.#states.get(LOG_STATE)) ?? emptyLog();
    const kept = new Map(is_anew ? [] : this.#segments.map((segment) => [segment.number, segment]));
    if (is_anew || state.revision > this.#revision) {
      for await (const found of changedSince(this.#documents, is_anew ? 0 : this.#revision))
        kept.set(found.number, found);
    }
    this.#segments = [...kept.values()]
      .filter(({ number }) => number >= state.first)
      .sort((a, b) => a.number - b.number);
    this.#revision = state.revision;
    this.#flips = noticed;
    // Its counts would keep the segments of before in memory.
    if (is_anew || this.#segments.length === 0) this.tally = openLogTally();
  }
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

export function passes({ segment, ranges, outcomes, domain }: Pass, place: number): boolean {
  if (domain !== null && segment.domain[place] !== domain) return false;
  if (outcomes !== null && outcomes[segment.outcome[place]!] === 0) return false;
  return ranges === null || ranges[segment.range[place]!] === 1;
}
