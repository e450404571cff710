// Settles an ended job: refunds the credits that it was allocated and did not use, once for each job.
import { jobStream } from '../../events/streams.ts';
import { isTestUser } from '../../events/test-user.ts';
import { type CommandContext, notRefused } from '../aggregate.ts';
import type { CreditsLedger } from '../ledger/credits.ts';
import type { Jobs } from './job.ts';

/** A job as of its end, after which none of these fields changes. */
export interface EndedJob {
  job_id: string;
  owner_id: string;
  credits_allocated: number;
  completed_urls: number;
}

/**
 * Refunds the unused credits of `ended`. A job of test keys has cost none. A deleted job was settled before its deletion and gets nothing: documents made from
 * the log after that may lack its results, and the refund would be too large. Throws the log's errors.
 */
export async function settleJob(
  ended: EndedJob,
  jobs: Jobs,
  credits: CreditsLedger,
  context: CommandContext,
): Promise<void> {
  const { job_id, owner_id, credits_allocated, completed_urls } = ended;
  const { state } = await jobs.aggregate.read(jobStream(job_id));
  if (state.status === 'deleted' || isTestUser(owner_id)) return;
  // Documents that are rebuilt may lack results that expired.
  const amount = Math.max(0, credits_allocated - (state.expired?.completed_urls ?? completed_urls));
  const reservation_ids = [...state.reservations].filter(([, was]) => was === 'used').map(([id]) => id);
  notRefused(await credits.run(owner_id, { type: 'refund', job_id, reservation_ids, amount }, context));
}
