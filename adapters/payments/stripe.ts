// Payments by Stripe: its checkout and portal pages, and its signed events. Decision 62 says why.
import Stripe from 'stripe';
import {
  type ChargingProvider,
  type CheckoutSession,
  type Customers,
  type Delivery,
  isRecentSignature,
  PaymentProviderError,
  UnreadablePaymentEvent,
} from '../../http/billing/payments.ts';
import { keyOf, type Selling, StripeCheckouts } from './stripe-checkouts.ts';
import { documentOf } from './stripe-documents.ts';
import { type FromStripe, idOf, noticesOf, timeOf } from './stripe-events.ts';
import { type PlanPrice, StripePrices } from './stripe-prices.ts';

const TIMEOUT_MS = 20_000;
const RETRIES = 2;

export interface StripeOptions {
  secret_key: string;
  webhook_secret: string;
  /** The address of Stripe's API; null for Stripe's own. */
  api_url: string | null;
  /** Every plan that can be subscribed to. */
  prices: readonly PlanPrice[];
  selling?: Partial<Selling>;
}

export function openStripe(options: StripeOptions): ChargingProvider {
  const { secret_key, webhook_secret, api_url, prices, selling = {} } = options;
  const tax_behavior = selling.automatic_tax && ({ tax_behavior: 'exclusive' } as const);
  const stripe = new Stripe(secret_key, {
    timeout: TIMEOUT_MS,
    maxNetworkRetries: RETRIES,
    telemetry: false,
    ...serverOf(api_url),
  });
  const stripe_prices = new StripePrices(stripe, prices, tax_behavior);
  const checkouts = new StripeCheckouts(stripe, stripe_prices, selling, tax_behavior);

  const facts = factsAt(stripe, stripe_prices);

  return {
    name: 'stripe',
    customers: customersAt(stripe),
    checkout: (order) =>
      asked(async (): Promise<CheckoutSession> => {
        const session = await checkouts.create(order).catch((error: unknown) => {
          if (!isUnknownCustomer(error)) throw error;
          return checkouts.create({ ...order, customer_id: null });
        });
        if (!session.url) throw new PaymentProviderError('Stripe made a checkout without a page');
        return { session_id: session.id, checkout_url: session.url };
      }),
    portal: ({ customer_id, return_url }) =>
      asked(async () => {
        if (customer_id === null) return null;
        const made = { customer: customer_id, return_url, configuration: await stripe_prices.portal() };
        const session = await stripe.billingPortal.sessions.create(made).catch((error: unknown) => {
          if (!isUnknownCustomer(error)) throw error;
          return null;
        });
        return session && { session_id: session.id, portal_url: session.url };
      }),
    endSubscription: (subscription_id) =>
      asked(async () => {
        await found(stripe.subscriptions.cancel(subscription_id));
      }),
    documentOf: (payment_id) => asked(() => documentOf(stripe, payment_id)),
    hasSignature: (header) => isRecentSignature(header('stripe-signature'), Date.now()),
    async read(raw, header) {
      const event = verified(() => stripe.webhooks.constructEvent(raw, header('stripe-signature'), webhook_secret));
      return event && deliveryOf(event);
    },
    async *eventsSince(since_ms) {
      const events = stripe.events.list({ created: { gte: Math.floor(since_ms / 1000) }, limit: 100 });
      const pages = events[Symbol.asyncIterator]();
      for (let next = await asked(() => pages.next()); !next.done; next = await asked(() => pages.next())) {
        const { value: event } = next;
        const read = deliveryOf(event).then((delivery) => ({ ...delivery, unreadable: null }));
        yield await read.catch((error: unknown) => {
          if (!(error instanceof UnreadablePaymentEvent)) throw error;
          return { id: event.id, notices: [], unreadable: error.message };
        });
      }
    },
  };

  async function deliveryOf(event: Stripe.Event): Promise<Delivery> {
    const { id, created, livemode } = event;
    // Only an event that says its mode can contradict the key.
    if (livemode !== undefined && livemode === isTestKey(secret_key)) {
      const of_nobody = { user_id: null, amount_cents: null, currency: null };
      const issue = { reason: 'other_mode', subject: id, ...of_nobody } as const;
      return { id, notices: [{ type: 'questioned', at: timeOf(created), issue }] };
    }
    return { id, notices: await asked(() => noticesOf(event, facts)) };
  }
}

/** What an event does not say itself. */
const factsAt = (stripe: Stripe, prices: StripePrices): FromStripe => ({
  planOf: (price_id, currency) => prices.planOf(price_id, currency),
  async periodOf(subscription_id) {
    const item = (await found(stripe.subscriptions.retrieve(subscription_id)))?.items?.data[0];
    return item ? { start: timeOf(item.current_period_start), end: timeOf(item.current_period_end) } : null;
  },
  async invoiceOf(payment_intent) {
    const payment = { type: 'payment_intent', payment_intent } as const;
    const { data } = await stripe.invoicePayments.list({ payment, limit: 1 });
    if (!data[0]) return null;
    // The invoice of a package is not its payment's id.
    const { id, parent } = await stripe.invoices.retrieve(idOf(data[0].invoice));
    return parent?.subscription_details ? id! : null;
  },
  linesOf: (invoice) => stripe.invoices.listLineItems(invoice, { limit: 100 }).autoPagingToArray({ limit: 1000 }),
});

const customersAt = (stripe: Stripe): Customers => ({
  customerOf: ({ user_id, email, known }) =>
    asked(async () => {
      const customer = known === null ? null : await found(stripe.customers.retrieve(known));
      if (customer && customer.deleted !== true) return known!;
      const made = { metadata: { user_id }, ...(email !== null && { email }) };
      const idempotencyKey = keyOf('customer', user_id, email ?? '', known ?? '');
      return (await stripe.customers.create(made, { idempotencyKey })).id;
    }),
  reopen: (session_id) =>
    asked(async () => {
      const session = await found(stripe.checkout.sessions.retrieve(session_id));
      if (!session?.url || session.status === 'complete' || session.status === 'expired') return null;
      return { session_id, checkout_url: session.url };
    }),
  close: (session_id) =>
    asked(async () => {
      await stripe.checkout.sessions.expire(session_id).catch((error: unknown) => {
        // It is not open any more, for which reason its status says.
        if (!(error instanceof Stripe.errors.StripeInvalidRequestError)) throw error;
      });
      return (await found(stripe.checkout.sessions.retrieve(session_id)))?.status !== 'complete';
    }),
});

const isTestKey = (secret_key: string) => secret_key.startsWith('sk_test_') || secret_key.startsWith('rk_test_');

/** Returns null for an event whose signature is wrong or old. */
function verified(construct: () => Stripe.Event): Stripe.Event | null {
  try {
    return construct();
  } catch (error) {
    if (error instanceof Stripe.errors.StripeSignatureVerificationError || error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Stripe's errors name no secret. */
async function asked<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof Stripe.errors.StripeError)) throw error;
    throw new PaymentProviderError(`Stripe: ${error.type} ${error.code ?? ''} ${error.message}`, { cause: error });
  }
}

/** Null for what Stripe does not have. */
async function found<T>(asking: Promise<T>): Promise<T | null> {
  return asking.catch((error: unknown) => {
    if (!isMissing(error)) throw error;
    return null;
  });
}

/** Whether Stripe has deleted the customer, or has it under another key only. */
const isUnknownCustomer = (error: unknown): boolean => isMissing(error) && error.param === 'customer';

const isMissing = (error: unknown): error is Stripe.errors.StripeError =>
  error instanceof Stripe.errors.StripeError && error.code === 'resource_missing';

function serverOf(api_url: string | null) {
  if (api_url === null) return {};
  const { protocol, hostname, port } = new URL(api_url);
  const is_https = protocol === 'https:';
  return { protocol: is_https ? 'https' : 'http', host: hostname, port: port || (is_https ? 443 : 80) } as const;
}
