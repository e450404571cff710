// The read model of domains: what all checks of their URLs found, whichever job asked and however it ended. A write for
// each domain of each batch would cost more than all else that is done about a URL, where a batch has many domains: such
// batches wait as they are, some at a time, and are counted together.
import type { URLChecked } from '../events/checks.ts';
import type { RecordedEvent } from '../events/event-store.ts';
import {
  type DomainHealthDocument,
  domainChecks,
  domainHealth,
  type FoundOfDomain,
} from '../readmodels/domain-health.ts';
import { type Counts, domainOf, NO_STATUS } from '../readmodels/stats.ts';
import type { OpenCollection, Projection } from './projection.ts';

/** About how many checks wait at most, batches being about alike: to count them is some 100 ms for the worst of them. */
const MAX_WAITING = 10_000;
/** Domains of a batch that are written at once: so few cost less than waiting. */
const FEW_DOMAINS = 20;
/** Documents in one read or write. */
const SLICE = 1000;

export const domainHealthProjection: Projection = {
  name: 'domain_health',
  version: 1,
  // Nothing waits longer than until some job stops.
  types: ['URLChecked', 'JobPaused', 'JobCompleted', 'JobCancelled', 'JobFailed'],
  collections: [domainHealth, domainChecks],
  outlives_jobs: true,
  async apply(events, open) {
    const waiting = await open(domainChecks);
    const checks = events.filter(({ type }) => type === 'URLChecked') as RecordedEvent<string, URLChecked>[];
    const found = checks.map(foundOf).filter(({ domain }) => domain !== '');
    const job_stopped = checks.length < events.length;
    const few_domains = new Set(found.map(({ domain }) => domain)).size <= FEW_DOMAINS;
    if (!job_stopped && !few_domains && (await waiting.count({})) * found.length < MAX_WAITING) {
      await waiting.write([{ insert: { _id: events.at(-1)!.position, found } }]);
      return;
    }
    const before = await waiting.find({});
    await waiting.write(before.map(({ _id }) => ({ delete: _id })));
    await count([...before.flatMap((batch) => batch.found), ...found], open);
  },
};

function foundOf({ data, metadata }: RecordedEvent<string, URLChecked>): FoundOfDomain {
  const { url, status_code, is_broken, verdict, error_code, response_time_ms } = data;
  return { domain: domainOf(url), at: metadata.at, status_code, is_broken, verdict, error_code, response_time_ms };
}

async function count(all: readonly FoundOfDomain[], open: OpenCollection): Promise<void> {
  const collection = await open(domainHealth);
  const by_domain = [...Map.groupBy(all, ({ domain }) => domain)];
  for (let from = 0; from < by_domain.length; from += SLICE) {
    const slice = by_domain.slice(from, from + SLICE);
    const there = await collection.getMany(slice.map(([domain]) => domain));
    const documents = new Map(there.map((document) => [document._id, document]));
    const writes = slice.map(([domain, found]) => {
      const document = documents.get(domain) ?? unchecked(domain);
      for (const one of found) add(document, one);
      document.failure_rate = Math.round((document.failures / document.checks) * 1e4) / 1e4;
      return { replace: document };
    });
    await collection.write(writes);
  }
}

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

function add(document: DomainHealthDocument, found: FoundOfDomain): void {
  document.checks++;
  if (found.is_broken) document.failures++;
  if (found.verdict === 'blocked') document.blocked_count++;
  if (found.response_time_ms !== null) {
    document.answers++;
    document.response_time_total_ms += found.response_time_ms;
    document.avg_response_time_ms = Math.round(document.response_time_total_ms / document.answers);
  }
  // The log has checks in the order in which they were recorded, by clocks of several machines.
  if (found.at > document.last_checked_at) document.last_checked_at = found.at;
  increment(document.status_codes, found.status_code ?? NO_STATUS);
  if (found.error_code !== null) increment(document.error_codes, found.error_code);
  increment(document.verdicts, found.verdict);
}

function increment(counts: Counts, value: string | number): void {
  counts[value] = (counts[value] ?? 0) + 1;
}
