// Ends what is finished: a job whose URLs are all checked is completed, one that has used its credits is paused.
import type { CommandContext } from '../commands/aggregate.ts';
import type { Jobs } from '../commands/job.ts';
import type { JobDocument } from '../readmodels/jobs.ts';
import type { LiveCollection } from '../readmodels/read-models.ts';
import type { StatsDocument } from '../readmodels/stats.ts';

const AT_ONCE = 1000;

export async function completeJobs(
  jobs: LiveCollection<JobDocument>,
  stats: LiveCollection<StatsDocument>,
  commands: Jobs,
  context: (job_id: string) => CommandContext,
): Promise<void> {
  // The read model may be behind the log: a refusal says that it has been done, or is no longer so.
  for (const { _id: job_id, completed_urls } of await jobs.find({ due: 'completion' }, { limit: AT_ONCE })) {
    // It was written together with the job.
    const { broken_urls = 0 } = (await stats.get(job_id)) ?? {};
    await commands.run(job_id, { type: 'complete', completed_urls, broken_urls }, context(job_id));
  }
  for (const job of await jobs.find({ due: 'ceiling' }, { limit: AT_ONCE })) {
    const { credits_allocated } = job;
    await commands.run(job._id, { type: 'pauseAtCeiling', credits_allocated }, context(job._id));
  }
}
