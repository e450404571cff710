// Submits a job under an idempotency key: a repeated request gets the first request's answer and creates no second job, even
// when the first request died. Decision 118 says why.
import type { EventStore, Position } from '../../events/event-store.ts';
import type { RequestAnswered } from '../../events/idempotency.ts';
import type { JobCreated } from '../../events/job.ts';
import { type CommandContext, notRefused } from '../aggregate.ts';
import type { IdempotencyKeys, IdempotencyRefusal, KeyScope } from '../idempotency.ts';
import type { CreditsLedger } from '../ledger/credits.ts';
import type { ListReading, OrUnusable } from './intake.ts';
import type { Jobs } from './job.ts';
import { type Submitted, takeBack } from './submit-job.ts';

/** `reading`: how the file was read; null for a list. */
export type SubmittedList = Submitted & { reading?: ListReading | null };

export interface OneSubmission {
  scope: KeyScope;
  fingerprint: string;
  /** The lease of the request. When it takes longer, the next request with the key takes over, and this one fails. */
  lease_ms: number;
  /** Makes the job's id. Nobody can guess it, not even who guesses the key: those who know a job's id may read the job. */
  new_job_id: () => string;
  /** Creates the job under this id. After a refusal there is no job, and the key is free again. */
  submit(job_id: string): Promise<OrUnusable<SubmittedList>>;
  /** Removes what a request that died has stored besides the log. */
  discard?(job_id: string): Promise<void>;
  /** The log keeps the answer in clear: nothing personal belongs in it. `created_at`: milliseconds since the epoch. */
  answerOf(job: JobCreated, created_at: number): Omit<RequestAnswered, 'job_id'>;
}

/** The refusals that concern the key. */
export type KeyRefused = Extract<IdempotencyRefusal, { code: `idempotency_${string}` }>;

/** `reading`: how the file was read; null for a list, and where the first answer is repeated. */
export type SubmittedOnce =
  | { ok: true; answer: RequestAnswered; position: Position; replayed: boolean; reading: ListReading | null }
  | { ok: false; refused: KeyRefused }
  | Extract<OrUnusable<Submitted>, { ok: false }>;

export type SubmitOnce = (submission: OneSubmission, context: CommandContext) => Promise<SubmittedOnce>;

/** Concurrent requests with the key may settle it before this one; it gives up after so many times. */
const MAX_TRIES = 10;

export function openSubmitOnce(log: EventStore, keys: IdempotencyKeys, jobs: Jobs, credits: CreditsLedger): SubmitOnce {
  /** Settles an earlier request that ended without an answer: records the answer of its job, or makes sure that no job is created. */
  async function settle(
    job_id: string,
    { scope, answerOf, discard }: OneSubmission,
    context: CommandContext,
  ): Promise<void> {
    const found = await takeBack({ log, jobs, credits }, { job_id, owner_id: scope.user_id }, context);
    if (!found.created) {
      await discard?.(job_id);
      return;
    }
    const answer = { job_id, ...answerOf(found.job, found.created_at) };
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
        if (answer) return { ok: true, answer, position: claimed.position, replayed: true, reading: null };
        return await make(job_id, submission, context);
      }
      const { refused } = claimed;
      if (refused.code !== 'unsettled') return { ok: false, refused };
      await settle(refused.job_id, submission, context);
      settled = refused.job_id;
    }
    throw new Error(`an idempotency key was settled ${MAX_TRIES} times and is still claimed`);
  }

  async function make(job_id: string, submission: OneSubmission, context: CommandContext): Promise<SubmittedOnce> {
    const { scope, submit, answerOf } = submission;
    // While the log is away this fails, and the lease runs out.
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
    const { position } = notRefused(await keys.run(scope, { type: 'answer', answer }, context));
    return { ok: true, answer, position, replayed: false, reading: submitted.reading ?? null };
  }

  return submitOnce;
}
