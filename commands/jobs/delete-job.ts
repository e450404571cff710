// Deletes a job: settles it, which refunds its unused credits, then appends its deletion. The purge process later finds the
// deleted job in the read model of purges and removes its data. Decision 11 says why.
import type { Position } from '../../events/event-store.ts';
import { jobStream } from '../../events/streams.ts';
import type { CommandContext, Refusal } from '../aggregate.ts';
import type { CreditsLedger } from '../ledger/credits.ts';
import { decide, type JobRefusal, type Jobs } from './job.ts';
import { type EndedJob, settleJob } from './settle-job.ts';

export type Deleted =
  | { ok: true; position: Position }
  | { ok: false; refused: JobRefusal | (Refusal & { code: 'unavailable'; details?: undefined }) };

export type DeleteJob = (job_id: string, context: CommandContext) => Promise<Deleted>;

/** `ended` returns the job as it was at its end; null while the read model has not reached `position`. */
export function openDeleteJob(
  jobs: Jobs,
  credits: CreditsLedger,
  ended: (job_id: string, position: Position) => Promise<EndedJob | null>,
): DeleteJob {
  return async (job_id, context) => {
    const { state, position } = await jobs.aggregate.read(jobStream(job_id));
    const decision = decide(state, { type: 'delete' });
    if ('refused' in decision) return { ok: false, refused: decision.refused };
    const job = await ended(job_id, position);
    if (!job) {
      // Another request may have deleted it meanwhile.
      const again = decide((await jobs.aggregate.read(jobStream(job_id))).state, { type: 'delete' });
      if ('refused' in again) return { ok: false, refused: again.refused };
      const message = 'The service has not counted all results of the job yet. Try again in a few seconds.';
      return { ok: false, refused: { code: 'unavailable', message } };
    }
    await settleJob(job, jobs, credits, context);
    return jobs.run(job_id, { type: 'delete' }, context);
  };
}
