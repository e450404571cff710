// Resumes a job: reserves the credits that the job lacks, as far as the balance allows, then appends the resumption. When
// another request resumes the job first, the append is refused and the reservation is released.
import type { Position } from '../../events/event-store.ts';
import type { Ceiling } from '../../events/job.ts';
import { creditsStream, jobStream } from '../../events/streams.ts';
import type { CommandContext, Refusal } from '../aggregate.ts';
import type { CreditsLedger, LimitedKey } from '../ledger/credits.ts';
import { decide, type Jobs } from './job.ts';
import { releaseUnused } from './reservations.ts';
import { LIMIT_REACHED } from './submit-job.ts';

export type Resumed =
  | { ok: true; credits_added: number; credits_allocated: number; position: Position }
  | { ok: false; refused: Refusal };

/** `key`: the API key with a limit of credits that resumes it. */
export type ResumeJob = (job_id: string, context: CommandContext, key?: LimitedKey) => Promise<Resumed>;

const BEING_RESUMED = {
  code: 'illegal_transition',
  message: 'The job is being resumed by another request; look at it again.',
};
export const NO_CREDITS = {
  code: 'no_credits',
  message: 'There are no credits left. Buy credits, then resume the job.',
};

export function openResumeJob(jobs: Jobs, credits: CreditsLedger): ResumeJob {
  return async (job_id, context, key) => {
    const { state: job } = await jobs.aggregate.read(jobStream(job_id));
    const lacking = job.total_urls - job.credits_allocated;
    const worth_reserving = job.status === 'paused' && lacking > 0;
    const reservation_id = worth_reserving ? `${job_id}:${context.command_id}` : null;
    let credits_added = 0;
    let ceiling: Ceiling | undefined;
    if (reservation_id) {
      const command = { type: 'reserve', reservation_id, job_id, up_to: lacking, ...(key && { key }) } as const;
      const reserved = await credits.run(job.owner_id, command, context);
      credits_added = reserved.ok ? (reserved.state.reservations.get(reservation_id)?.amount ?? 0) : 0;
      if (reserved.ok && credits_added < lacking && reserved.ceiling === 'usage_limit') ceiling = 'usage_limit';
      if (credits_added === 0 && job.pause_reason !== 'owner') {
        // A concurrent request that resumes the job has reserved its credits first, or has appended the resumption.
        const { state: now } = await jobs.aggregate.read(jobStream(job_id));
        const decision = decide(now, { type: 'resume', credits_added: 0, reservation_id: null });
        if ('refused' in decision) return { ok: false, refused: decision.refused };
        const ledger = reserved.ok ? reserved.state : await credits.aggregate.peek(creditsStream(job.owner_id));
        const others = [...ledger.reservations].filter(([, reservation]) => reservation.job_id === job_id);
        const resuming = others.some(([id]) => !now.reservations.has(id));
        const lack = reserved.ok ? (ceiling ? LIMIT_REACHED : NO_CREDITS) : reserved.refused;
        return { ok: false, refused: resuming ? BEING_RESUMED : lack };
      }
    }
    const resumed = await jobs.run(
      job_id,
      {
        type: 'resume',
        credits_added,
        reservation_id: credits_added > 0 ? reservation_id : null,
        ...(ceiling && { ceiling }),
      },
      context,
    );
    if (resumed.ok) {
      const { state, position } = resumed;
      return { ok: true, credits_added, credits_allocated: state.credits_allocated, position };
    }
    if (reservation_id && credits_added > 0) {
      await releaseUnused({ jobs, credits }, { reservation_id, job_id, user_id: job.owner_id }, context);
    }
    return { ok: false, refused: resumed.refused };
  };
}
