// Records an ended job's results, counted by domain, once. The read model of domains adds these up. A job that is deleted before
// this pass reaches it is not counted.
import type { CommandContext } from '../commands/aggregate.ts';
import type { DomainChecks } from '../commands/domain-checks.ts';
import type { FoundOfDomain } from '../events/domain-checks.ts';
import { jsonBytes, runsOf } from '../events/event-store.ts';
import { type JobDocument, jobs } from '../readmodels/jobs.ts';
import type { ReadModels } from '../readmodels/read-models.ts';
import { foundOfDomains, jobDomains, jobStats, type StatsDocument } from '../readmodels/stats.ts';
import { pause } from '../time/pause.ts';
import { passOnMoves } from './passes.ts';
import { type Apart, TOGETHER } from './put-off.ts';

/** A part of domains has at most this many bytes, so that it fits an append. Each run cuts the parts at the same places. */
const PART_BYTES = 512 * 1024;

/** Jobs in one pass. */
const AT_ONCE = 1000;
/** Statistics in one read: each document has up to 500 domains. */
const READ_AT_ONCE = 50;
const SPACING_MS = 500;
/** While jobs keep ending, a pass records the jobs of this time together, because small jobs often name the same domains. */
const BUSY_MS = 2_000;

export interface DomainChecksOptions {
  readmodels: ReadModels;
  commands: DomainChecks;
  context: (job_id: string) => CommandContext;
  apart?: Apart;
}

/** Runs until `signal` aborts; calls `onPass` after each pass. */
export async function runDomainChecks(
  options: DomainChecksOptions,
  signal: AbortSignal,
  onPass: () => void,
): Promise<void> {
  const { readmodels } = options;
  await passOnMoves({ readmodels, spacing_ms: SPACING_MS, signal, onPass }, async () => {
    const jobs = await recordSomeDomains(options, signal);
    if (jobs > 0) await pause(BUSY_MS, signal);
  });
}

/** Makes one pass. Returns the number of jobs in it. */
export async function recordSomeDomains(options: DomainChecksOptions, signal: AbortSignal): Promise<number> {
  const { readmodels, apart = TOGETHER } = options;
  const due = await apart.find(readmodels.collection(jobs), { due: 'domains' }, AT_ONCE);
  for (let from = 0; from < due.length && !signal.aborted; from += READ_AT_ONCE) {
    const some = due.slice(from, from + READ_AT_ONCE);
    const found = await readmodels.collection(jobStats).getMany(some.map(({ _id }) => _id));
    const stats = new Map(found.map((document) => [document._id, document]));
    await apart.each(some, async (job) => signal.aborted || recordDomains(job, stats.get(job._id), options));
  }
  return due.length;
}

/** Records a job's parts. After a crash it starts again from the first: an ended job has the same parts each time. */
async function recordDomains(
  { _id: job_id, completed_urls }: JobDocument,
  stats: StatsDocument | undefined,
  { readmodels, commands, context }: DomainChecksOptions,
): Promise<void> {
  const { checked_urls = 0 } = stats ?? {};
  // Somebody has dropped statistics. What is recorded stays, so the job waits until they are rebuilt.
  if (checked_urls !== completed_urls)
    throw new Error(`${completed_urls} URLs are completed, but the statistics have ${checked_urls}`);
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
