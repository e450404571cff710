// Refunds the credits that ended jobs did not use: `max(0, allocated - completed)`, once for each job.
import type { CommandContext } from '../commands/aggregate.ts';
import type { Jobs } from '../commands/jobs/job.ts';
import { settleJob } from '../commands/jobs/settle-job.ts';
import type { CreditsLedger } from '../commands/ledger/credits.ts';
import { endedJob, jobs } from '../readmodels/jobs/jobs.ts';
import { type AnyManager, processManager } from './process-manager.ts';

const SPACING_MS = 10;

export interface SettlementOptions {
  job_commands: Jobs;
  credits: CreditsLedger;
  context: (job_id: string) => CommandContext;
}

export function settlement({ job_commands, credits, context }: SettlementOptions): AnyManager {
  return processManager({
    name: 'settlement',
    finds: { in: jobs, where: { due: 'settlement' } },
    order: '_id',
    since: ({ completed_at }) => completed_at,
    work: async (job) => void (await settleJob(endedJob(job), job_commands, credits, context(job._id))),
    fails: 'an ended job cannot be settled now; the others are',
    spacing_ms: SPACING_MS,
  });
}
