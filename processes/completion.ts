// Ends what is finished: a job whose URLs are all checked is completed, one that has used its credits is paused.
import type { CommandContext } from '../commands/aggregate.ts';
import type { Jobs } from '../commands/job.ts';
import type { JobDocument } from '../readmodels/jobs.ts';
import type { LiveCollection } from '../readmodels/projection-state.ts';

const AT_ONCE = 1000;

export async function completeJobs(
  jobs: LiveCollection<JobDocument>,
  commands: Jobs,
  context: (job_id: string) => CommandContext,
): Promise<void> {
  // The read model may be behind the log: a refusal says that it has been done, or is no longer so.
  for (const job of await jobs.find({ due: 'completion' }, { limit: AT_ONCE })) {
    await commands.run(job._id, { type: 'complete', completed_urls: job.completed_urls }, context(job._id));
  }
  for (const job of await jobs.find({ due: 'ceiling' }, { limit: AT_ONCE })) {
    const { credits_allocated } = job;
    await commands.run(job._id, { type: 'pauseAtCeiling', credits_allocated }, context(job._id));
  }
}
