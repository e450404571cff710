// The read models of a job's statistics, which cover all results at a cost that does not grow with their number. One document
// for each job holds the values with few distinct ones; each domain beyond the first 500 has a document, indexed by count.
// Response times are a histogram of whole milliseconds, so that percentiles are exact: in the job's document while they have few
// distinct values, then in a document for each slot.
import type { Counts, FoundOfDomain } from '../../events/domain-checks.ts';
import { MAX_DOMAINS_SUMMARIZED, type Summary } from '../../events/job.ts';
import { type Collection, type Document, kept, type ReadModelSpec, readById, type Sort } from '../documents.ts';
import type { STATUS_GROUPS } from './results.ts';

type StatusGroup = (typeof STATUS_GROUPS)[number];

export type { Counts };

export interface StatsDocument extends Document {
  /** `_id` is the job's id. */
  checked_urls: number;
  broken_urls: number;
  soft_404_urls: number;
  /** URLs whose first answer was a redirect. */
  redirected_urls: number;
  /** `none` counts URLs without a response. */
  status_codes: Counts;
  verdicts: Counts;
  error_codes: Counts;
  /** The number of distinct domains. */
  domains_total: number;
  /** The first `FIRST_DOMAINS` domains in the order of their results: most jobs have no others. */
  first_domains: FoundOfDomain[];
  /** Counts only URLs with a response time. */
  response_times: {
    count: number;
    sum_ms: number;
    min_ms: number | null;
    max_ms: number | null;
    /** Counts by slot of `SLOT_MS`: at most about 1,200 slots, because a check takes at most 300 s. */
    slots: Counts;
    /**
     * Counts by millisecond, of at most `MAX_MS_COUNTED` distinct values. Null with more, whose counts are in the documents of
     * the slots; missing in documents of an earlier version, whose counts are there too.
     */
    by_ms?: Counts | null;
  };
  /** What the results' removal leaves of domains and response times. Present once the results have expired. */
  left?: Pick<Summary, 'domains'> & Pick<Summary['response_times'], 'percentiles' | 'histogram'>;
}

/** How often each response time of one slot was measured: `SLOT_MS` numbers. */
export interface ResponseTimesDocument extends Document {
  by_ms: number[];
}

export type ReadTimes = Pick<Collection<ResponseTimesDocument>, 'getMany'>;

/** A domain beyond the first `FIRST_DOMAINS`. */
export interface DomainDocument extends Document, FoundOfDomain {
  job_id: string;
}

export const jobStats = readById<StatsDocument>('job_stats', kept('with `jobs`', 'with `jobs`', 'of_results'));

/** Reads the statistics of jobs, by job. */
export const statisticsOf =
  (stats: Pick<Collection<StatsDocument>, 'getMany'>) =>
  async (jobs: readonly Document[]): Promise<ReadonlyMap<string, StatsDocument>> =>
    new Map((await stats.getMany(jobs.map(({ _id }) => _id))).map((document) => [document._id, document]));

export const jobResponseTimes: ReadModelSpec<ResponseTimesDocument> = {
  name: 'job_response_times',
  ...kept('1.5 kB for each 256 ms of response times', 'when the job is deleted, or its results expire', 'of_results'),
  fields: {},
  indexes: [],
};
export const jobDomains: ReadModelSpec<DomainDocument> = {
  name: 'job_domains',
  ...kept('240 a domain of the job', 'when the job is deleted, or its results expire', 'of_results'),
  fields: { job_id: 'string', checks: 'number' },
  indexes: [{ fields: { job_id: 1, checks: -1, _id: 1 } }],
};
export const MOST_CHECKED: Sort = { checks: -1, _id: 1 };

/** Limits the size of a document: each batch writes whole documents. */
export const FIRST_DOMAINS = 500;
const DOMAINS_PAGE = 1000;
const SLOT_MS = 256;
export const MAX_MS_COUNTED = 64;

export const NO_STATUS = 'none';
/** The slot of a response time, and its place in the slot. */
export const slotOf = (ms: number) => ({ slot: Math.floor(ms / SLOT_MS), place: ms % SLOT_MS });
export const noResponseTimes = (_id: string): ResponseTimesDocument => ({ _id, by_ms: Array(SLOT_MS).fill(0) });
export const responseTimesId = (job_id: string, slot: number | string) => `${job_id}:${slot}`;
export const jobOfResponseTimes = (id: string) => id.slice(0, id.lastIndexOf(':'));
export const domainId = (job_id: string, domain: string) => `${job_id}:${domain}`;

/**
 * Returns the URL's host as the URL parser writes it: lower case, without port, international names as punycode.
 * @example domainOf('https://Bücher.example:8443/') // 'xn--bcher-kva.example'
 */
export function domainOf(url: string): string {
  const host = PLAIN_HOST.exec(url)?.[1];
  return host === undefined || host.includes('xn--') ? (URL.parse(url)?.hostname ?? '') : host;
}

/** A host that the parser leaves as it is: no address, whose last label has a digit. The expression takes less time than the parser. */
const PLAIN_HOST = /^https?:\/\/([a-z0-9.-]*\.[a-z]+)[/?#]/;

export const noStats = (job_id: string): StatsDocument => ({
  _id: job_id,
  checked_urls: 0,
  broken_urls: 0,
  soft_404_urls: 0,
  redirected_urls: 0,
  status_codes: {},
  verdicts: {},
  error_codes: {},
  domains_total: 0,
  first_domains: [],
  response_times: { count: 0, sum_ms: 0, min_ms: null, max_ms: null, slots: {}, by_ms: {} },
});

/** The percentiles that the service shows. */
export const PERCENTS = [50, 90, 95, 99];

/** Returns all that the statistics of a job show. */
export async function summaryOf(
  { domains, times }: { domains: Pick<Collection<DomainDocument>, 'find'>; times: ReadTimes },
  stats: StatsDocument,
): Promise<Summary> {
  const { checked_urls, broken_urls, soft_404_urls, redirected_urls, status_codes, verdicts, error_codes } = stats;
  const { count, sum_ms, min_ms, max_ms } = stats.response_times;
  const measured = await percentiles(times, stats, PERCENTS);
  return {
    ...{ checked_urls, broken_urls, soft_404_urls, redirected_urls, status_codes, verdicts, error_codes },
    domains: await topDomains(domains, stats, MAX_DOMAINS_SUMMARIZED),
    domains_total: stats.domains_total,
    response_times: {
      ...{ count, sum_ms, min_ms, max_ms },
      percentiles: PERCENTS.map((percent, n) => ({ percent, ms: measured[n]! })),
      histogram: await histogram(times, stats),
    },
  };
}

/** The statistics of a job whose results have expired. */
export function toStats(_id: string, { domains, response_times, ...counts }: Summary): StatsDocument {
  const { percentiles, histogram, ...times } = response_times;
  return {
    ...{ _id, ...counts, first_domains: [], left: { domains, percentiles, histogram } },
    response_times: { ...times, slots: {}, by_ms: {} },
  };
}

/** Returns a count for each name, 0 for names that were not counted. */
export function namedCounts(names: readonly string[], counts: Counts): Counts {
  return Object.fromEntries(names.map((name) => [name, counts[name] ?? 0]));
}

/** Adds up the status codes by the groups of the results' filter. */
export function statusGroups({ status_codes, broken_urls }: StatsDocument): Record<StatusGroup, number> {
  const groups = { '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0, broken: broken_urls, unreachable: 0 };
  for (const [code, count] of Object.entries(status_codes)) {
    const group = code === NO_STATUS ? 'unreachable' : `${code[0]}xx`;
    // Codes such as 999 are in no group.
    if (group in groups) groups[group as StatusGroup] += count;
  }
  return groups;
}

/** Returns the domains with the most results, the most frequent first, domains of equal count by name. */
export async function topDomains(
  collection: Pick<Collection<DomainDocument>, 'find'>,
  { _id: job_id, first_domains, domains_total, left }: StatsDocument,
  limit: number,
): Promise<{ domain: string; count: number; broken: number }[]> {
  if (left) return left.domains.slice(0, limit);
  const has_others = domains_total > first_domains.length;
  const others = has_others ? await collection.find({ job_id }, { sort: MOST_CHECKED, limit }) : [];
  const all = [...first_domains, ...others].map(({ domain, checks, failures }) => ({
    domain,
    count: checks,
    broken: failures,
  }));
  return all.sort((a, b) => b.count - a.count || (a.domain < b.domain ? -1 : 1)).slice(0, limit);
}

/** Yields a job's results counted by domain, in pages of at most `DOMAINS_PAGE` domains. */
export async function* foundOfDomains(
  collection: Pick<Collection<DomainDocument>, 'stream'>,
  { _id, first_domains, domains_total }: StatsDocument,
): AsyncGenerator<FoundOfDomain[]> {
  yield first_domains;
  if (domains_total === first_domains.length) return;
  let page: FoundOfDomain[] = [];
  for await (const { _id: _, job_id: __, ...found } of collection.stream({ job_id: _id }, { sort: MOST_CHECKED })) {
    page.push(found);
    if (page.length < DOMAINS_PAGE) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

/**
 * Returns percentiles of the response times by nearest rank, in milliseconds; null without response times. Reads at most one
 * slot for each percentile.
 */
export async function percentiles(
  collection: ReadTimes,
  { _id: job_id, response_times: { count, slots, by_ms }, left }: StatsDocument,
  percents: readonly number[],
): Promise<(number | null)[]> {
  if (left) return percents.map((wanted) => left.percentiles.find(({ percent }) => percent === wanted)?.ms ?? null);
  if (count === 0) return percents.map(() => null);
  const ranks = percents.map((percent) => Math.ceil((percent * count) / 100));
  if (by_ms) return ranks.map((rank) => placeOf(ascending(by_ms), rank).value);
  const places = ranks.map((rank) => placeOf(ascending(slots), rank));
  const ids = places.map(({ value: slot }) => responseTimesId(job_id, slot));
  const read = new Map((await collection.getMany([...new Set(ids)])).map(({ _id, by_ms }) => [_id, by_ms]));
  return places.map(({ value: slot, rank }, n) => {
    const by_ms = read.get(ids[n]!);
    // The slot is missing when the job was deleted meanwhile.
    return by_ms ? slot * SLOT_MS + placeOf(by_ms.entries(), rank).value : null;
  });
}

/** The first bucket of the histogram ends here; each further one is twice as wide. */
const FIRST_BUCKET_MS = 16;

/** Counts the response times by powers of two, in ascending order, without gaps. Reads at most one slot. */
export async function histogram(
  collection: ReadTimes,
  { _id: job_id, response_times: { slots, by_ms }, left }: StatsDocument,
): Promise<{ below_ms: number; count: number }[]> {
  if (left) return left.histogram;
  // A power of two above SLOT_MS ends where a slot ends, so that only the first slot is looked into.
  const whole_slots = ascending(slots).filter(([slot]) => slot > 0);
  const [first] = by_ms ? [] : await collection.getMany([responseTimesId(job_id, 0)]);
  const counted = by_ms
    ? ascending(by_ms)
    : [...(first?.by_ms.entries() ?? []), ...whole_slots.map(([slot, count]) => [slot * SLOT_MS, count] as const)];
  const buckets: { below_ms: number; count: number }[] = [];
  for (const [ms, count] of counted) {
    if (count === 0) continue;
    while (ms >= (buckets.at(-1)?.below_ms ?? 0)) {
      buckets.push({ below_ms: (buckets.at(-1)?.below_ms ?? FIRST_BUCKET_MS / 2) * 2, count: 0 });
    }
    buckets.at(-1)!.count += count;
  }
  return buckets;
}

/** JavaScript iterates integer keys of an object in ascending order. */
const ascending = (counts: Counts) => Object.entries(counts).map(([value, count]) => [Number(value), count] as const);

/** Finds the value of this rank, from 1, in an ascending histogram, and its rank among the equal values. */
function placeOf(histogram: Iterable<readonly [value: number, count: number]>, rank: number) {
  let left = rank;
  for (const [value, count] of histogram) {
    if (left <= count) return { value, rank: left };
    left -= count;
  }
  throw new RangeError(`the histogram has no rank ${rank}`);
}
