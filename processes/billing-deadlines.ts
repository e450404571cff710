// What is due at a time: lots of credits expire, the grace of unpaid subscriptions ends, and trials begin. The ledger and the subscription
// decide: a second pass, or one over stale documents, changes nothing.
import type { CommandContext } from '../commands/aggregate.ts';
import type { Subscriptions } from '../commands/billing/subscription.ts';
import type { Trials } from '../commands/billing/trial.ts';
import type { CreditsLedger } from '../commands/ledger/credits.ts';
import type { Position } from '../events/event-store.ts';
import { creditLots } from '../readmodels/billing/credits.ts';
import { subscriptions as subscriptionDocuments } from '../readmodels/billing/subscriptions.ts';
import { type AnyManager, processManager } from './process-manager.ts';

const AT_ONCE = 500;

export interface BillingDeadlinesOptions {
  credits: CreditsLedger;
  subscriptions: Subscriptions;
  /** Null where no trials begin. */
  trials: Trials | null;
  context: (user_id: string) => CommandContext;
}

const appended = (done: { ok: boolean; position?: Position; appended?: number }) =>
  done.ok && done.appended! > 0 ? done.position! : null;
const FAILS = 'what is due for a user cannot be done now; that of others is';

export function billingDeadlines({ credits, subscriptions, trials, context }: BillingDeadlinesOptions): AnyManager[] {
  const common = { at_once: AT_ONCE, fails: FAILS };
  const expiry = processManager({
    ...common,
    name: 'credit expiry',
    finds: { in: creditLots, where: {} },
    order: 'due_at',
    due_at: { field: 'due_at', after_ms: 0 },
    key: ({ user_id }) => user_id,
    work: async ({ user_id }) => appended(await credits.run(user_id, { type: 'expire' }, context(user_id))),
  });
  const grace = processManager({
    ...common,
    name: 'plan grace',
    finds: { in: subscriptionDocuments, where: {} },
    order: 'grace_until',
    due_at: { field: 'grace_until', after_ms: 0 },
    work: async ({ _id }) => appended(await subscriptions.run(_id, { type: 'endGrace' }, context(_id))),
  });
  if (trials === null) return [expiry, grace];
  const beginning = processManager({
    ...common,
    name: 'trials',
    finds: { in: subscriptionDocuments, where: { is_trial_due: true } },
    order: '_id',
    since: ({ trial_due }) => trial_due?.completed_at ?? null,
    work: ({ _id, trial_due }) => trials.begin(_id, trial_due!, context(_id)),
  });
  return [expiry, grace, beginning];
}
