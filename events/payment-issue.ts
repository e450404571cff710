// The streams `payment_issue-{id}`: what the service cannot decide about money by itself. The id is of the reason and of what it is about.
import { type DataOf, type EventsOf, event } from './event-spec.ts';
import { Nullable, Type } from './schema.ts';

/** Each reason, and what the service does meanwhile. */
export const ISSUE_REASONS = {
  unknown_price:
    'a payment of a user brings no credits: its price is no plan or package of this service, or a change of plan adds none',
  several_of_a_plan: 'a plan was paid more than once in one subscription: it brings its credits as often',
  second_plan: 'a user has a further subscription: both are charged, and both bring credits',
  expired_on_arrival: 'the news of a payment came after its credits had expired: they expired at once',
  erased_user: 'a payment came from a user whose account is erased: nobody can use its credits',
  other_currency: 'money went back in another currency than it came in: it takes no credits back',
  sandbox_data:
    'a payment of the sandbox is in the log of a service that takes money: its credits stay, and nobody paid for them',
  other_mode: 'an event of the test mode came to a live key, or the other way round: it was not taken',
} as const;
export type IssueReason = keyof typeof ISSUE_REASONS;

const Text = Type.String();

export const PAYMENT_ISSUE_EVENTS = {
  PaymentIssueRaised: event({
    reason: Type.Enum(Object.keys(ISSUE_REASONS) as IssueReason[]),
    /** The provider's id of what it is about: of a payment, a subscription, a refund or an event. */
    subject: Text,
    user_id: Nullable(Text),
    amount_cents: Nullable(Type.Integer({ minimum: 0 })),
    /** ISO 4217 in lower case. */
    currency: Nullable(Text),
  }),
  /** An administrator has done what was needed. */
  PaymentIssueResolved: event({ note: Text }),
};
export type PaymentIssueEvent = EventsOf<typeof PAYMENT_ISSUE_EVENTS>;
export type PaymentIssueRaised = DataOf<typeof PAYMENT_ISSUE_EVENTS.PaymentIssueRaised>;
