// The read model of domains: what all checks of their URLs found, over all jobs that have ended.
import type { DomainsChecked, FoundOfDomain } from '../events/domain-checks.ts';
import { type DomainHealthDocument, domainHealth } from '../readmodels/domain-health.ts';
import type { Counts } from '../readmodels/stats.ts';
import type { Projection } from './projection.ts';

export const domainHealthProjection: Projection = {
  name: 'domain_health',
  version: 2,
  types: ['DomainsChecked'],
  heavy: ['DomainsChecked'],
  collections: [domainHealth],
  async apply(events, open) {
    const collection = await open(domainHealth);
    for (const event of events) {
      const { domains } = event.data as DomainsChecked;
      const there = await collection.getMany(domains.map(({ domain }) => domain));
      const documents = new Map(there.map((document) => [document._id, document]));
      await collection.write(domains.map((found) => ({ replace: add(documents.get(found.domain), found) })));
    }
  },
};

function add(document: DomainHealthDocument | undefined, { domain, ...found }: FoundOfDomain): DomainHealthDocument {
  const sum = document ?? { _id: domain, ...found, failure_rate: 0, avg_response_time_ms: null };
  if (document) {
    sum.checks += found.checks;
    sum.failures += found.failures;
    sum.blocked_count += found.blocked_count;
    sum.answers += found.answers;
    sum.response_time_total_ms += found.response_time_total_ms;
    // The log has jobs in the order in which they were counted.
    if (found.last_checked_at > sum.last_checked_at) sum.last_checked_at = found.last_checked_at;
    addCounts(sum.status_codes, found.status_codes);
    addCounts(sum.error_codes, found.error_codes);
    addCounts(sum.verdicts, found.verdicts);
  }
  sum.failure_rate = Math.round((sum.failures / sum.checks) * 1e4) / 1e4;
  sum.avg_response_time_ms = sum.answers === 0 ? null : Math.round(sum.response_time_total_ms / sum.answers);
  return sum;
}

function addCounts(sum: Counts, counts: Counts): void {
  for (const [value, count] of Object.entries(counts)) sum[value] = (sum[value] ?? 0) + count;
}
