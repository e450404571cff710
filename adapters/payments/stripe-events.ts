// What an event of Stripe means, by its API of the version that the library has. The service made the sessions, so that their metadata
// names the user; what lacks it belongs to something else of the same account, and means nothing here.
import type Stripe from 'stripe';
import {
  type BillingInterval,
  type PaidLine,
  type PaymentNotice,
  type PlanName,
  type Settled,
  SUBSCRIPTION_STATUSES,
  UnreadablePaymentEvent,
} from '../../http/billing/payments.ts';

/** Facts that an event does not carry. */
export interface FromStripe {
  /** Null for a price that is no plan's. `price_cents`: of one period in the currency, where it differs from the catalogue's. */
  planOf(
    price_id: string,
    currency?: string,
  ): Promise<{ plan: PlanName; interval: BillingInterval; price_cents?: number } | null>;
  /** The current period of a subscription; null for one that Stripe does not have. */
  periodOf(subscription_id: string): Promise<{ start: string; end: string } | null>;
  /** The invoice that a payment paid; null for a payment without one. */
  invoiceOf(payment_intent: string): Promise<string | null>;
  /** All lines of an invoice, of which an event carries the first. */
  linesOf(invoice: string): Promise<Stripe.InvoiceLineItem[]>;
}

/** Throws `UnreadablePaymentEvent` for an event of another API version that it cannot read: Stripe sends the event again. */
export async function noticesOf(event: Stripe.Event, from_stripe: FromStripe): Promise<PaymentNotice[]> {
  const at = timeOf(event.created);
  switch (event.type) {
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
      return purchaseOf(event.data.object, at);
    case 'invoice.paid':
      return periodOf(event.data.object, at, from_stripe);
    case 'invoice.payment_failed':
      return failureOf(event.data.object, at);
    case 'customer.subscription.created':
    case 'customer.subscription.updated':
    case 'customer.subscription.deleted':
    case 'customer.subscription.paused':
    case 'customer.subscription.resumed':
      return subscriptionOf(event.data.object, at, from_stripe);
    case 'refund.created':
    case 'refund.updated':
    case 'refund.failed': {
      const { status } = event.data.object;
      const stands = status !== 'failed' && status !== 'canceled';
      return reversalOf('refund', event.data.object, stands, at, from_stripe);
    }
    case 'charge.dispute.created':
    case 'charge.dispute.updated':
    case 'charge.dispute.closed':
    case 'charge.dispute.funds_withdrawn':
    case 'charge.dispute.funds_reinstated': {
      const { status } = event.data.object;
      // An inquiry takes no money, nor does a dispute that was prevented.
      if (status.startsWith('warning_') || status === 'prevented') return [];
      return reversalOf('dispute', event.data.object, status !== 'won', at, from_stripe);
    }
    default:
      return [];
  }
}

function purchaseOf(session: Stripe.Checkout.Session, at: string): PaymentNotice[] {
  const { id, mode, payment_status, payment_intent, metadata, customer, amount_total, currency } = session;
  const { user_id, package_id, credits } = metadata ?? {};
  if (mode !== 'payment' || payment_status === 'unpaid' || !user_id || !package_id) return [];
  // Somebody has changed what the service wrote: the money came, and a person decides what for.
  const known_credits = /^\d{1,9}$/.test(credits ?? '') ? Number(credits) : 0;
  const paid = { user_id, package_id, credits: known_credits, customer_id: idOf(customer) };
  // A payment of nothing, by a coupon, has no intent.
  const payment_id = idOf(payment_intent) ?? id;
  const amount_cents = amount_total ?? 0;
  const tax_cents = session.total_details?.amount_tax ?? 0;
  const tax = tax_cents > 0 && { tax_cents };
  // Nothing was charged for a session that wants no payment.
  const unpaid = { paid_cents: 0, credited_cents: amount_cents, outstanding_cents: 0 };
  const settled = payment_status === 'no_payment_required' && amount_cents > 0 && { settled: unpaid };
  return [
    { type: 'purchase_paid', at, payment_id, ...paid, amount_cents, ...tax, ...settled, currency: currency ?? 'usd' },
  ];
}

async function periodOf(invoice: Stripe.Invoice, at: string, from_stripe: FromStripe): Promise<PaymentNotice[]> {
  const of = subscriptionOfInvoice(invoice);
  if (!of || !invoice.id) return [];
  const items = invoice.lines.has_more ? await from_stripe.linesOf(invoice.id) : invoice.lines.data;
  const found = await Promise.all(items.map((item) => lineOf(item, from_stripe)));
  const lines = await ofWholePeriods(
    found.filter((line) => line !== null),
    of.subscription_id,
    from_stripe,
  );
  const { id: payment_id, customer, total, total_excluding_tax, currency } = invoice;
  const amount_cents = Math.max(0, total);
  const net_cents = total_excluding_tax ?? total;
  const paid = {
    ...{ payment_id, customer_id: idOf(customer), amount_cents, currency },
    ...(net_cents !== total && { net_cents }),
    ...settledOf(invoice, amount_cents),
  };
  return [{ type: 'period_paid', at, ...of, ...paid, lines }];
}

/** How an invoice was settled, where money did not pay all of it. A debt that the balance takes up is still owed. */
function settledOf(invoice: Stripe.Invoice, amount_cents: number): { settled?: Settled } {
  const { amount_paid = amount_cents, amount_remaining = 0, starting_balance, ending_balance } = invoice;
  if (invoice.total < 0 || amount_paid === amount_cents) return {};
  const debt_cents = Math.max(0, ending_balance ?? 0) - Math.max(0, starting_balance ?? 0);
  const outstanding_cents = amount_remaining + debt_cents;
  const credited_cents = amount_cents - amount_paid - outstanding_cents;
  return { settled: { paid_cents: amount_paid, credited_cents, outstanding_cents } };
}

async function lineOf(item: Stripe.InvoiceLineItem, from_stripe: FromStripe): Promise<PaidLine | null> {
  const { pricing, parent, period, amount: amount_cents, quantity } = item;
  const price = pricing?.price_details?.price;
  const found = price ? await from_stripe.planOf(idOf(price), item.currency) : null;
  if (!found) return null;
  const is_proration = parent?.subscription_item_details?.proration ?? parent?.invoice_item_details?.proration ?? false;
  const [period_start, period_end] = [timeOf(period.start), timeOf(period.end)];
  const several = quantity != null && quantity > 1 && { quantity };
  return { ...found, period_start, period_end, is_proration, amount_cents, ...several };
}

/** Stripe states the whole period of a change with the subscription, unless the next one has begun by now. */
async function ofWholePeriods(
  lines: PaidLine[],
  subscription_id: string,
  { periodOf }: FromStripe,
): Promise<PaidLine[]> {
  const period = lines.some(({ is_proration }) => is_proration) ? await periodOf(subscription_id) : null;
  if (period === null) return lines;
  return lines.map((line) => {
    const is_within = line.period_end === period.end && line.period_start >= period.start;
    return line.is_proration && is_within ? { ...line, whole_period: period } : line;
  });
}

function failureOf(invoice: Stripe.Invoice, at: string): PaymentNotice[] {
  const of = subscriptionOfInvoice(invoice);
  return of && invoice.id ? [{ type: 'period_failed', at, payment_id: invoice.id, ...of }] : [];
}

function subscriptionOfInvoice({ parent }: Stripe.Invoice): { user_id: string; subscription_id: string } | null {
  assertKnown(parent, 'invoice.parent');
  const { subscription, metadata } = parent?.subscription_details ?? {};
  const user_id = metadata?.user_id;
  return subscription && user_id ? { user_id, subscription_id: idOf(subscription) } : null;
}

async function subscriptionOf(
  subscription: Stripe.Subscription,
  at: string,
  from_stripe: FromStripe,
): Promise<PaymentNotice[]> {
  const { id: subscription_id, metadata, customer, items, cancel_at, cancel_at_period_end } = subscription;
  const item = items.data[0];
  const status = SUBSCRIPTION_STATUSES.find((known) => known === subscription.status);
  if (!metadata.user_id || !item || !status) return [];
  const found = await from_stripe.planOf(item.price.id);
  if (!found) return [];
  assertKnown(item.current_period_end, 'item.current_period_end');
  const period_end = timeOf(item.current_period_end);
  const ends = cancel_at === null ? (cancel_at_period_end ? period_end : null) : timeOf(cancel_at);
  const state = {
    ...{ subscription_id, customer_id: idOf(customer), plan: found.plan, interval: found.interval, status },
    ...{ period_start: timeOf(item.current_period_start), period_end, cancel_at: ends },
  };
  return [{ type: 'subscription_changed', at, user_id: metadata.user_id, subscription: state }];
}

type Reversing = Pick<Stripe.Refund | Stripe.Dispute, 'id' | 'amount' | 'currency' | 'payment_intent'>;

async function reversalOf(
  kind: 'refund' | 'dispute',
  { id: reversal_id, amount: amount_cents, currency, payment_intent }: Reversing,
  stands: boolean,
  at: string,
  { invoiceOf }: FromStripe,
): Promise<PaymentNotice[]> {
  const intent = idOf(payment_intent);
  if (intent === null) return [];
  const payment_id = (await invoiceOf(intent)) ?? intent;
  if (!stands) return [{ type: 'lifted', at, payment_id, reversal_id }];
  return [{ type: 'reversed', at, payment_id, reversal: { reversal_id, kind, amount_cents, currency } }];
}

/** Every version that the service reads has the field, with null or a value. */
function assertKnown(value: unknown, field: string): void {
  if (value !== undefined) return;
  const message = `an event without ${field}: the webhook endpoint wants the API version that the guide names`;
  throw new UnreadablePaymentEvent(message);
}

export const timeOf = (seconds: number) => new Date(seconds * 1000).toISOString();

type Named = string | { id: string };
/** Stripe names an object by its id, or sends it whole. */
export function idOf(named: Named): string;
export function idOf(named: Named | null | undefined): string | null;
export function idOf(named: Named | null | undefined): string | null {
  return typeof named === 'string' ? named : (named?.id ?? null);
}
