// The read model of subscriptions: the plan of each user who has or had one, and the time at which the processes next look at it.
import {
  noSubscription,
  type Subscription,
  type SubscriptionState,
  subscriptionAt,
} from '../../events/subscription-state.ts';
import { type Collection, type Document, kept, type ReadModelSpec } from '../documents.ts';

/** `_id` is the user's id. */
export interface SubscriptionDocument extends Document, SubscriptionState {
  /** The provider's id of the user, for the customer portal; null when it has none. */
  customer_id: string | null;
  /** When the grace of an unpaid period ends; null when none is unpaid, or when the downgrade is recorded. */
  grace_until: string | null;
  /** The job whose completion begins the trial; null without one, and from the trial's beginning on. */
  trial_due: { job_id: string; completed_at: string } | null;
  /** There is such a job, and the signup bonus was approved. */
  is_trial_due: boolean;
  /** The decision on the signup bonus, without which no trial begins. Null: none yet. */
  bonus: 'approved' | 'withheld' | null;
}

export const subscriptions: ReadModelSpec<SubscriptionDocument> = {
  name: 'subscriptions',
  ...kept('200 a user, 600 with a plan', 'never', 'in_file'),
  fields: { grace_until: 'string', is_trial_due: 'boolean' },
  indexes: [{ fields: { grace_until: 1 } }, { fields: { is_trial_due: 1 } }],
};

export const emptySubscription = (user_id: string): SubscriptionDocument => ({
  _id: user_id,
  ...noSubscription(),
  customer_id: null,
  grace_until: null,
  trial_due: null,
  is_trial_due: false,
  bonus: null,
});

/** Returns a user's plan at `now` (milliseconds since the epoch); null for the free plan. */
export async function subscriptionOf(
  collection: Pick<Collection<SubscriptionDocument>, 'get'>,
  user_id: string,
  now: number,
): Promise<Subscription | null> {
  const document = await collection.get(user_id);
  return document && subscriptionAt(document, now);
}
