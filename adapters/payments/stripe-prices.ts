// What Stripe sells for us: the prices of plans and packages, and the configuration of its portal. Each is made at its first use and found
// again by its key.
import type Stripe from 'stripe';
import type { BillingInterval, Order, OrderItem, PlanName } from '../../http/billing/payments.ts';
import { type FromStripe, idOf } from './stripe-events.ts';

/** Raise it with every change of the portal's configuration: Stripe's own is then rebuilt. */
const PORTAL_VERSION = 'url-checker-1';
/** A larger plan begins and is paid at once; a smaller one begins with the next period, so that nobody spends the credits of the larger one
 * and gets its money back. */
const PORTAL = {
  invoice_history: { enabled: true },
  payment_method_update: { enabled: true },
  subscription_cancel: { enabled: true, mode: 'at_period_end' },
  subscription_update: {
    enabled: true,
    default_allowed_updates: ['price'],
    proration_behavior: 'always_invoice',
    schedule_at_period_end: { conditions: [{ type: 'decreasing_item_amount' }, { type: 'shortening_interval' }] },
  },
} satisfies Stripe.BillingPortal.ConfigurationCreateParams.Features;

/** What a plan costs, for prices that Stripe does not have yet. */
export interface PlanPrice {
  plan: PlanName;
  interval: BillingInterval;
  name: string;
  price_cents: number;
  currency: string;
}

export type PlanItem = Extract<OrderItem, { kind: 'plan' }>;
export type PackageItem = Exclude<OrderItem, PlanItem>;
export type TaxBehavior = { readonly tax_behavior: 'exclusive' } | false | undefined;

export class StripePrices {
  readonly #stripe: Stripe;
  readonly #prices: readonly PlanPrice[];
  readonly #tax_behavior: TaxBehavior;
  /** By lookup key: what does not change is asked once. */
  readonly #price_ids = new Map<string, Promise<Stripe.Price>>();
  #portal: Promise<string> | null = null;

  /** `prices`: of every plan that can be subscribed to. */
  constructor(stripe: Stripe, prices: readonly PlanPrice[], tax_behavior: TaxBehavior) {
    this.#stripe = stripe;
    this.#prices = prices;
    this.#tax_behavior = tax_behavior;
  }

  priceOf(wanted: PlanPrice): Promise<Stripe.Price> {
    const key = `url_checker_${wanted.plan}_${wanted.interval}`;
    return once(this.#price_ids, key, async () => {
      const { data } = await this.#stripe.prices.list({ lookup_keys: [key], active: true, limit: 1 });
      const { price_cents: unit_amount, currency, plan, interval } = wanted;
      if (data[0]?.unit_amount === unit_amount && data[0].currency === currency) {
        // Stripe computes no tax for a price that does not say whether it has it in it. That can be said once.
        const is_unsaid = this.#tax_behavior && data[0].tax_behavior === 'unspecified';
        return is_unsaid ? this.#stripe.prices.update(data[0].id, this.#tax_behavior) : data[0];
      }
      const price = {
        ...this.#tax_behavior,
        ...{ currency, unit_amount, lookup_key: key, transfer_lookup_key: true, recurring: { interval } },
        product_data: { name: `${wanted.name}, by the ${interval}` },
        metadata: { plan, interval },
      };
      // Two processes that make it at once get the same one.
      const idempotencyKey = `${key}_${unit_amount}_${currency}${this.#tax_behavior ? '_exclusive' : ''}`;
      return this.#stripe.prices.create(price, { idempotencyKey });
    });
  }

  /** The price of a package that the operator keeps at Stripe, such as for its other currencies; null for none of this amount. */
  async ofPackage({ currency }: Order, { package_id, price_cents }: PackageItem): Promise<string | null> {
    const key = `url_checker_${package_id}`;
    const { data } = await this.#stripe.prices.list({ lookup_keys: [key], active: true, limit: 1 });
    return data[0]?.unit_amount === price_cents && data[0].currency === currency ? data[0].id : null;
  }

  async planOf(price_id: string, currency?: string): ReturnType<FromStripe['planOf']> {
    const expand = { expand: ['currency_options'] };
    const price = await once(this.#price_ids, price_id, () => this.#stripe.prices.retrieve(price_id, expand));
    const { metadata } = price;
    const unit_amount =
      currency === undefined || currency === price.currency
        ? price.unit_amount
        : (price.currency_options?.[currency]?.unit_amount ?? price.unit_amount);
    const listed = this.#prices.find(({ plan, interval }) => plan === metadata.plan && interval === metadata.interval);
    if (!listed) return null;
    const { plan, interval, price_cents: listed_cents } = listed;
    const is_listed = unit_amount === null || unit_amount === listed_cents;
    return { plan, interval, ...(!is_listed && { price_cents: unit_amount }) };
  }

  /** The configuration of the portal. */
  portal(): Promise<string> {
    this.#portal ??= this.#makePortal().catch((error: unknown) => {
      this.#portal = null;
      throw error;
    });
    return this.#portal;
  }

  async #makePortal(): Promise<string> {
    const { data } = await this.#stripe.billingPortal.configurations.list({ active: true, limit: 100 });
    const found = data.find(({ metadata }) => metadata?.version === PORTAL_VERSION);
    if (found) return found.id;
    const products = await Promise.all(
      this.#prices.map(async (wanted) => {
        const { id, product } = await this.priceOf(wanted);
        return { product: idOf(product), prices: [id] };
      }),
    );
    const metadata = { version: PORTAL_VERSION };
    const features = { ...PORTAL, subscription_update: { ...PORTAL.subscription_update, products } };
    const idempotencyKey = PORTAL_VERSION;
    return (await this.#stripe.billingPortal.configurations.create({ metadata, features }, { idempotencyKey })).id;
  }
}

/** Keeps what `make` returns; what it throws is asked again. */
function once<T>(kept: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> {
  const known = kept.get(key);
  if (known) return known;
  const made = make();
  kept.set(key, made);
  made.catch(() => kept.delete(key));
  return made;
}
