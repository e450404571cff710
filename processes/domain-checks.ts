// Records what the checks of a job say of each domain, once, when the job has ended: the health of domains is counted
// from that. A job that is deleted before its turn comes is not counted.
import type { CommandContext } from '../commands/aggregate.ts';
import type { DomainChecks } from '../commands/domain-checks.ts';
import type { FoundOfDomain } from '../events/domain-checks.ts';
import { jsonBytes, runsOf } from '../events/event-store.ts';
import { type JobDocument, jobs } from '../readmodels/jobs.ts';
import type { ReadModels } from '../readmodels/read-models.ts';
import { foundOfDomains, jobDomains, jobStats } from '../readmodels/stats.ts';
import { pause } from '../time/pause.ts';
import { inParallel } from './in-parallel.ts';

/** Bytes of the domains of one part, cut at the same places each time: an append has a limit, and domains may be long. */
const PART_BYTES = 512 * 1024;

/** Jobs that one pass looks at. */
const AT_ONCE = 100;
const IDLE_MS = 500;

export interface DomainChecksOptions {
  readmodels: ReadModels;
  commands: DomainChecks;
  context: (job_id: string) => CommandContext;
}

/** Runs until `signal` aborts; calls `works` after each pass. */
export async function runDomainChecks(
  options: DomainChecksOptions,
  signal: AbortSignal,
  works: () => void,
): Promise<void> {
  while (!signal.aborted) {
    await recordSomeDomains(options, signal);
    works();
    await pause(IDLE_MS, signal);
  }
}

export async function recordSomeDomains(options: DomainChecksOptions, signal: AbortSignal): Promise<void> {
  const due = await options.readmodels.collection(jobs).find({ due: 'domains' }, { limit: AT_ONCE });
  await inParallel(due, async (job) => signal.aborted || recordDomains(job, options));
}

/** One that was interrupted goes over its parts again: an ended job has the same ones each time. */
async function recordDomains({ _id: job_id }: JobDocument, options: DomainChecksOptions): Promise<void> {
  const { readmodels, commands, context } = options;
  const stats = await readmodels.collection(jobStats).get(job_id);
  let part = 0;
  const record = (domains: FoundOfDomain[], last: boolean) =>
    commands.record(part++, { job_id, domains, last }, context(job_id));
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
  await record(held, true);
}
