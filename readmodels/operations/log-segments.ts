// The documents of the worker log. Entries are kept in segments, in the order of the event log: a column for each field, so that a
// million entries take little room and are searched in memory. An entry names its URL by job and index and holds no copy of it.
import { type Document, kept, type ReadModelSpec, readById } from '../documents.ts';
import { domainOf } from '../results/stats.ts';

/** One attempt at a URL. */
export interface LogEntry {
  job_id: string;
  /** The URL's index in the job. */
  index: number;
  /** From 1. */
  attempt: number;
  /** When the checker recorded the outcome, in Unix milliseconds. */
  at_ms: number;
  /** The checker; null in events of before it was recorded. */
  worker: string | null;
  proxy_id: string | null;
  /** Null for a text without a URL. */
  domain: string | null;
  status_code: number | null;
  error_code: string | null;
  duration_ms: number | null;
}

/** A segment takes this many entries, and gets fewer by deletions only. */
export const SEGMENT_ENTRIES = 2048;

/** Columns are little-endian numbers in Base64, one for each entry. An entry's value is its place in a list, unless said otherwise. */
export interface SegmentDocument extends Document {
  /** `_id` is the segment's number. The state's revision when the segment was written. */
  revision: number;
  entries: number;
  /** The latest `at_ms`. */
  until_ms: number;
  jobs: string[];
  workers: string[];
  proxies: string[];
  /** With spaces between. */
  domains: string;
  outcomes: (readonly [status_code: number | null, error_code: string | null])[];
  /** Runs of entries that one event recorded. `worker`: the place in `workers` plus 1; 0: not known. */
  ranges: { job: number; at_ms: number; worker: number }[];
  range: string;
  domain: string;
  outcome: string;
  /** The index itself. */
  index: string;
  /** Milliseconds plus 1; 0: no answer. */
  duration: string;
  /** The attempt itself; an empty text when each is the first. */
  attempt: string;
  /** The place plus 1; 0: none. An empty text without proxies. */
  proxy: string;
}
export const logSegments: ReadModelSpec<SegmentDocument> = {
  name: 'worker_log_segments',
  ...kept(
    '42 an attempt',
    "with the job or its results, with an administrator's deletion, and by `WORKER_LOG_ENTRIES` and `WORKER_LOG_DAYS`",
    'of_results',
  ),
  fields: { revision: 'number' },
  indexes: [{ fields: { revision: 1 } }],
};

/** There is one. */
export interface LogStateDocument extends Document {
  /** The numbers of the first segment and of the next one to be made. */
  first: number;
  next: number;
  /** How many more entries the last segment takes. */
  room: number;
  /** The entries of all segments. */
  entries: number;
  /** Rises with each change. */
  revision: number;
  /** The first segment's size and latest entry; null when it must be read. */
  oldest: { entries: number; until_ms: number } | null;
  /** The deletion under way, and the segment that it comes to next. */
  clearing: { event_id: string; next: number } | null;
}
export const logStates = readById<LogStateDocument>('worker_log_states', kept('under 1 kB', 'never', 'of_results'));
export const LOG_STATE = 'log';
export const emptyLog = (): LogStateDocument => ({
  ...{ _id: LOG_STATE, first: 0, next: 0, room: 0, entries: 0, revision: 0 },
  ...{ oldest: null, clearing: null },
});

/** In which segments a job has entries. */
export interface LogJobDocument extends Document {
  first: number;
  last: number;
  /** The job is deleted: a late result of it makes no entry. The document goes with the job's purge. */
  is_deleted: boolean;
}
export const logJobs: ReadModelSpec<LogJobDocument> = {
  name: 'worker_log_jobs',
  ...kept('100 a job', 'with `worker_log_segments`', 'of_results'),
  fields: { is_deleted: 'boolean', last: 'number' },
  indexes: [{ fields: { is_deleted: 1, last: 1 } }],
};

/** Ten digits: with 2,048 entries each, more segments than a log can have. */
export const segmentId = (number: number): string => String(number).padStart(10, '0');

/** What stands for no domain; no host has this name. */
const NO_DOMAIN = '-';
/** The host of a URL, without a final dot. */
export const domainOfUrl = (url: string): string | null => domainOf(url).replace(/\.$/, '') || null;

/** A segment as it is searched. */
export interface Segment {
  number: number;
  revision: number;
  entries: number;
  from_ms: number;
  until_ms: number;
  jobs: readonly string[];
  workers: readonly string[];
  proxies: readonly string[];
  /** With a space before, between and after. */
  domains: string;
  outcomes: SegmentDocument['outcomes'];
  /** The entries of each outcome. */
  outcome_counts: readonly number[];
  ranges: SegmentDocument['ranges'];
  range: Uint16Array;
  domain: Uint16Array;
  outcome: Uint16Array;
  index: Uint32Array;
  duration: Uint32Array;
  attempt: Uint8Array | null;
  proxy: Uint16Array | null;
}

/** At most `SEGMENT_ENTRIES`. */
export function toSegment(number: number, revision: number, entries: readonly LogEntry[]): SegmentDocument {
  const { length } = entries;
  const [jobs, workers, proxies, domains, outcomes] = [places(), places(), places(), places(), places()];
  const found: SegmentDocument['outcomes'] = [];
  const ranges: SegmentDocument['ranges'] = [];
  const range = new Uint16Array(length);
  const domain = new Uint16Array(length);
  const outcome = new Uint16Array(length);
  const index = new Uint32Array(length);
  const duration = new Uint32Array(length);
  const attempt = new Uint8Array(length);
  const proxy = new Uint16Array(length);
  let before: LogEntry | null = null;
  let until_ms = 0;
  for (const [n, entry] of entries.entries()) {
    const { job_id, at_ms, worker, status_code, error_code, proxy_id, duration_ms } = entry;
    if (before?.job_id !== job_id || before.at_ms !== at_ms || before.worker !== worker) {
      ranges.push({ job: jobs.of(job_id), at_ms, worker: worker === null ? 0 : workers.of(worker) + 1 });
      until_ms = Math.max(until_ms, at_ms);
      before = entry;
    }
    range[n] = ranges.length - 1;
    domain[n] = domains.of(entry.domain ?? NO_DOMAIN);
    outcome[n] = outcomes.of(`${status_code} ${error_code}`);
    if (outcome[n] === found.length) found.push([status_code, error_code]);
    index[n] = entry.index;
    duration[n] = duration_ms === null ? 0 : duration_ms + 1;
    attempt[n] = entry.attempt;
    proxy[n] = proxy_id === null ? 0 : proxies.of(proxy_id) + 1;
  }
  return {
    ...{ _id: segmentId(number), revision, entries: length, until_ms },
    ...{ jobs: jobs.names, workers: workers.names, proxies: proxies.names, domains: domains.names.join(' ') },
    ...{ outcomes: found, ranges },
    ...{ range: textOf(range), domain: textOf(domain), outcome: textOf(outcome) },
    ...{ index: textOf(index), duration: textOf(duration) },
    attempt: attempt.some((made) => made !== 1) ? textOf(attempt) : '',
    proxy: proxies.names.length > 0 ? textOf(proxy) : '',
  };
}

/** Numbers names from 0, in the order in which they come. */
function places() {
  const found = new Map<string, number>();
  const names: string[] = [];
  return {
    names,
    of(name: string): number {
      let place = found.get(name);
      if (place === undefined) {
        place = names.push(name) - 1;
        found.set(name, place);
      }
      return place;
    },
  };
}

const textOf = ({ buffer, byteOffset, byteLength }: Uint8Array | Uint16Array | Uint32Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('base64');

/** A copy, because a buffer's bytes may begin at any place, and numbers must not. */
const bytesOf = (text: string): ArrayBuffer => Uint8Array.from(Buffer.from(text, 'base64')).buffer;

export function ofSegment(document: SegmentDocument): Segment {
  const { _id, revision, entries, until_ms, jobs, workers, proxies, outcomes, ranges } = document;
  const outcome = new Uint16Array(bytesOf(document.outcome));
  const outcome_counts = outcomes.map(() => 0);
  for (const place of outcome) outcome_counts[place]!++;
  return {
    ...{ number: Number(_id), revision, entries, until_ms, jobs, workers, proxies, outcomes, outcome_counts, ranges },
    from_ms: ranges.reduce((least, { at_ms }) => Math.min(least, at_ms), Number.POSITIVE_INFINITY),
    domains: ` ${document.domains} `,
    range: new Uint16Array(bytesOf(document.range)),
    domain: new Uint16Array(bytesOf(document.domain)),
    outcome,
    index: new Uint32Array(bytesOf(document.index)),
    duration: new Uint32Array(bytesOf(document.duration)),
    attempt: document.attempt === '' ? null : new Uint8Array(bytesOf(document.attempt)),
    proxy: document.proxy === '' ? null : new Uint16Array(bytesOf(document.proxy)),
  };
}

/** Returns a function that makes the entry at a place of the segment. */
export function entriesOf(segment: Segment): (place: number) => LogEntry {
  const { jobs, workers, proxies, outcomes, ranges, range, domain, outcome, index, duration, attempt, proxy } = segment;
  const domains = namesOf(segment);
  return (place) => {
    const { job, at_ms, worker } = ranges[range[place]!]!;
    const [status_code, error_code] = outcomes[outcome[place]!]!;
    return {
      ...{ job_id: jobs[job]!, index: index[place]!, attempt: attempt?.[place] ?? 1, at_ms },
      worker: worker === 0 ? null : workers[worker - 1]!,
      proxy_id: proxy?.[place] ? proxies[proxy[place]! - 1]! : null,
      domain: domains[domain[place]!]!,
      ...{ status_code, error_code, duration_ms: duration[place] === 0 ? null : duration[place]! - 1 },
    };
  };
}

/** The domains of a segment by their places; null for what is no URL. */
export const namesOf = ({ domains }: Segment): (string | null)[] =>
  domains
    .slice(1, -1)
    .split(' ')
    .map((name) => (name === NO_DOMAIN ? null : name));

/** The place of a domain among those of a segment; -1 when the segment has none of it. */
export function placeOf(domain: string, { domains }: Segment): number {
  // Two names with a space between would be found as neighbours.
  const found = domain === NO_DOMAIN || domain.includes(' ') ? -1 : domains.indexOf(` ${domain} `);
  if (found < 0) return -1;
  let place = 0;
  for (let at = domains.indexOf(' ', 1); at > 0 && at <= found; at = domains.indexOf(' ', at + 1)) place++;
  return place;
}
