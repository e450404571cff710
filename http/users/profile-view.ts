// The views of a user: the plan, the usage of the period and its limit.
import { Nullable, Type } from '../../events/schema.ts';
import { BILLING_INTERVALS, PLAN_NAMES, SUBSCRIPTION_STATUSES } from '../../events/subscription.ts';
import { openSubscriptionsAt, type Subscription, type SubscriptionState } from '../../events/subscription-state.ts';
import { type BalanceDocument, usageOf } from '../../readmodels/billing/credits.ts';
import type { UserDocument } from '../../readmodels/users/users.ts';
import { Count, pick, Time } from '../frame/schemas.ts';

export const PlanName = Type.Enum(PLAN_NAMES, {
  $id: 'PlanName',
  description: 'The plan; `free` without a subscription.',
});

export const SubscriptionView = Type.Object(
  {
    plan: PlanName,
    status: Type.Enum(SUBSCRIPTION_STATUSES, {
      $id: 'SubscriptionStatus',
      description: '`past_due`: a payment failed. `trialing`: the month that the first job of an API key began.',
    }),
    interval: Type.Enum(BILLING_INTERVALS, { description: 'How often it is paid.' }),
    period_start: Time('When the paid period began.'),
    period_end: Time('When the paid period ends.'),
    is_trial: Type.Boolean(),
    cancel_at: Nullable(Time('When the plan ends, unless it is renewed. Null while it renews itself.')),
    grace_until: Nullable(Time('When the plan ends unless the failed payment is made. Null when none failed.')),
  },
  { $id: 'Subscription' },
);
const OTHER_FIELDS = ['plan', 'status', 'interval', 'period_start', 'period_end', 'cancel_at'] as const;
const SUBSCRIPTION_FIELDS = [
  ...(['plan', 'status', 'interval', 'period_start', 'period_end', 'is_trial', 'cancel_at', 'grace_until'] as const),
] as const;
export const subscriptionView = (subscription: Subscription | null) =>
  subscription && pick(subscription, SUBSCRIPTION_FIELDS);

/** Subscriptions beside the user's plan. */
export const OtherSubscriptions = Type.Array(
  Type.Object(
    { subscription_id: Type.String(), ...pick(SubscriptionView.properties, OTHER_FIELDS) },
    { $id: 'OtherSubscription' },
  ),
  { description: 'Further subscriptions, which were bought beside the plan and are paid too.' },
);

/** All that are paid for but the first, which is the user's plan. */
export const otherSubscriptions = (state: SubscriptionState | null, now: number) =>
  (state === null ? [] : openSubscriptionsAt(state, now))
    .slice(1)
    .map(({ subscription_id, ...each }) => ({ subscription_id, ...pick(each, OTHER_FIELDS) }));

export const subscriptionExample = {
  ...{ plan: 'pro', status: 'active', interval: 'month', is_trial: false, cancel_at: null, grace_until: null },
  ...{ period_start: '2026-01-17T08:00:00.000Z', period_end: '2026-02-17T08:00:00.000Z' },
};

const USAGE = {
  period_start: Time('When the period began: that of the plan, or the calendar month in UTC.'),
  period_end: Time('When the next period begins.'),
  credits_used: Count('Credits that jobs reserved in the period, without refunds.'),
  limit: Nullable(Count('The most credits that jobs may use in the period. Null: only the balance limits them.')),
  remaining: Count('Credits that jobs can use now, by the limit and the balance.'),
};
export const UsageView = Type.Object(USAGE, { $id: 'PeriodUsage' });
export const usageExample = {
  ...{ period_start: '2026-01-01T00:00:00.000Z', period_end: '2026-02-01T00:00:00.000Z' },
  ...{ credits_used: 20, limit: null, remaining: 280 },
};

/** `now`: Unix milliseconds. */
export function usageView(balance: BalanceDocument | null, user: UserDocument | null, now: number) {
  const usage = usageOf(balance, now);
  const limits = [user?.custom_limit, user?.spending_limit].filter((each) => each != null);
  const limit = limits.length === 0 ? null : Math.min(...limits);
  const left = limit === null ? Number.POSITIVE_INFINITY : Math.max(0, limit - usage.credits_used);
  return { ...usage, limit, remaining: Math.min(balance?.balance ?? 0, left) };
}
