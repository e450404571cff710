// Submitting under an idempotency key: a request that comes again is answered like the first time, and makes no second
// job, whatever became of the first one.
import type { EventStore, Position } from '../events/event-store.ts';
import type { RequestAnswered } from '../events/idempotency.ts';
import type { JobCreated } from '../events/job.ts';
import type { CommandContext } from './aggregate.ts';
import type { CreditsLedger } from './credits.ts';
import type { IdempotencyKeys, IdempotencyRefusal, KeyScope } from './idempotency.ts';
import type { OrUnusable } from './intake.ts';
import type { Jobs } from './job.ts';
import { type Submitted, takeBack } from './submit-job.ts';

export interface OneSubmission {
  scope: KeyScope;
  fingerprint: string;
  /** How long nobody else may work on it; what takes longer fails, and is taken over by the next request. */
  lease_ms: number;
  /** An id for the job. Not computed from the key: who guesses a key must not know of a job. */
  new_job_id: () => string;
  /** Makes the job under this id. When it is refused there is no job, and the key is forgotten. */
  submit(job_id: string): Promise<OrUnusable<Submitted>>;
  /** `created_at`: milliseconds since the epoch. */
  answerOf(job: JobCreated, created_at: number): Omit<RequestAnswered, 'job_id'>;
}

/** What the client is told of its key. */
export type KeyRefused = Extract<IdempotencyRefusal, { code: `idempotency_${string}` }>;

export type SubmittedOnce =
  | { ok: true; answer: RequestAnswered; position: Position; replayed: boolean }
  | { ok: false; refused: KeyRefused }
  | Extract<OrUnusable<Submitted>, { ok: false }>;

export type SubmitOnce = (submission: OneSubmission, context: CommandContext) => Promise<SubmittedOnce>;

/** Other requests that settle the same key at the same time win at most this often in a row. */
const MAX_TRIES = 10;

export function openSubmitOnce(log: EventStore, keys: IdempotencyKeys, jobs: Jobs, credits: CreditsLedger): SubmitOnce {
  /** Makes sure of the job of a request that ended without an answer: the answer is told, or the job will never be. */
  async function settle(job_id: string, { scope, answerOf }: OneSubmission, context: CommandContext): Promise<void> {
    const found = await takeBack({ log, jobs, credits }, { job_id, owner_id: scope.user_id }, context);
    if (!found.created) return;
    const answer = { job_id, ...answerOf(found.job, found.created_at) };
    // Refused when another request was here first, which then has settled it.
    await keys.run(scope, { type: 'answer', answer }, context);
  }

  async function submitOnce(submission: OneSubmission, context: CommandContext): Promise<SubmittedOnce> {
    const { scope, fingerprint, lease_ms } = submission;
    const job_id = submission.new_job_id();
    let settled: string | null = null;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const claimed = await keys.run(scope, { type: 'claim', fingerprint, job_id, lease_ms, settled }, context);
      if (claimed.ok) {
        const { answer } = claimed.state;
        if (answer) return { ok: true, answer, position: claimed.position, replayed: true };
        return await make(job_id, submission, context);
      }
      const { refused } = claimed;
      if (refused.code === 'claim_lost') throw new Error(refused.message);
      if (refused.code !== 'unsettled') return { ok: false, refused };
      await settle(refused.job_id, submission, context);
      settled = refused.job_id;
    }
    throw new Error(`an idempotency key was settled ${MAX_TRIES} times and is claimed still`);
  }

  async function make(job_id: string, submission: OneSubmission, context: CommandContext): Promise<SubmittedOnce> {
    const { scope, submit, answerOf } = submission;
    // Where the log cannot be told, the lease runs out.
    const end = (type: 'release' | 'abandon') => keys.run(scope, { type, job_id }, context).catch(() => {});
    const submitted = await submit(job_id).catch(async (error: unknown) => {
      await end('abandon');
      throw error;
    });
    if (!submitted.ok) {
      await end('release');
      return submitted;
    }
    const answer = { job_id, ...answerOf(submitted.job, context.now) };
    const answered = await keys.run(scope, { type: 'answer', answer }, context);
    if (!answered.ok) throw new Error(answered.refused.message);
    return { ok: true, answer, position: answered.position, replayed: false };
  }

  return submitOnce;
}
