// A log of many ended jobs of many hosts each, written at the speed of the log: the largest events that a rebuild meets, and jobs
// whose events stand between those of others.
import { randomUUID } from 'node:crypto';
import { openDomainChecks } from '../../commands/domain-checks.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import { recordChecks } from '../../commands/jobs/record-checks.ts';
import { openSubmitJob } from '../../commands/jobs/submit-job.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import type { FoundOfDomain } from '../../events/domain-checks.ts';
import type { EventStore } from '../../events/event-store.ts';
import { batchSize } from '../../events/job.ts';
import { outcomeOf } from './checked-job.ts';

export interface ManyJobs {
  jobs: number;
  /** Hosts of each job, with a URL each, drawn from `all_hosts`. */
  hosts: number;
  all_hosts: number;
  owner_id: string;
  /** Jobs that are written at a time, so that their events stand between each other. */
  at_once?: number;
  /** Writes only the counts of domains, which no read model of jobs takes without the job. */
  is_domains_only?: boolean;
}

const AT = '2026-02-03T10:00:00.000Z';

/** Appends the jobs. Each is completed, and its domains are recorded. */
export async function appendManyJobs(log: EventStore, options: ManyJobs, advanced = (_jobs: number) => {}) {
  const { jobs: count, hosts, all_hosts, owner_id, at_once = 50, is_domains_only = false } = options;
  const [jobs, credits, domain_checks] = [openJobs(log), openCredits(log), openDomainChecks(log)];
  const submit = openSubmitJob(log, jobs, credits);
  const context = () => ({ command_id: randomUUID(), causation_id: randomUUID(), actor: 'bench', now: Date.parse(AT) });
  if (!is_domains_only) {
    const lot = { transaction_type: 'purchase', reference_id: randomUUID(), expires_at: null } as const;
    await credits.run(owner_id, { type: 'grant', ...lot, amount: count * hosts }, context());
  }

  async function append(n: number): Promise<void> {
    const job_id = randomUUID();
    const names = Array.from({ length: hosts }, (_, m) => `www.site-${(n * hosts + m * 7919) % all_hosts}.example`);
    if (!is_domains_only) await check(job_id, names);
    const domains = [...new Set(names)].map(foundOf);
    await domain_checks.record(0, { job_id, domains, last: true }, context());
  }

  async function check(job_id: string, names: readonly string[]): Promise<void> {
    const urls = names.map((name) => `https://${name}/`);
    await submit(
      {
        ...{ job_id, owner_id, owner_email: null, source: 'api', filename: null, blob_key: null },
        needs_credits: true,
        counts: () => ({ duplicates_removed: 0, invalid_urls_rejected: 0, blocked_urls_skipped: 0 }),
        pages: (async function* () {
          for (let from = 0; from < urls.length; from += 1000) yield { urls: urls.slice(from, from + 1000) };
        })(),
      },
      context(),
    );
    const size = batchSize(urls.length);
    for (let from = 0; from < urls.length; from += size) {
      const some = urls.slice(from, from + size);
      const range = { job_id, batch: from / size, batch_from_index: from, from_index: from, urls: some };
      await recordChecks(log, range, some.map(outcomeOf), context());
    }
    const broken_urls = urls.filter((url, n) => outcomeOf(url, n % size).is_broken).length;
    await jobs.run(job_id, { type: 'complete', completed_urls: urls.length, broken_urls }, context());
  }

  let begun = 0;
  let done = 0;
  const lane = async () => {
    while (begun < count) {
      await append(begun++);
      advanced(++done);
    }
  };
  await Promise.all(Array.from({ length: at_once }, lane));
}

const foundOf = (domain: string): FoundOfDomain => ({
  ...{ domain, checks: 1, failures: 0, blocked_count: 0, answers: 1, response_time_total_ms: 120, last_checked_at: AT },
  ...{ status_codes: { 200: 1 }, error_codes: {}, verdicts: { ok: 1 } },
});
