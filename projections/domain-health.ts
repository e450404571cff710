// The read model of domains: what all checks of their URLs found, whichever job asked and however it ended.
import type { URLChecked } from '../events/checks.ts';

import type { RecordedEvent } from '../events/event-store.ts';
import { type DomainHealthDocument, domainHealth } from '../readmodels/domain-health.ts';
import { type Counts, domainOf, NO_STATUS } from '../readmodels/stats.ts';
import type { Projection } from './projection.ts';

export const domainHealthProjection: Projection = {
  name: 'domain_health',
  version: 1,
  types: ['URLChecked'],
  collections: [domainHealth],
  async apply(events, open) {
    const collection = await open(domainHealth);
    const by_domain = Map.groupBy(events as readonly RecordedEvent<string, URLChecked>[], (event) =>
      domainOf(event.data.url),
    );
    const domains = [...by_domain.keys()].filter((domain) => domain !== '');
    const there = new Map((await collection.getMany(domains)).map((document) => [document._id, document]));
    await collection.write(
      domains.map((domain) => {
        const document = there.get(domain) ?? unchecked(domain);
        for (const event of by_domain.get(domain)!) count(document, event);
        document.failure_rate = Math.round((document.failures / document.checks) * 1e4) / 1e4;
        return { replace: document };
      }),
    );
  },
};

function unchecked(domain: string): DomainHealthDocument {
  return {
    _id: domain,
    checks: 0,
    failures: 0,
    failure_rate: 0,
    blocked_count: 0,
    avg_response_time_ms: null,
    answers: 0,
    response_time_total_ms: 0,
    last_checked_at: '',
    status_codes: {},
    error_codes: {},
    verdicts: {},
  };
}

function count(document: DomainHealthDocument, { data, metadata }: RecordedEvent<string, URLChecked>): void {
  document.checks++;
  if (data.is_broken) document.failures++;
  if (data.verdict === 'blocked') document.blocked_count++;
  if (data.response_time_ms !== null) {
    document.answers++;
    document.response_time_total_ms += data.response_time_ms;
    document.avg_response_time_ms = Math.round(document.response_time_total_ms / document.answers);
  }
  // Batches of several checkers come in the order in which they were appended, not checked.
  if (metadata.at > document.last_checked_at) document.last_checked_at = metadata.at;
  add(document.status_codes, data.status_code === null ? NO_STATUS : String(data.status_code));
  if (data.error_code !== null) add(document.error_codes, data.error_code);
  add(document.verdicts, data.verdict);
}

function add(counts: Counts, value: string): void {
  counts[value] = (counts[value] ?? 0) + 1;
}
