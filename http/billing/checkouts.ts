// Opens the pages on which users pay. A user has one customer at the provider, one open checkout of a plan, and one plan: whoever opens a
// second tab gets the page of the first.
import type { CommandContext } from '../../commands/aggregate.ts';
import { notRefused } from '../../commands/aggregate.ts';
import type { Subscriptions } from '../../commands/billing/subscription.ts';
import { isOfSandbox, openSubscriptionsAt, type SubscriptionState } from '../../events/subscription-state.ts';
import { HttpError } from '../frame/errors.ts';
import { providerAway } from './payment-events.ts';
import type { CheckoutSession, Customers, Order, OrderItem, PaymentProvider } from './payments.ts';

/** Others open checkouts of the same user at the same time. */
const MAX_TRIES = 5;

export const alreadySubscribed = () =>
  new HttpError(
    409,
    'already_subscribed',
    'You have a subscription already. Change it in the portal: POST /portal/create.',
  );

/** The provider's ids of a user, the one of the living plan first. `heard`: of the user's last payment, for users of earlier services. */
export function customersIn(state: SubscriptionState, heard: string | null, now: number): string[] {
  const living = openSubscriptionsAt(state, now).map(({ customer_id }) => customer_id);
  const known = [...living, heard, state.assigned_customer_id];
  return [...new Set(known)].filter((customer_id) => customer_id != null);
}

const nameOf = (item: OrderItem, currency: string) =>
  `${item.kind === 'plan' ? `${item.plan}_${item.interval}` : item.package_id}_${item.price_cents}_${currency}`;

interface Asked {
  order: Omit<Order, 'customer_id'>;
  heard: string | null;
  context: CommandContext;
}

export function openCheckouts(provider: PaymentProvider, subscriptions: Subscriptions) {
  const { customers } = provider;

  /** Throws `HttpError` for a second plan, and `PaymentProviderError`. */
  async function open({ order, heard, context }: Asked): Promise<CheckoutSession> {
    const { user_id, item, currency } = order;
    const [kind, name] = [item.kind, nameOf(item, currency)];
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      // The log, because the read model may lag behind a checkout that was just paid.
      const state = await subscriptions.read(user_id);
      if (kind === 'plan' && isSubscribed(state, context.now)) throw alreadySubscribed();
      if (!customers) return provider.checkout({ ...order, customer_id: null });
      const customer_id = await customerOf(state, { order, heard, context }, customers);
      const { opened = 0, [kind]: last } = state.checkouts ?? {};
      const page = last ? await customers.reopen(last.session_id) : null;
      if (page && last?.item === name) return page;
      // It has been paid meanwhile, and the provider's event is on its way.
      if (page && kind === 'plan' && !(await customers.close(page.session_id))) throw alreadySubscribed();
      const session = await provider.checkout({ ...order, customer_id, idempotency_key: `${user_id} ${opened}` });
      const checkout = { session_id: session.session_id, kind, item: name };
      const command = { type: 'openCheckout', after: opened, checkout } as const;
      const { state: after } = notRefused(await subscriptions.run(user_id, command, context));
      if (after.checkouts?.[kind]?.session_id === session.session_id) return session;
      await customers.close(session.session_id);
    }
    throw providerAway();
  }

  /** What was bought at the sandbox is no plan at a provider that takes money. */
  const isSubscribed = (state: SubscriptionState, now: number) =>
    openSubscriptionsAt(state, now).some(({ subscription_id }) => !customers || !isOfSandbox(subscription_id));

  /** Two requests at once make one: the provider knows the repeat by its key, and the stream of the user takes the first. */
  async function customerOf(
    state: SubscriptionState,
    { order: { user_id, email }, heard, context }: Asked,
    { customerOf }: Customers,
  ): Promise<string> {
    const known = customersIn(state, heard, context.now)[0] ?? null;
    const customer_id = await customerOf({ user_id, email, known });
    if (customer_id === known) return known;
    const instead_of = state.assigned_customer_id ?? null;
    const assigned = { type: 'assignCustomer', customer_id, instead_of } as const;
    return notRefused(await subscriptions.run(user_id, assigned, context)).state.assigned_customer_id ?? customer_id;
  }

  return { open };
}
