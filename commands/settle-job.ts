// Settling an ended job: what it was allocated and did not use is given back, once for each job.
import { jobStream } from '../events/streams.ts';
import type { CommandContext } from './aggregate.ts';
import type { CreditsLedger } from './credits.ts';
import type { Jobs } from './job.ts';

/** A job that has ended, as its events up to its end made it: from there on none of this changes. */
export interface EndedJob {
  job_id: string;
  owner_id: string;
  credits_allocated: number;
  completed_urls: number;
}

/**
 * `ended` was read before this is called. What comes after a job's deletion may have been made of a log that no longer
 * holds its results, and would give back too much; a deleted job is settled.
 */
export async function settleJob(
  ended: EndedJob,
  jobs: Jobs,
  credits: CreditsLedger,
  context: CommandContext,
): Promise<void> {
  const { job_id, owner_id, credits_allocated, completed_urls } = ended;
  const { state } = await jobs.aggregate.read(jobStream(job_id));
  if (state.status === 'deleted') return;
  const amount = Math.max(0, credits_allocated - completed_urls);
  const reservation_ids = [...state.reservations].filter(([, was]) => was === 'used').map(([id]) => id);
  const settled = await credits.run(owner_id, { type: 'refund', job_id, reservation_ids, amount }, context);
  if (!settled.ok) throw new Error(settled.refused.message);
}
