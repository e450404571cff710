// Records an ended job's results, counted by domain, once. The read model of domains adds these up. A job that is deleted before
// this pass reaches it is not counted.
import type { CommandContext } from '../commands/aggregate.ts';
import type { DomainChecks } from '../commands/domain-checks.ts';
import type { FoundOfDomain } from '../events/domain-checks.ts';
import { jsonBytes, runsOf } from '../events/event-store.ts';
import { type JobDocument, jobs } from '../readmodels/jobs/jobs.ts';
import type { ReadModels } from '../readmodels/read-models.ts';
import { foundOfDomains, jobDomains, jobStats, type StatsDocument, statisticsOf } from '../readmodels/results/stats.ts';
import { type AnyManager, type Done, processManager } from './process-manager.ts';

/** A part of domains has at most this many bytes, so that it fits an append. Each run cuts the parts at the same places. */
const PART_BYTES = 512 * 1024;

/** Statistics in one read: each document has up to 500 domains. */
const READ_AT_ONCE = 50;
/** While jobs keep ending, a pass records the jobs of this time together, because small jobs often name the same domains. */
const BUSY_MS = 2_000;

export interface DomainChecksOptions {
  readmodels: Pick<ReadModels, 'collection'>;
  domain_checks: DomainChecks;
  context: (job_id: string) => CommandContext;
}

export function domainChecks(options: DomainChecksOptions): AnyManager {
  const documents = options.readmodels.collection(jobStats);
  return processManager<JobDocument, ReadonlyMap<string, StatsDocument>>({
    name: 'domain checks',
    finds: { in: jobs, where: { due: 'domains' } },
    order: '_id',
    since: ({ completed_at }) => completed_at,
    reads: {
      at_once: READ_AT_ONCE,
      read: statisticsOf(documents),
    },
    work: (job, { together }) => recordDomains(job, together.get(job._id), options),
    fails: 'the domains of a job cannot be recorded now; those of others are',
    busy_ms: BUSY_MS,
  });
}

/** Records a job's parts. After a crash it starts again from the first: an ended job has the same parts each time. */
async function recordDomains(
  { _id: job_id, completed_urls }: JobDocument,
  stats: StatsDocument | undefined,
  { readmodels, domain_checks, context }: DomainChecksOptions,
): Promise<Done> {
  const { checked_urls = 0 } = stats ?? {};
  // Somebody has dropped statistics. What is recorded stays, so the job waits until they are rebuilt.
  if (checked_urls !== completed_urls)
    throw new Error(`${completed_urls} URLs are completed, but the statistics have ${checked_urls}`);
  let part = 0;
  const record = (domains: FoundOfDomain[], last: boolean) =>
    domain_checks.record(part++, { job_id, domains, last }, context(job_id));
  let held: FoundOfDomain[] = [];
  if (stats) {
    for await (const page of foundOfDomains(readmodels.collection(jobDomains), stats)) {
      const named = page.filter(({ domain }) => domain !== '');
      for (const run of runsOf(named, jsonBytes, { most_bytes: PART_BYTES })) {
        if (held.length > 0) await record(held, false);
        held = run;
      }
    }
  }
  return record(held, true);
}
