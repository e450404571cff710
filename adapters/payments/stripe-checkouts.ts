// Checkouts at Stripe: a payment for a package, or the subscription of a plan.
import { hash } from 'node:crypto';
import type Stripe from 'stripe';
import type { Order } from '../../http/billing/payments.ts';
import type { PackageItem, PlanItem, StripePrices, TaxBehavior } from './stripe-prices.ts';

/** What Stripe does at checkouts beside taking money. All of it is off by default. */
export interface Selling {
  /** It adds the tax of the customer's address, and takes tax ids. */
  automatic_tax: boolean;
  /** It makes an invoice with a number for a package too. Plans always have one. */
  invoices: boolean;
  promotion_codes: boolean;
}

export class StripeCheckouts {
  readonly #stripe: Stripe;
  readonly #prices: StripePrices;
  readonly #selling: Partial<Selling>;
  readonly #tax_behavior: TaxBehavior;

  constructor(stripe: Stripe, prices: StripePrices, selling: Partial<Selling>, tax_behavior: TaxBehavior) {
    this.#stripe = stripe;
    this.#prices = prices;
    this.#selling = selling;
    this.#tax_behavior = tax_behavior;
  }

  async create(order: Order): Promise<Stripe.Checkout.Session> {
    const { user_id, email, customer_id, item, success_url, cancel_url } = order;
    const params = {
      ...(item.kind === 'package' ? await this.#payment(order, item) : await this.#subscription(order, item)),
      ...(customer_id !== null && { customer: customer_id }),
      ...(customer_id === null && email !== null && { customer_email: email }),
      ...{ client_reference_id: user_id.slice(0, 200), success_url, cancel_url },
      ...(this.#selling.promotion_codes && { allow_promotion_codes: true }),
      ...(this.#selling.automatic_tax && { automatic_tax: { enabled: true }, tax_id_collection: { enabled: true } }),
      // The customer whom the service has made has no address yet.
      ...(this.#selling.automatic_tax &&
        customer_id !== null && { customer_update: { address: 'auto', name: 'auto' } as const }),
    };
    // A key stands for all that is asked: with other return pages it is another checkout.
    const key = order.idempotency_key && keyOf('checkout', order.idempotency_key, JSON.stringify(params));
    return this.#stripe.checkout.sessions.create(params, key ? { idempotencyKey: key } : undefined);
  }

  async #payment(order: Order, item: PackageItem) {
    const metadata = { user_id: order.user_id, package_id: item.package_id, credits: String(item.credits) };
    const kept = await this.#prices.ofPackage(order, item);
    const price_data = {
      ...{ currency: order.currency, unit_amount: item.price_cents, product_data: { name: item.name } },
      ...this.#tax_behavior,
    };
    const line_items = [{ quantity: 1, ...(kept === null ? { price_data } : { price: kept }) }];
    return {
      ...{ mode: 'payment', line_items, metadata, payment_intent_data: { metadata } },
      ...(order.customer_id === null && { customer_creation: 'always' }),
      ...(this.#selling.invoices && { invoice_creation: { enabled: true, invoice_data: { metadata } } }),
    } as const;
  }

  async #subscription({ user_id, currency }: Order, item: PlanItem) {
    const price = await this.#prices.priceOf({ ...item, currency });
    const metadata = { user_id };
    const line_items = [{ quantity: 1, price: price.id }];
    return { mode: 'subscription', line_items, metadata, subscription_data: { metadata } } as const;
  }
}

/** Of bounded length, whatever the parts are. */
export const keyOf = (kind: string, ...parts: readonly string[]) =>
  `url_checker_${kind}_${hash('sha256', JSON.stringify(parts), 'hex')}`;
