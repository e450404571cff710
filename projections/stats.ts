// Counts results into the statistics of their jobs. A part of the projection of jobs, which knows what counts: however
// many results a batch holds, each document that they touch is read once and written once.
import type { URLChecked } from '../events/checks.ts';
import type { Collection, Document } from '../readmodels/documents.ts';
import {
  type Counts,
  domainId,
  domainOf,
  FIRST_DOMAINS,
  jobDomains,
  jobResponseTimes,
  jobStats,
  NO_STATUS,
  noResponseTimes,
  noStats,
  responseTimesId,
  type StatsDocument,
  slotOf,
} from '../readmodels/stats.ts';
import type { OpenCollection } from './projection.ts';

export const STATS_COLLECTIONS = [jobStats, jobResponseTimes, jobDomains] as const;

/** Adds results that were not added before. */
export async function countResults(results: readonly URLChecked[], open: OpenCollection): Promise<void> {
  if (results.length === 0) return;
  const stats = await touched(await open(jobStats), new Set(results.map(({ job_id }) => job_id)));
  const others: OtherDomain[] = [];
  for (const [job_id, of_job] of Map.groupBy(results, (result) => result.job_id)) {
    const document = stats.get(job_id, () => noStats(job_id));
    for (const result of of_job) count(document, result);
    others.push(...countFirstDomains(document, of_job));
  }
  await countOtherDomains(others, stats.of, open);
  await stats.save();
  await countResponseTimes(results, open);
}

/** A result whose domain is not among the first of its job. */
interface OtherDomain {
  id: string;
  job_id: string;
  domain: string;
  is_broken: boolean;
}

/** Gives back what belongs in documents of its own. */
function countFirstDomains(stats: StatsDocument, results: readonly URLChecked[]): OtherDomain[] {
  const { _id: job_id, first_domains } = stats;
  const first = new Map(first_domains.map((counts) => [counts[0], counts]));
  const others: OtherDomain[] = [];
  for (const { url, is_broken } of results) {
    const domain = domainOf(url);
    let counts = first.get(domain);
    if (!counts && first_domains.length < FIRST_DOMAINS) {
      counts = [domain, 0, 0];
      first.set(domain, counts);
      first_domains.push(counts);
      stats.domains_total++;
    }
    if (!counts) others.push({ id: domainId(job_id, domain), job_id, domain, is_broken });
    else {
      counts[1]++;
      if (is_broken) counts[2]++;
    }
  }
  return others;
}

async function countOtherDomains(
  others: readonly OtherDomain[],
  stats: ReadonlyMap<string, StatsDocument>,
  open: OpenCollection,
): Promise<void> {
  if (others.length === 0) return;
  const domains = await touched(await open(jobDomains), new Set(others.map(({ id }) => id)));
  for (const { id, job_id, domain, is_broken } of others) {
    const document = domains.get(id, () => {
      stats.get(job_id)!.domains_total++;
      return { _id: id, job_id, domain, count: 0, broken: 0 };
    });
    document.count++;
    if (is_broken) document.broken++;
  }
  await domains.save();
}

async function countResponseTimes(results: readonly URLChecked[], open: OpenCollection): Promise<void> {
  const measured = results.flatMap(({ job_id, response_time_ms: ms }) => {
    if (ms === null) return [];
    const { slot, place } = slotOf(ms);
    return [{ id: responseTimesId(job_id, slot), place }];
  });
  if (measured.length === 0) return;
  const times = await touched(await open(jobResponseTimes), new Set(measured.map(({ id }) => id)));
  for (const { id, place } of measured) times.get(id, () => noResponseTimes(id)).by_ms[place]!++;
  await times.save();
}

/** What was counted of a deleted job is gone, but for its domains, which may be as many as its URLs. */
export async function removeStats(job_id: string, open: OpenCollection): Promise<void> {
  const stats = await open(jobStats);
  const slots = Object.keys((await stats.get(job_id))?.response_times.slots ?? {});
  await (await open(jobResponseTimes)).write(slots.map((slot) => ({ delete: responseTimesId(job_id, slot) })));
  await stats.write([{ delete: job_id }]);
}

/** Removes so many of the domains of a deleted job, or all that it has. */
export async function removeDomains(job_id: string, at_most: number, open: OpenCollection): Promise<void> {
  const domains = await open(jobDomains);
  const found = await domains.find({ job_id }, { sort: { count: -1, _id: 1 }, limit: at_most });
  await domains.write(found.map(({ _id }) => ({ delete: _id })));
}

function count(stats: StatsDocument, result: URLChecked): void {
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

/** The documents of these ids, to be changed in memory between one read and one write. */
async function touched<T extends Document>(collection: Collection<T>, ids: ReadonlySet<string>) {
  const documents = new Map((await collection.getMany([...ids])).map((document) => [document._id, document]));
  return {
    of: documents,
    get(id: string, make: () => T): T {
      let document = documents.get(id);
      if (!document) documents.set(id, (document = make()));
      return document;
    },
    save: () => collection.write([...documents.values()].map((document) => ({ replace: document }))),
  };
}
