// The aggregate of a user's subscriptions and of the user's trial. The news of the payment provider may come in any order and often.
import type { EventStore } from '../../events/event-store.ts';
import { subscriptionStream } from '../../events/streams.ts';
import type {
  CheckoutOpened,
  SubscriptionChanged,
  SubscriptionEvent,
  SubscriptionPeriodPaid,
  TrialStarted,
} from '../../events/subscription.ts';
import {
  afterGrace,
  afterSubscriptionEvent,
  isNewer,
  isSettledBy,
  noSubscription,
  type SubscriptionState,
} from '../../events/subscription-state.ts';
import { type CommandContext, type Decision, openAggregate } from '../aggregate.ts';
import { addMonths } from './months.ts';
import { TRIAL_PLAN } from './plans.ts';

export const initial = noSubscription;
export const evolve = afterSubscriptionEvent;

export type SubscriptionCommand =
  | { type: 'change'; subscription: SubscriptionChanged }
  | ({ type: 'recordPaid' } & SubscriptionPeriodPaid)
  | { type: 'recordFailure'; subscription_id: string; payment_id: string; failed_at: string }
  /** Records the graces that have ended. */
  | { type: 'endGrace' }
  | { type: 'startTrial'; trial: TrialStarted }
  /** Once for each former customer: of two that are made at once the first one stays. */
  | { type: 'assignCustomer'; customer_id: string; instead_of: string | null }
  /** Unless another was opened after the `after` ones that the caller knows of. */
  | { type: 'openCheckout'; after: number; checkout: CheckoutOpened }
  /** The provider has ended it. */
  | { type: 'end'; subscription_id: string };

/** `now`: milliseconds since the epoch. */
export function decide(
  state: Readonly<SubscriptionState>,
  command: SubscriptionCommand,
  now: number,
): Decision<SubscriptionEvent> {
  switch (command.type) {
    case 'change': {
      const { subscription } = command;
      const known = state.subscriptions.find((each) => each.subscription_id === subscription.subscription_id);
      if (known && !isNewer(subscription, known)) return { events: [] };
      return { events: [{ type: 'SubscriptionChanged', data: subscription }] };
    }
    case 'recordPaid': {
      const { type: _, ...data } = command;
      return { events: state.paid.includes(data.payment_id) ? [] : [{ type: 'SubscriptionPeriodPaid', data }] };
    }
    case 'recordFailure': {
      const { type: _, ...data } = command;
      const known = state.unpaid.find(({ payment_id }) => payment_id === data.payment_id);
      // The grace begins with the first failure; the provider tells of each further attempt.
      if (state.paid.includes(data.payment_id) || (known && known.failed_at <= data.failed_at)) return { events: [] };
      if (state.subscriptions.some((subscription) => isSettledBy(subscription, data))) return { events: [] };
      const grace_until = afterGrace(data.failed_at);
      return { events: [{ type: 'SubscriptionPaymentFailed', data: { ...data, grace_until } }] };
    }
    case 'endGrace': {
      const at = new Date(now).toISOString();
      const ended = state.unpaid.filter(({ grace_until, is_downgraded }) => !is_downgraded && grace_until <= at);
      return {
        events: ended.map(({ subscription_id, payment_id }) => ({
          type: 'SubscriptionDowngraded',
          data: { subscription_id, payment_id },
        })),
      };
    }
    case 'startTrial': {
      return { events: state.trial ? [] : [{ type: 'TrialStarted', data: command.trial }] };
    }
    case 'assignCustomer': {
      const { customer_id, instead_of } = command;
      if ((state.assigned_customer_id ?? null) !== instead_of) return { events: [] };
      return { events: [{ type: 'CustomerAssigned', data: { customer_id } }] };
    }
    case 'openCheckout': {
      if ((state.checkouts?.opened ?? 0) !== command.after) return { events: [] };
      return { events: [{ type: 'CheckoutOpened', data: command.checkout }] };
    }
    case 'end': {
      const known = state.subscriptions.find(({ subscription_id }) => subscription_id === command.subscription_id);
      if (!known || known.status === 'canceled') return { events: [] };
      const changed_at = new Date(now).toISOString();
      return { events: [{ type: 'SubscriptionChanged', data: { ...known, status: 'canceled', changed_at } }] };
    }
  }
}

/** The trial that a job begins: a month from its completion. */
export const trialOf = (
  { job_id, completed_at }: { job_id: string; completed_at: string },
  credits: number,
): TrialStarted => ({
  plan: TRIAL_PLAN,
  credits,
  period_start: completed_at,
  period_end: addMonths(completed_at, 1),
  job_id,
});

export type Subscriptions = ReturnType<typeof openSubscriptions>;

export function openSubscriptions(log: EventStore) {
  const aggregate = openAggregate<SubscriptionState, SubscriptionEvent>(log, { initial, evolve });
  return {
    run: (user_id: string, command: SubscriptionCommand, context: CommandContext) =>
      aggregate.handle(subscriptionStream(user_id), context, (state) => decide(state, command, context.now)),
    /** Returns the state as the log has it. */
    read: async (user_id: string): Promise<Readonly<SubscriptionState>> =>
      (await aggregate.read(subscriptionStream(user_id))).state,
  };
}
