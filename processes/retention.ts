// Ends the time for which the results of ended jobs are kept. The event carries all that the statistics show, so that these survive; the
// purge then removes the results as it removes those of deleted jobs. Decision 99 says why.
import { type CommandContext, notRefused } from '../commands/aggregate.ts';
import type { Jobs } from '../commands/jobs/job.ts';
import { jobs } from '../readmodels/jobs/jobs.ts';
import { purges } from '../readmodels/jobs/purges.ts';
import type { ReadModels } from '../readmodels/read-models.ts';
import { jobDomains, jobResponseTimes, jobStats, noStats, summaryOf } from '../readmodels/results/stats.ts';
import { DAY_MS } from '../time/units.ts';
import { type AnyManager, processManager } from './process-manager.ts';
import { firstOthers, type PutOff } from './put-off.ts';

/** Jobs in one pass. While so many purges are under way, those that fail not counted, no further results expire, so that a user's deletion waits for few. */
const AT_ONCE = 100;
const EVERY_MS = 60_000;

export interface RetentionOptions {
  readmodels: Pick<ReadModels, 'collection'>;
  job_commands: Jobs;
  /** Days after a job's end. */
  days: number;
  failed_purges: Pick<PutOff, 'has'>;
  context: (job_id: string) => CommandContext;
}

export function retention({ readmodels, job_commands, days, failed_purges, context }: RetentionOptions): AnyManager {
  return processManager({
    name: 'retention',
    finds: { in: jobs, where: {} },
    order: 'results_kept_since',
    due_at: { field: 'results_kept_since', after_ms: days * DAY_MS },
    async at_once() {
      const under_way = await firstOthers(readmodels.collection(purges), {}, 'since', AT_ONCE, failed_purges);
      return AT_ONCE - under_way.length || null;
    },
    at_a_time: 1,
    /** The statistics of an ended job change no more. */
    async work({ _id: job_id, completed_urls, started_at }) {
      const stats = (await readmodels.collection(jobStats).get(job_id)) ?? noStats(job_id);
      // What is removed cannot be counted again.
      if (stats.checked_urls !== completed_urls)
        throw new Error(`${completed_urls} URLs are completed, but the statistics have ${stats.checked_urls}`);
      const [domains, times] = [readmodels.collection(jobDomains), readmodels.collection(jobResponseTimes)];
      const expired = { completed_urls, started_at, summary: await summaryOf({ domains, times }, stats) };
      return notRefused(await job_commands.run(job_id, { type: 'expireResults', expired }, context(job_id))).position;
    },
    fails: 'the results of a job cannot expire now; those of others do',
    every_ms: EVERY_MS,
  });
}
