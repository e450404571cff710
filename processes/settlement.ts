// Gives back what an ended job did not use: `max(0, allocated - completed)`, once for each job.
import type { CommandContext } from '../commands/aggregate.ts';
import type { CreditsLedger } from '../commands/credits.ts';
import type { JobDocument } from '../readmodels/jobs.ts';
import type { LiveCollection } from '../readmodels/projection-state.ts';

const AT_ONCE = 1000;

export async function settleJobs(
  jobs: LiveCollection<JobDocument>,
  credits: CreditsLedger,
  context: (job_id: string) => CommandContext,
): Promise<void> {
  // A job that has ended keeps its count of checked URLs: the order of the log decided it.
  for (const job of await jobs.find({ due: 'settlement' }, { limit: AT_ONCE })) {
    const amount = Math.max(0, job.credits_allocated - job.completed_urls);
    await credits.run(job.owner_id, { type: 'refund', job_id: job._id, amount }, context(job._id));
  }
}
