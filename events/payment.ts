// The streams `payment-{paymentId}`: one payment and what was taken back of it. Amounts of money are whole cents, or whatever the
// smallest unit of the currency is. An id of the provider names the stream: of a checkout, or of an invoice.
import { type DataOf, type EventsOf, event } from './event-spec.ts';
import { personal } from './personal.ts';
import { Nullable, Type } from './schema.ts';
import { BILLING_INTERVALS, PLAN_NAMES } from './subscription.ts';

const PAYMENT_PROVIDERS = ['stripe', 'sandbox'] as const;
export type PaymentProviderName = (typeof PAYMENT_PROVIDERS)[number];
/** `refund`: the operator gave money back. `dispute`: the holder of the card had it taken back. */
const REVERSAL_KINDS = ['refund', 'dispute'] as const;
export type ReversalKind = (typeof REVERSAL_KINDS)[number];

const Time = Type.String({ format: 'date-time' });
const Text = Type.String();
const Cents = Type.Integer({ minimum: 0 });
/** ISO 4217 in lower case. */
const Currency = Type.String({ pattern: '^[a-z]{3}$' });

export const PAYMENT_EVENTS = {
  PaymentReceived: event({
    user_id: Text,
    provider: Type.Enum(PAYMENT_PROVIDERS),
    /** The provider's id of the user. */
    customer_id: personal(Nullable(Text), 'user'),
    /** What it is for, with taxes: an invoice's total. */
    amount_cents: Cents,
    /** The taxes in it. Events of earlier services lack them. */
    tax_cents: Type.Optional(Cents),
    /** How the amount was settled, where it was not all paid: money that came, the customer's balance, and what is still owed. */
    paid_cents: Type.Optional(Cents),
    credited_cents: Type.Optional(Type.Integer()),
    /** Negative where the payment settled an older debt too. */
    outstanding_cents: Type.Optional(Type.Integer()),
    currency: Currency,
    /** The credits that it pays. */
    credits: Type.Integer({ minimum: 0 }),
    /** When the credits expire: with the period of a subscription; null for never. */
    expires_at: Nullable(Time),
    /** Null for a subscription. */
    package_id: Nullable(Text),
    /** Null for a package. */
    period: Nullable(
      Type.Object({
        subscription_id: Text,
        plan: Type.Enum(PLAN_NAMES),
        interval: Type.Enum(BILLING_INTERVALS),
        period_start: Time,
        period_end: Time,
        /** What the subscription costs a month from now on, without taxes and less discounts. The first events lack it. */
        monthly_cents: Type.Optional(Cents),
        /** How many of the plan; 1 when absent. */
        quantity: Type.Optional(Type.Integer({ minimum: 1 })),
      }),
    ),
    paid_at: Time,
  }),
  /** The user did not pay at a checkout, which cannot be paid any more. */
  PaymentDeclined: event({ user_id: Text, declined_at: Time }),
  /** Money went back. It may come before the payment, and again after it was lifted: a dispute that was won may be lost later. */
  PaymentReversed: event({
    reversal_id: Text,
    kind: Type.Enum(REVERSAL_KINDS),
    amount_cents: Cents,
    currency: Currency,
    reversed_at: Time,
  }),
  /** The refund failed, or the dispute was won: the money is the operator's after all. It may come before the reversal. */
  PaymentReversalLifted: event({ reversal_id: Text, lifted_at: Time }),
};

export type PaymentEvent = EventsOf<typeof PAYMENT_EVENTS>;
export type PaymentReceived = DataOf<typeof PAYMENT_EVENTS.PaymentReceived>;
export type PaymentReversed = DataOf<typeof PAYMENT_EVENTS.PaymentReversed>;
