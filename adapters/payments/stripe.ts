// Payments by Stripe: its checkout and portal pages, and its signed events. Prices and the portal's configuration are made at their first
// use and found again by their keys. Decision 62 says why.
import { hash } from 'node:crypto';
import Stripe from 'stripe';
import {
  type BillingInterval,
  type ChargingProvider,
  type CheckoutSession,
  type Customers,
  type Delivery,
  isRecentSignature,
  type Order,
  type OrderItem,
  PaymentProviderError,
  type PlanName,
  UnreadablePaymentEvent,
} from '../../http/billing/payments.ts';
import { documentOf } from './stripe-documents.ts';
import { type FromStripe, idOf, noticesOf, timeOf } from './stripe-events.ts';

const TIMEOUT_MS = 20_000;
const RETRIES = 2;
/** Raise it with every change of the portal's configuration: Stripe's own is then rebuilt. */
const PORTAL_VERSION = 'url-checker-1';

/** What a plan costs, for prices that Stripe does not have yet. */
export interface PlanPrice {
  plan: PlanName;
  interval: BillingInterval;
  name: string;
  price_cents: number;
  currency: string;
}

export interface StripeOptions {
  secret_key: string;
  webhook_secret: string;
  /** The address of Stripe's API; null for Stripe's own. */
  api_url: string | null;
  /** Every plan that can be subscribed to. */
  prices: readonly PlanPrice[];
  selling?: Partial<Selling>;
}

/** What Stripe does at checkouts beside taking money. All of it is off by default. */
export interface Selling {
  /** It adds the tax of the customer's address, and takes tax ids. */
  automatic_tax: boolean;
  /** It makes an invoice with a number for a package too. Plans always have one. */
  invoices: boolean;
  promotion_codes: boolean;
}

type PlanItem = Extract<OrderItem, { kind: 'plan' }>;

export function openStripe(options: StripeOptions): ChargingProvider {
  const { secret_key, webhook_secret, api_url, prices, selling = {} } = options;
  const tax_behavior = selling.automatic_tax && ({ tax_behavior: 'exclusive' } as const);
  const stripe = new Stripe(secret_key, {
    timeout: TIMEOUT_MS,
    maxNetworkRetries: RETRIES,
    telemetry: false,
    ...serverOf(api_url),
  });
  /** By lookup key: what does not change is asked once. */
  const price_ids = new Map<string, Promise<Stripe.Price>>();
  let configuration: Promise<string> | null = null;

  function priceOf(wanted: PlanPrice): Promise<Stripe.Price> {
    const key = `url_checker_${wanted.plan}_${wanted.interval}`;
    return once(price_ids, key, async () => {
      const { data } = await stripe.prices.list({ lookup_keys: [key], active: true, limit: 1 });
      const { price_cents: unit_amount, currency, plan, interval } = wanted;
      if (data[0]?.unit_amount === unit_amount && data[0].currency === currency) {
        // Stripe computes no tax for a price that does not say whether it has it in it. That can be said once.
        const is_unsaid = tax_behavior && data[0].tax_behavior === 'unspecified';
        return is_unsaid ? stripe.prices.update(data[0].id, tax_behavior) : data[0];
      }
      const price = {
        ...tax_behavior,
        ...{ currency, unit_amount, lookup_key: key, transfer_lookup_key: true, recurring: { interval } },
        product_data: { name: `${wanted.name}, by the ${interval}` },
        metadata: { plan, interval },
      };
      // Two processes that make it at once get the same one.
      const idempotencyKey = `${key}_${unit_amount}_${currency}${tax_behavior ? '_exclusive' : ''}`;
      return stripe.prices.create(price, { idempotencyKey });
    });
  }

  const from_stripe: FromStripe = {
    async planOf(price_id, currency) {
      const expand = { expand: ['currency_options'] };
      const price = await once(price_ids, price_id, () => stripe.prices.retrieve(price_id, expand));
      const { metadata } = price;
      const unit_amount =
        currency === undefined || currency === price.currency
          ? price.unit_amount
          : (price.currency_options?.[currency]?.unit_amount ?? price.unit_amount);
      const listed = prices.find(({ plan, interval }) => plan === metadata.plan && interval === metadata.interval);
      if (!listed) return null;
      const { plan, interval, price_cents: listed_cents } = listed;
      const is_listed = unit_amount === null || unit_amount === listed_cents;
      return { plan, interval, ...(!is_listed && { price_cents: unit_amount }) };
    },
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
  };

  async function configured(): Promise<string> {
    const { data } = await stripe.billingPortal.configurations.list({ active: true, limit: 100 });
    const found = data.find(({ metadata }) => metadata?.version === PORTAL_VERSION);
    if (found) return found.id;
    const products = await Promise.all(
      prices.map(async (wanted) => {
        const { id, product } = await priceOf(wanted);
        return { product: idOf(product), prices: [id] };
      }),
    );
    const made = await stripe.billingPortal.configurations.create(
      {
        metadata: { version: PORTAL_VERSION },
        features: {
          invoice_history: { enabled: true },
          payment_method_update: { enabled: true },
          subscription_cancel: { enabled: true, mode: 'at_period_end' },
          // A larger plan begins and is paid at once; a smaller one begins with the next period, so that nobody spends the credits of the
          // larger one and gets its money back.
          subscription_update: {
            enabled: true,
            default_allowed_updates: ['price'],
            proration_behavior: 'always_invoice',
            schedule_at_period_end: {
              conditions: [{ type: 'decreasing_item_amount' }, { type: 'shortening_interval' }],
            },
            products,
          },
        },
      },
      { idempotencyKey: PORTAL_VERSION },
    );
    return made.id;
  }

  async function paymentSession(order: Order, item: Exclude<OrderItem, PlanItem>) {
    const metadata = { user_id: order.user_id, package_id: item.package_id, credits: String(item.credits) };
    const kept = await keptPrice(order, item);
    const price_data = {
      ...{ currency: order.currency, unit_amount: item.price_cents, product_data: { name: item.name } },
      ...tax_behavior,
    };
    const line_items = [{ quantity: 1, ...(kept === null ? { price_data } : { price: kept }) }];
    return {
      ...{ mode: 'payment', line_items, metadata, payment_intent_data: { metadata } },
      ...(order.customer_id === null && { customer_creation: 'always' }),
      ...(selling.invoices && { invoice_creation: { enabled: true, invoice_data: { metadata } } }),
    } as const;
  }

  /** The price of a package that the operator keeps at Stripe, such as for its other currencies; null for none of this amount. */
  async function keptPrice({ currency }: Order, { package_id, price_cents }: Exclude<OrderItem, PlanItem>) {
    const key = `url_checker_${package_id}`;
    const { data } = await stripe.prices.list({ lookup_keys: [key], active: true, limit: 1 });
    return data[0]?.unit_amount === price_cents && data[0].currency === currency ? data[0].id : null;
  }

  async function subscriptionSession({ user_id, currency }: Order, item: PlanItem) {
    const price = await priceOf({ ...item, currency });
    const metadata = { user_id };
    const line_items = [{ quantity: 1, price: price.id }];
    return { mode: 'subscription', line_items, metadata, subscription_data: { metadata } } as const;
  }

  async function sessionOf(order: Order): Promise<Stripe.Checkout.Session> {
    const { user_id, email, customer_id, item, success_url, cancel_url } = order;
    const params = {
      ...(item.kind === 'package' ? await paymentSession(order, item) : await subscriptionSession(order, item)),
      ...(customer_id !== null && { customer: customer_id }),
      ...(customer_id === null && email !== null && { customer_email: email }),
      ...{ client_reference_id: user_id.slice(0, 200), success_url, cancel_url },
      ...(selling.promotion_codes && { allow_promotion_codes: true }),
      ...(selling.automatic_tax && { automatic_tax: { enabled: true }, tax_id_collection: { enabled: true } }),
      // The customer whom the service has made has no address yet.
      ...(selling.automatic_tax &&
        customer_id !== null && { customer_update: { address: 'auto', name: 'auto' } as const }),
    };
    // A key stands for all that is asked: with other return pages it is another checkout.
    const key = order.idempotency_key && keyOf('checkout', order.idempotency_key, JSON.stringify(params));
    return stripe.checkout.sessions.create(params, key ? { idempotencyKey: key } : undefined);
  }

  const customers: Customers = {
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
  };

  return {
    name: 'stripe',
    customers,
    checkout: (order) =>
      asked(async (): Promise<CheckoutSession> => {
        const session = await sessionOf(order).catch((error: unknown) => {
          if (!isUnknownCustomer(error)) throw error;
          return sessionOf({ ...order, customer_id: null });
        });
        if (!session.url) throw new PaymentProviderError('Stripe made a checkout without a page');
        return { session_id: session.id, checkout_url: session.url };
      }),
    portal: ({ customer_id, return_url }) =>
      asked(async () => {
        if (customer_id === null) return null;
        configuration ??= configured().catch((error: unknown) => {
          configuration = null;
          throw error;
        });
        const made = { customer: customer_id, return_url, configuration: await configuration };
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
    return { id, notices: await asked(() => noticesOf(event, from_stripe)) };
  }
}

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

/** Of bounded length, whatever the parts are. */
const keyOf = (kind: string, ...parts: readonly string[]) =>
  `url_checker_${kind}_${hash('sha256', JSON.stringify(parts), 'hex')}`;

/** Whether Stripe has deleted the customer, or has it under another key only. */
const isUnknownCustomer = (error: unknown): boolean => isMissing(error) && error.param === 'customer';

const isMissing = (error: unknown): error is Stripe.errors.StripeError =>
  error instanceof Stripe.errors.StripeError && error.code === 'resource_missing';

/** Keeps what `make` returns; what it throws is asked again. */
function once<T>(kept: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> {
  const known = kept.get(key);
  if (known) return known;
  const made = make();
  kept.set(key, made);
  made.catch(() => kept.delete(key));
  return made;
}

function serverOf(api_url: string | null) {
  if (api_url === null) return {};
  const { protocol, hostname, port } = new URL(api_url);
  const is_https = protocol === 'https:';
  return { protocol: is_https ? 'https' : 'http', host: hostname, port: port || (is_https ? 443 : 80) } as const;
}
