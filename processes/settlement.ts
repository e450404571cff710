// Refunds the credits that ended jobs did not use: `max(0, allocated - completed)`, once for each job.
import type { CommandContext } from '../commands/aggregate.ts';
import type { CreditsLedger } from '../commands/credits.ts';
import type { Jobs } from '../commands/job.ts';
import { settleJob } from '../commands/settle-job.ts';
import { endedJob, type JobDocument } from '../readmodels/jobs.ts';
import type { LiveCollection } from '../readmodels/read-models.ts';
import { type Apart, TOGETHER } from './put-off.ts';

const AT_ONCE = 1000;

export async function settleJobs(
  jobs: LiveCollection<JobDocument>,
  commands: Jobs,
  credits: CreditsLedger,
  context: (job_id: string) => CommandContext,
  apart: Apart = TOGETHER,
): Promise<void> {
  await apart.each(await apart.find(jobs, { due: 'settlement' }, AT_ONCE), (job) =>
    settleJob(endedJob(job), commands, credits, context(job._id)),
  );
}
