// Begins a trial: the first job of an API key to complete gives its owner a month of a plan, once in the owner's life.
// Decision 145 says why.
import type { EventStore, Position } from '../../events/event-store.ts';
import { subscriptionAt } from '../../events/subscription-state.ts';
import { type CommandContext, notRefused } from '../aggregate.ts';
import type { CreditsLedger } from '../ledger/credits.ts';
import { openSubscriptions, trialOf } from './subscription.ts';

export type Trials = ReturnType<typeof openTrials>;

/** `trial_credits`: those of a new trial. */
export function openTrials(log: EventStore, credits: CreditsLedger, trial_credits: number) {
  const subscriptions = openSubscriptions(log);
  return {
    /** May be called again, for any job of the user. Returns the position of the trial; null when the user has had one, or pays for a plan. */
    async begin(
      user_id: string,
      job: { job_id: string; completed_at: string },
      context: CommandContext,
    ): Promise<Position | null> {
      const state = await subscriptions.read(user_id);
      if (state.trial || subscriptionAt(state, context.now)?.is_trial === false) return null;
      const trial = trialOf(job, trial_credits);
      // The credits first: after a crash in between the next call grants none, and records the trial of the same job.
      const { credits: amount, period_end: expires_at } = trial;
      const grant = { type: 'grant', transaction_type: 'trial', reference_id: user_id, amount, expires_at } as const;
      notRefused(await credits.run(user_id, grant, context));
      return notRefused(await subscriptions.run(user_id, { type: 'startTrial', trial }, context)).position;
    },
  };
}
