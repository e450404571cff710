// The read model of domains: the results of their URLs, counted over all ended jobs.
import type { FoundOfDomain } from '../events/domain-checks.ts';
import { type DomainHealthDocument, domainHealth } from '../readmodels/domain-health.ts';
import type { Counts } from '../readmodels/results/stats.ts';
import { type Projection, projection } from './projection.ts';
import { readAll, replaceAll } from './slices.ts';

/** Events with at most this many domains share a transaction, because small jobs often name the same domains. */
const FEW_DOMAINS = 20;

export const domainHealthProjection: Projection = projection({
  name: 'domain_health',
  version: 2,
  isHeavy: ({ type, data }) => type === 'DomainsChecked' && data.domains.length > FEW_DOMAINS,
  collections: [domainHealth],
  covers: ['domain_checks'],
  begin: () => [] as FoundOfDomain[],
  on: {
    DomainsChecked: ({ data }, all_found) => all_found.push(...data.domains),
  },
  async end(all_found, open) {
    const collection = await open(domainHealth);
    const names = all_found.map(({ domain }) => domain);
    const documents = await readAll(collection, names);
    for (const found of all_found) documents.set(found.domain, add(documents.get(found.domain), found));
    await replaceAll(collection, documents.values());
  },
});

function add(document: DomainHealthDocument | undefined, { domain, ...found }: FoundOfDomain): DomainHealthDocument {
  const sum = document ?? { _id: domain, ...copyOf(found), failure_rate: 0, avg_response_time_ms: null };
  if (document) {
    sum.checks += found.checks;
    sum.failures += found.failures;
    sum.blocked_count += found.blocked_count;
    sum.answers += found.answers;
    sum.response_time_total_ms += found.response_time_total_ms;
    // The log orders jobs by their end; their last checks may be in another order.
    if (found.last_checked_at > sum.last_checked_at) sum.last_checked_at = found.last_checked_at;
    addCounts(sum.status_codes, found.status_codes);
    addCounts(sum.error_codes, found.error_codes);
    addCounts(sum.verdicts, found.verdicts);
  }
  sum.failure_rate = Math.round((sum.failures / sum.checks) * 1e4) / 1e4;
  sum.avg_response_time_ms = sum.answers === 0 ? null : Math.round(sum.response_time_total_ms / sum.answers);
  return sum;
}

/** Copies the event's counts, which the sum changes in place: a failed transaction applies the same event again. */
const copyOf = (found: Omit<FoundOfDomain, 'domain'>) => ({
  ...found,
  status_codes: { ...found.status_codes },
  error_codes: { ...found.error_codes },
  verdicts: { ...found.verdicts },
});

function addCounts(sum: Counts, counts: Counts): void {
  for (const [value, count] of Object.entries(counts)) sum[value] = (sum[value] ?? 0) + count;
}
