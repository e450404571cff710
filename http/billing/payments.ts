// The port for payment providers. Adapters: `adapters/payments/{stripe,sandbox}`.
import type { PaymentNotice, Settled } from '../../commands/billing/billing.ts';
import type { PaidLine } from '../../commands/billing/paid-lines.ts';
import type { PaymentProviderName, ReversalKind } from '../../events/payment.ts';
import type { BillingInterval, PlanName, SubscriptionStatus } from '../../events/subscription.ts';

export { SUBSCRIPTION_STATUSES } from '../../events/subscription.ts';
export type {
  BillingInterval,
  PaidLine,
  PaymentNotice,
  PaymentProviderName,
  PlanName,
  ReversalKind,
  Settled,
  SubscriptionStatus,
};

/** What is to be paid. Prices are in the smallest unit of the currency. */
export type OrderItem =
  | { kind: 'package'; package_id: string; name: string; credits: number; price_cents: number }
  | { kind: 'plan'; plan: PlanName; interval: BillingInterval; name: string; credits: number; price_cents: number };

export interface Order {
  user_id: string;
  email: string | null;
  /** The provider's id of the user; null for one who has never paid. */
  customer_id: string | null;
  item: OrderItem;
  /** ISO 4217 in lower case. */
  currency: string;
  success_url: string;
  cancel_url: string;
  /** The provider opens one checkout for each key. */
  idempotency_key?: string;
}

export interface CheckoutSession {
  session_id: string;
  checkout_url: string;
}

export interface PortalSession {
  session_id: string;
  portal_url: string;
}

export interface Delivery {
  /** The provider's id of the event. */
  id: string;
  /** Empty for an event that means nothing to the service. */
  notices: PaymentNotice[];
}

/** An event that the provider keeps. */
export interface KeptDelivery extends Delivery {
  /** Why the service cannot read it; null for one that it can. */
  unreadable: string | null;
}

const SIGNED_WITHIN_S = 300;

/**
 * Whether the text has the form of a signature, and a time that is not older than five minutes.
 * @example isRecentSignature('t=1769850300,v1=00', 1769850300000) // false
 */
export function isRecentSignature(text: string, now_ms: number): boolean {
  const seconds = /(?:^|,)t=(\d{1,12})(?:,|$)/.exec(text)?.[1];
  if (seconds === undefined || !/(?:^|,)v1=[0-9a-f]{64}(?:,|$)/.test(text)) return false;
  return now_ms / 1000 - Number(seconds) <= SIGNED_WITHIN_S;
}

/** The provider is away, or refuses what the service asks: nothing was changed. `message` holds no secret. */
export class PaymentProviderError extends Error {
  readonly code = 'payment_provider_failed';
}

/** The event lacks what every version has that the service reads. */
export class UnreadablePaymentEvent extends PaymentProviderError {}

export interface PaymentProvider {
  readonly name: PaymentProviderName;
  /** Absent for a provider that knows users by their own ids. */
  readonly customers?: Customers;
  /** Opens a page on which the user pays. Throws `PaymentProviderError`. */
  checkout(order: Order): Promise<CheckoutSession>;
  /** Opens a page on which the user sees and changes subscriptions; null for a user whom the provider does not know. */
  portal(user: { user_id: string; customer_id: string | null; return_url: string }): Promise<PortalSession | null>;
  /** Verifies the signature of an event and says what it means; null for a wrong signature. Throws `PaymentProviderError`. */
  read(raw: Buffer, header: (name: string) => string): Promise<Delivery | null>;
  /** Whether the headers have a signature of the last minutes, right or wrong: without one nobody reads the body. */
  hasSignature(header: (name: string) => string): boolean;
}

/** A provider's own ids of users, and the checkouts that it keeps. All throw `PaymentProviderError`. */
export interface Customers {
  /** Returns `known` while the provider has it, else the id of a new customer: the same for each repeat. */
  customerOf(user: { user_id: string; email: string | null; known: string | null }): Promise<string>;
  /** Returns the page of a checkout; null for one that is paid, expired or unknown. */
  reopen(session_id: string): Promise<CheckoutSession | null>;
  /** Nobody can pay the checkout any more. Returns false for one that was paid before. */
  close(session_id: string): Promise<boolean>;
}

/** The addresses lead to the document without signing in. */
export interface PaymentPaper {
  number: string | null;
  url: string;
  pdf_url: string | null;
}

/** A provider that takes money. */
export interface ChargingProvider extends PaymentProvider {
  /**
   * Ends a subscription at once, so that the provider takes no more money for it. A subscription that has ended, or that the provider does
   * not know, counts as ended. Throws `PaymentProviderError`.
   */
  endSubscription(subscription_id: string): Promise<void>;
  /** Returns the invoice or the receipt of a payment; null where it has none. Throws `PaymentProviderError`. */
  documentOf(payment_id: string): Promise<PaymentPaper | null>;
  /** Returns the provider's events from this time on (milliseconds since the epoch), in any order; those of the last 30 days at most. */
  eventsSince(since_ms: number): AsyncIterable<KeptDelivery>;
}

/** The sandbox moves no money: the service itself serves its pages, and signs what they lead to. */
export interface Sandbox extends PaymentProvider {
  /** Opens the session id of a checkout; null for one that is not the sandbox's, or has expired. */
  opened(session_id: string): SandboxCheckout | null;
  openedPortal(session_id: string): SandboxPortal | null;
  /** Returns the body and the headers of an event, as a provider would send them. */
  signed(id: string, notices: readonly PaymentNotice[]): { raw: Buffer; headers: Readonly<Record<string, string>> };
}

export interface SandboxCheckout extends Pick<Order, 'user_id' | 'item' | 'currency' | 'success_url' | 'cancel_url'> {
  payment_id: string;
}
export interface SandboxPortal {
  user_id: string;
  return_url: string;
}

export const isSandbox = (provider: PaymentProvider | null): provider is Sandbox => provider?.name === 'sandbox';

export const isCharging = (provider: PaymentProvider | null): provider is ChargingProvider =>
  provider !== null && 'endSubscription' in provider;
