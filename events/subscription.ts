// The streams `subscription-{userId}`: the subscriptions of a user as the payment provider reports them, and the user's trial.
import { type DataOf, type EventsOf, event } from './event-spec.ts';
import { personal } from './personal.ts';
import { Nullable, Type } from './schema.ts';

/** From the smallest plan to the largest. */
export const PLAN_NAMES = ['free', 'starter', 'pro', 'agency'] as const;
export type PlanName = (typeof PLAN_NAMES)[number];
export const BILLING_INTERVALS = ['month', 'year'] as const;
export type BillingInterval = (typeof BILLING_INTERVALS)[number];
/**
 * The provider's words, in the order in which a subscription goes through them. `past_due`: a payment failed, and the provider tries
 * again. `canceled` is final.
 */
export const SUBSCRIPTION_STATUSES = [
  'incomplete',
  'incomplete_expired',
  'trialing',
  'active',
  'past_due',
  'unpaid',
  'paused',
  'canceled',
] as const;
export type SubscriptionStatus = (typeof SUBSCRIPTION_STATUSES)[number];

const Time = Type.String({ format: 'date-time' });
const plan = Type.Enum(PLAN_NAMES);
const interval = Type.Enum(BILLING_INTERVALS);

export const SUBSCRIPTION_EVENTS = {
  /** What a subscription is from `changed_at` on, by the provider's clock. An older state that arrives later is not recorded. */
  SubscriptionChanged: event({
    subscription_id: Type.String(),
    /** The provider's id of the user. */
    customer_id: personal(Nullable(Type.String()), 'user'),
    plan,
    interval,
    status: Type.Enum(SUBSCRIPTION_STATUSES),
    period_start: Time,
    period_end: Time,
    /** The subscription ends then; null while it renews itself. */
    cancel_at: Nullable(Time),
    changed_at: Time,
  }),
  /** A period is paid: `payment-{payment_id}` has the payment, and the ledger its credits. */
  SubscriptionPeriodPaid: event({
    subscription_id: Type.String(),
    payment_id: Type.String(),
    paid_at: Time,
    /** What was paid. The first events lack it. */
    plan: Type.Optional(plan),
    interval: Type.Optional(interval),
  }),
  /** A payment failed. The plan stays until `grace_until`, unless the payment is made by then. */
  SubscriptionPaymentFailed: event({
    subscription_id: Type.String(),
    payment_id: Type.String(),
    failed_at: Time,
    grace_until: Time,
  }),
  /** The grace has ended without a payment: the user is on the free plan until the payment is made. */
  SubscriptionDowngraded: event({ subscription_id: Type.String(), payment_id: Type.String() }),
  /** The provider's id of the user, made before the first checkout. One that the provider has deleted is followed by another. */
  CustomerAssigned: event({ customer_id: personal(Nullable(Type.String()), 'user') }),
  /** A page on which to pay was opened. `item`: what is sold there, and its price. */
  CheckoutOpened: event({ session_id: Type.String(), kind: Type.Enum(['plan', 'package']), item: Type.String() }),
  /** A job of the user's API key completed for the first time. It happens once in a user's life. */
  TrialStarted: event({
    plan,
    credits: Type.Integer({ minimum: 1 }),
    period_start: Time,
    period_end: Time,
    job_id: Type.String(),
  }),
};

export type SubscriptionEvent = EventsOf<typeof SUBSCRIPTION_EVENTS>;
export type SubscriptionChanged = DataOf<typeof SUBSCRIPTION_EVENTS.SubscriptionChanged>;
export type CheckoutOpened = DataOf<typeof SUBSCRIPTION_EVENTS.CheckoutOpened>;
export type SubscriptionPeriodPaid = DataOf<typeof SUBSCRIPTION_EVENTS.SubscriptionPeriodPaid>;
export type TrialStarted = DataOf<typeof SUBSCRIPTION_EVENTS.TrialStarted>;
