// Counts results into the statistics of their jobs, as a part of the projection of jobs, which decides which results count.
// A batch of results reads and writes each statistics document once.
import type { CheckedUrl } from '../events/checked-range.ts';
import type { FoundOfDomain } from '../events/domain-checks.ts';
import type { Collection, Document } from '../readmodels/documents.ts';
import {
  type Counts,
  type DomainDocument,
  domainId,
  domainOf,
  FIRST_DOMAINS,
  jobDomains,
  jobResponseTimes,
  jobStats,
  MAX_MS_COUNTED,
  MOST_CHECKED,
  NO_STATUS,
  noResponseTimes,
  noStats,
  responseTimesId,
  type StatsDocument,
  slotOf,
} from '../readmodels/stats.ts';
import type { OpenCollection } from './projection.ts';
import { readAll, writeAll } from './slices.ts';

export const STATS_COLLECTIONS = [jobStats, jobResponseTimes, jobDomains] as const;

/** The results of one event. */
export interface CheckedRange {
  job_id: string;
  /** The time of the event, in ISO 8601. */
  at: string;
  rows: readonly CheckedUrl[];
}

/** Adds results to the statistics. The caller passes each result once. */
export async function countResults(ranges: readonly CheckedRange[], open: OpenCollection): Promise<void> {
  if (ranges.length === 0) return;
  const stats = await touched(await open(jobStats), new Set(ranges.map(({ job_id }) => job_id)));
  const others: OtherDomain[] = [];
  for (const [job_id, of_job] of Map.groupBy(ranges, (range) => range.job_id)) {
    const document = stats.get(job_id, () => noStats(job_id));
    for (const { rows } of of_job) for (const row of rows) count(document, row);
    others.push(...countFirstDomains(document, of_job));
  }
  await countOtherDomains(others, stats.of, open);
  const times = ranges.flatMap(({ job_id, rows }) => timesOf(stats.of.get(job_id)!, rows));
  await stats.save();
  await countInSlots(times, open);
}

/** A result whose domain is not among the first domains of its job. */
interface OtherDomain {
  id: string;
  domain: string;
  at: string;
  row: CheckedUrl;
}

/** Counts the first domains in the job's document. Returns the results of other domains, which have documents of their own. */
function countFirstDomains(stats: StatsDocument, ranges: readonly CheckedRange[]): OtherDomain[] {
  const { _id: job_id, first_domains } = stats;
  const first = new Map(first_domains.map((found) => [found.domain, found]));
  const others: OtherDomain[] = [];
  for (const { at, rows } of ranges) {
    for (const row of rows) {
      const domain = domainOf(row.url);
      let found = first.get(domain);
      if (!found && first_domains.length < FIRST_DOMAINS) {
        found = nothingFound(domain);
        first.set(domain, found);
        first_domains.push(found);
        stats.domains_total++;
      }
      if (found) countOfDomain(found, row, at);
      else others.push({ id: domainId(job_id, domain), domain, at, row });
    }
  }
  return others;
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

async function countOtherDomains(
  others: readonly OtherDomain[],
  stats: ReadonlyMap<string, StatsDocument>,
  open: OpenCollection,
): Promise<void> {
  if (others.length === 0) return;
  const domains = await touched(await open(jobDomains), new Set(others.map(({ id }) => id)));
  for (const { id, domain, at, row } of others) {
    const { job_id } = row;
    const document = domains.get(id, (): DomainDocument => {
      stats.get(job_id)!.domains_total++;
      return { _id: id, job_id, ...nothingFound(domain) };
    });
    countOfDomain(document, row, at);
  }
  await domains.save();
}

/** Response times that belong in a slot's document. */
interface InSlot {
  id: string;
  place: number;
  count: number;
}

/** Counts response times in the job's document while they have few distinct values. Returns those to count in slots. */
function timesOf({ _id: job_id, response_times }: StatsDocument, rows: readonly CheckedUrl[]): InSlot[] {
  const in_slots: InSlot[] = [];
  const toSlot = (ms: number, count: number) => {
    const { slot, place } = slotOf(ms);
    in_slots.push({ id: responseTimesId(job_id, slot), place, count });
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

async function countInSlots(counted: readonly InSlot[], open: OpenCollection): Promise<void> {
  if (counted.length === 0) return;
  const times = await touched(await open(jobResponseTimes), new Set(counted.map(({ id }) => id)));
  for (const { id, place, count } of counted) times.get(id, () => noResponseTimes(id)).by_ms[place]! += count;
  await times.save();
}

/** Removes a deleted job's statistics, except its domains: these may be as many as its URLs, and the purge removes them. */
export async function removeStats(job_id: string, open: OpenCollection): Promise<void> {
  const stats = await open(jobStats);
  const slots = Object.keys((await stats.get(job_id))?.response_times.slots ?? {});
  await (await open(jobResponseTimes)).write(slots.map((slot) => ({ delete: responseTimesId(job_id, slot) })));
  await stats.write([{ delete: job_id }]);
}

/** Removes up to `at_most` domains of a deleted job. */
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

/** Reads the documents of these ids; `get` changes them in memory, `save` writes them once. */
async function touched<T extends Document>(collection: Collection<T>, ids: ReadonlySet<string>) {
  const documents = new Map((await readAll(collection, [...ids])).map((document) => [document._id, document]));
  return {
    of: documents,
    get(id: string, make: () => T): T {
      let document = documents.get(id);
      if (!document) documents.set(id, (document = make()));
      return document;
    },
    save: () =>
      writeAll(
        collection,
        [...documents.values()].map((document) => ({ replace: document })),
      ),
  };
}
