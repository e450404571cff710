// Counts results into the statistics of their jobs, as a part of the projection of jobs, which decides which results count.
// A batch of results reads and writes each statistics document once.
import type { CheckedUrl } from '../../events/checked-range.ts';
import type { FoundOfDomain } from '../../events/domain-checks.ts';
import type { Summary } from '../../events/job.ts';
import type { CollectionSpec, Document } from '../../readmodels/documents.ts';
import {
  type Counts,
  type DomainDocument,
  domainId,
  domainOf,
  FIRST_DOMAINS,
  jobDomains,
  jobOfResponseTimes,
  jobResponseTimes,
  jobStats,
  MAX_MS_COUNTED,
  MOST_CHECKED,
  NO_STATUS,
  noResponseTimes,
  noStats,
  type ResponseTimesDocument,
  responseTimesId,
  type StatsDocument,
  slotOf,
  toStats,
} from '../../readmodels/results/stats.ts';
import type { OpenCollection } from '../projection.ts';
import { readAll, replaceAll } from '../slices.ts';

export const STATS_COLLECTIONS = [jobStats, jobResponseTimes, jobDomains] as const;

/** The results of one event. */
export interface CheckedRange {
  job_id: string;
  /** The time of the event, in ISO 8601. */
  at: string;
  rows: readonly CheckedUrl[];
}

/** The statistics that the events of one transaction change. They are in memory until `save`. */
export type Counting = ReturnType<typeof openCounting>;

/** What is counted of a job. Results look up its parts by names that are shorter than the documents' ids. */
interface OfJob {
  stats: StatsDocument;
  /** The first domains, which are in the job's document, and those that have documents of their own. */
  domains: Map<string, FoundOfDomain>;
  slots: Map<number, ResponseTimesDocument>;
}

export function openCounting(open: OpenCollection) {
  const stats = touched(jobStats, open);
  const domains = touched(jobDomains, open);
  const times = touched(jobResponseTimes, open);
  const jobs = new Map<string, OfJob>();

  async function loadJobs(job_ids: readonly string[]): Promise<void> {
    const unknown = job_ids.filter((job_id) => !jobs.has(job_id));
    await stats.load(unknown);
    for (const job_id of unknown) {
      const document = stats.get(job_id, () => noStats(job_id));
      const first = document.first_domains.map((found) => [found.domain, found] as const);
      jobs.set(job_id, { stats: document, domains: new Map(first), slots: new Map() });
    }
  }

  async function countDomains(ranges: readonly CheckedRange[]): Promise<void> {
    const rows = ranges.flatMap(({ job_id, at, rows }) =>
      rows.map((row) => ({ job: jobs.get(job_id)!, at, row, domain: domainOf(row.url) })),
    );
    const isOfOthers = ({ stats: { domains_total, first_domains } }: OfJob) => domains_total > first_domains.length;
    const unknown = rows.filter(({ job, domain }) => isOfOthers(job) && !job.domains.has(domain));
    await domains.load(unknown.map(({ job, domain }) => domainId(job.stats._id, domain)));
    for (const { job, at, row, domain } of rows) {
      let found = job.domains.get(domain);
      if (!found) job.domains.set(domain, (found = domainOfJob(job.stats, domain, domains)));
      countOfDomain(found, row, at);
    }
  }

  async function countTimes(ranges: readonly CheckedRange[]): Promise<void> {
    const counted = ranges.flatMap(({ job_id, rows }) => timesOf(jobs.get(job_id)!, rows));
    const unknown = counted.filter(({ job, slot }) => !job.slots.has(slot));
    await times.load(unknown.map(({ job, slot }) => responseTimesId(job.stats._id, slot)));
    for (const { job, slot, place, count } of counted) {
      let document = job.slots.get(slot);
      if (!document) {
        const id = responseTimesId(job.stats._id, slot);
        job.slots.set(slot, (document = times.get(id, () => noResponseTimes(id))));
      }
      document.by_ms[place]! += count;
    }
  }

  return {
    /** Adds results. The caller passes each result once. */
    async count(ranges: readonly CheckedRange[]): Promise<void> {
      await loadJobs([...new Set(ranges.map(({ job_id }) => job_id))]);
      for (const { job_id, rows } of ranges) for (const row of rows) count(jobs.get(job_id)!.stats, row);
      await countDomains(ranges);
      await countTimes(ranges);
    },
    /** Writes each changed document once, but none of a deleted job's. */
    async save(isKept: (job_id: string) => boolean): Promise<void> {
      await stats.save(({ _id }) => isKept(_id));
      await domains.save(({ job_id }) => isKept(job_id));
      await times.save(({ _id }) => isKept(jobOfResponseTimes(_id)));
    },
  };
}

/** Returns a domain that the job has in a document of its own, or makes the domain that the job has not had. */
function domainOfJob(stats: StatsDocument, domain: string, others: Touched<DomainDocument>): FoundOfDomain {
  if (stats.first_domains.length < FIRST_DOMAINS) {
    const found = nothingFound(domain);
    stats.first_domains.push(found);
    stats.domains_total++;
    return found;
  }
  const id = domainId(stats._id, domain);
  return others.get(id, () => {
    stats.domains_total++;
    return { _id: id, job_id: stats._id, ...nothingFound(domain) };
  });
}

const nothingFound = (domain: string): FoundOfDomain => ({
  ...{ domain, checks: 0, failures: 0, blocked_count: 0, answers: 0, response_time_total_ms: 0, last_checked_at: '' },
  ...{ status_codes: {}, error_codes: {}, verdicts: {} },
});

function countOfDomain(found: FoundOfDomain, row: CheckedUrl, at: string): void {
  found.checks++;
  if (row.is_broken) found.failures++;
  if (row.verdict === 'blocked') found.blocked_count++;
  if (row.response_time_ms !== null) {
    found.answers++;
    found.response_time_total_ms += row.response_time_ms;
  }
  // Several machines' clocks label the checks, so the log's order is not the order of these times.
  if (at > found.last_checked_at) found.last_checked_at = at;
  add(found.status_codes, row.status_code ?? NO_STATUS);
  if (row.error_code !== null) add(found.error_codes, row.error_code);
  add(found.verdicts, row.verdict);
}

/** Response times that belong in a slot's document. */
interface InSlot {
  job: OfJob;
  slot: number;
  place: number;
  count: number;
}

/** Counts response times in the job's document while they have few distinct values. Returns those to count in slots. */
function timesOf(job: OfJob, rows: readonly CheckedUrl[]): InSlot[] {
  const { response_times } = job.stats;
  const in_slots: InSlot[] = [];
  const toSlot = (ms: number, count: number) => {
    const { slot, place } = slotOf(ms);
    in_slots.push({ job, slot, place, count });
  };
  for (const { response_time_ms: ms } of rows) {
    if (ms === null) continue;
    const { by_ms } = response_times;
    if (!by_ms) toSlot(ms, 1);
    else if (ms in by_ms || Object.keys(by_ms).length < MAX_MS_COUNTED) add(by_ms, ms);
    else {
      for (const [counted_ms, count] of Object.entries(by_ms)) toSlot(Number(counted_ms), count);
      response_times.by_ms = null;
      toSlot(ms, 1);
    }
  }
  return in_slots;
}

/** Removes a deleted job's statistics, except its domains: these may be as many as its URLs, and the purge removes them. */
export async function removeStats(job_id: string, open: OpenCollection): Promise<void> {
  const stats = await open(jobStats);
  const slots = Object.keys((await stats.get(job_id))?.response_times.slots ?? {});
  await (await open(jobResponseTimes)).write(slots.map((slot) => ({ delete: responseTimesId(job_id, slot) })));
  await stats.write([{ delete: job_id }]);
}

/** Leaves of a job's statistics only the summary. Its domains go as those of a deleted job do. */
export async function summarize(job_id: string, summary: Summary, open: OpenCollection): Promise<void> {
  await removeStats(job_id, open);
  await (await open(jobStats)).write([{ replace: toStats(job_id, summary) }]);
}

/** Removes up to `at_most` domains of a job that is deleted, or whose results expired. */
export async function removeDomains(job_id: string, at_most: number, open: OpenCollection): Promise<void> {
  const domains = await open(jobDomains);
  const found = await domains.find({ job_id }, { sort: MOST_CHECKED, limit: at_most });
  await domains.write(found.map(({ _id }) => ({ delete: _id })));
}

function count(stats: StatsDocument, result: CheckedUrl): void {
  stats.checked_urls++;
  if (result.is_broken) stats.broken_urls++;
  if (result.is_soft_404) stats.soft_404_urls++;
  if (result.redirect_chain.length > 0) stats.redirected_urls++;
  add(stats.status_codes, result.status_code ?? NO_STATUS);
  add(stats.verdicts, result.verdict);
  if (result.error_code !== null) add(stats.error_codes, result.error_code);
  if (result.response_time_ms !== null) measure(stats.response_times, result.response_time_ms);
}

function measure(times: StatsDocument['response_times'], ms: number): void {
  times.count++;
  times.sum_ms += ms;
  times.min_ms = Math.min(times.min_ms ?? ms, ms);
  times.max_ms = Math.max(times.max_ms ?? ms, ms);
  add(times.slots, slotOf(ms).slot);
}

function add(counts: Counts, value: string | number): void {
  counts[value] = (counts[value] ?? 0) + 1;
}

/** Documents that are read once, changed in memory and written once. */
interface Touched<T> {
  load(ids: readonly string[]): Promise<void>;
  /** Returns a loaded document, or makes the missing one. */
  get(id: string, make: () => T): T;
  save(isKept: (document: T) => boolean): Promise<void>;
}

function touched<T extends Document>(spec: CollectionSpec<T>, open: OpenCollection): Touched<T> {
  const documents = new Map<string, T>();
  return {
    async load(ids) {
      if (ids.length === 0) return;
      for (const [id, document] of await readAll(await open(spec), ids)) documents.set(id, document);
    },
    get(id, make) {
      let document = documents.get(id);
      if (!document) documents.set(id, (document = make()));
      return document;
    },
    async save(isKept) {
      const kept = [...documents.values()].filter(isKept);
      if (kept.length === 0) return;
      await replaceAll(await open(spec), kept);
    },
  };
}
