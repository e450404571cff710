// Completes jobs whose URLs are all checked, and pauses jobs that have used their credits.
import type { CommandContext, Done } from '../commands/aggregate.ts';
import type { Jobs } from '../commands/jobs/job.ts';
import { brokenOf } from '../events/checked-range.ts';
import type { URLChecked } from '../events/checks.ts';
import type { EventStore } from '../events/event-store.ts';
import { checksStream } from '../events/streams.ts';
import { type JobDocument, jobs } from '../readmodels/jobs/jobs.ts';
import type { ReadModels } from '../readmodels/read-models.ts';
import { jobStats, type StatsDocument, statisticsOf } from '../readmodels/results/stats.ts';
import { type AnyManager, processManager } from './process-manager.ts';

/** Statistics in one read: each document has up to 500 domains. */
const READ_AT_ONCE = 100;
const SPACING_MS = 10;
/** While jobs keep ending, a pass completes the jobs of this time together. */
const ENDINGS_MS = 40;

export interface CompletionOptions {
  log: EventStore;
  readmodels: Pick<ReadModels, 'collection'>;
  job_commands: Jobs;
  context: (job_id: string) => CommandContext;
}

const FAILS = 'a job cannot be ended now; the others are';
/** The read model may be behind the log. A refusal then says that the job has moved on. */
const positionOf = (done: Done) => (done.ok ? done.position : null);

export function completion({ log, readmodels, job_commands, context }: CompletionOptions): AnyManager {
  const stats = readmodels.collection(jobStats);
  return processManager<JobDocument, ReadonlyMap<string, StatsDocument>>({
    name: 'completion',
    finds: { in: jobs, where: { due: 'completion' } },
    order: '_id',
    reads: {
      at_once: READ_AT_ONCE,
      // The projector writes statistics and jobs in one transaction, so these counts are complete, unless somebody has dropped some.
      read: statisticsOf(stats),
    },
    async work(job, { together }) {
      const { _id, completed_urls } = job;
      const statistics = together.get(_id);
      const is_counted = statistics?.checked_urls === completed_urls;
      const broken_urls = is_counted ? statistics.broken_urls : await brokenInLog(log, job);
      return positionOf(await job_commands.complete(_id, { completed_urls, broken_urls }, context(_id), job));
    },
    fails: FAILS,
    spacing_ms: SPACING_MS,
    busy_ms: ENDINGS_MS,
  });
}

export function ceilings({ job_commands, context }: Pick<CompletionOptions, 'job_commands' | 'context'>): AnyManager {
  return processManager({
    name: 'ceilings',
    finds: { in: jobs, where: { due: 'ceiling' } },
    order: '_id',
    // Only the log knows which ceiling it is.
    work: async ({ _id, credits_allocated }) =>
      positionOf(await job_commands.run(_id, { type: 'pauseAtCeiling', credits_allocated }, context(_id))),
    fails: FAILS,
    spacing_ms: SPACING_MS,
    busy_ms: ENDINGS_MS,
  });
}

async function brokenInLog(log: EventStore, { _id, total_urls, batch_size }: JobDocument): Promise<number> {
  let broken = 0;
  for (let batch = 0; batch * batch_size < total_urls; batch += 1) {
    for await (const { data } of log.readStream(checksStream(_id, batch))) broken += brokenOf(data as URLChecked);
  }
  return broken;
}
