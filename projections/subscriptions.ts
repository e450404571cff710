// The read model of subscriptions.

import { idOf } from '../events/streams.ts';
import type { SubscriptionEvent } from '../events/subscription.ts';
import { afterSubscriptionEvent } from '../events/subscription-state.ts';
import type { EventTypeOf, LogEvent } from '../events/vocabulary.ts';
import { emptySubscription, type SubscriptionDocument, subscriptions } from '../readmodels/subscriptions.ts';
import { type Projection, projection } from './projection.ts';

type Page = Map<string, SubscriptionDocument>;

export const subscriptionsProjection: Projection = projection({
  name: 'subscriptions',
  version: 1,
  collections: [subscriptions],
  covers: ['subscription'],
  async begin(open, events): Promise<Page> {
    const users = [...new Set(events.map(userOf))];
    const found = await (await open(subscriptions)).getMany(users);
    return new Map(found.map((document) => [document._id, document]));
  },
  on: {
    SubscriptionChanged: apply,
    SubscriptionPeriodPaid: apply,
    SubscriptionPaymentFailed: apply,
    SubscriptionDowngraded: apply,
    TrialStarted: apply,
    PaymentReceived({ data: { user_id, customer_id } }, page) {
      if (customer_id === null) return;
      page.set(user_id, { ...(page.get(user_id) ?? emptySubscription(user_id)), customer_id });
    },
    UserForgotten({ stream }, page) {
      const document = page.get(idOf(stream));
      if (document) forget(document);
    },
  },
  async end(page, open) {
    await (await open(subscriptions)).write([...page.values()].map((document) => ({ replace: document })));
  },
});

const userOf = ({ type, data, stream }: LogEvent) => (type === 'PaymentReceived' ? data.user_id : idOf(stream));

function apply(event: LogEvent<EventTypeOf<'subscription'>>, page: Page): void {
  const user_id = idOf(event.stream);
  const before = page.get(user_id) ?? emptySubscription(user_id);
  const after = { ...before, ...afterSubscriptionEvent(before, event as SubscriptionEvent) };
  if (event.type === 'SubscriptionChanged') after.customer_id = event.data.customer_id ?? before.customer_id;
  const due = after.unpaid.filter(({ is_downgraded }) => !is_downgraded).map(({ grace_until }) => grace_until);
  after.grace_until = due.sort()[0] ?? null;
  page.set(user_id, after);
}

/** The numbers stay; the provider's id of the user goes. */
function forget(document: SubscriptionDocument): void {
  document.customer_id = null;
  for (const subscription of document.subscriptions) subscription.customer_id = null;
}
