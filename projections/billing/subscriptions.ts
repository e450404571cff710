// The read model of subscriptions and trials.
import { idOf } from '../../events/streams.ts';
import { afterSubscriptionEvent, subscriptionAt } from '../../events/subscription-state.ts';
import { isTestUser } from '../../events/test-user.ts';
import type { EventTypeOf, LogEvent } from '../../events/vocabulary.ts';
import { emptySubscription, type SubscriptionDocument, subscriptions } from '../../readmodels/billing/subscriptions.ts';
import { handlersOf, type Projection, projection } from '../projection.ts';
import { readAll, writeChanged } from '../slices.ts';

interface Page {
  documents: Map<string, SubscriptionDocument>;
  changed: Set<string>;
}

export const subscriptionsProjection: Projection = projection({
  name: 'subscriptions',
  version: 6,
  collections: [subscriptions],
  covers: ['subscription'],
  async begin(open, events): Promise<Page> {
    const users = events.map(userOf).filter((user_id) => user_id !== null);
    return { documents: await readAll(await open(subscriptions), users), changed: new Set() };
  },
  on: {
    ...handlersOf('subscription', apply),
    JobCompleted(event, page) {
      const user_id = userOf(event);
      if (user_id === null || isTestUser(user_id)) return;
      const document = documentOf(page, user_id);
      if (document.trial || document.trial_due || isPaying(document, event)) return;
      changeTrial(page, user_id, { trial_due: { job_id: idOf(event.stream), completed_at: event.metadata.at } });
    },
    SignupBonusApproved: ({ stream }, page) => changeTrial(page, idOf(stream), { bonus: 'approved' }),
    SignupBonusWithheld: ({ stream }, page) => changeTrial(page, idOf(stream), { bonus: 'withheld' }),
    PaymentReceived({ data: { user_id, customer_id } }, page) {
      if (customer_id !== null) change(page, user_id, { customer_id });
    },
    /** The numbers stay; the provider's id of the user goes. */
    UserForgotten({ stream }, page) {
      const user_id = idOf(stream);
      const document = page.documents.get(user_id);
      if (!document) return;
      const without = document.subscriptions.map((subscription) => ({ ...subscription, customer_id: null }));
      change(page, user_id, { customer_id: null, assigned_customer_id: null, subscriptions: without });
    },
  },
  async end({ documents, changed }, open) {
    await writeChanged(await open(subscriptions), changed, documents);
  },
});

/** Null for an event that changes no document: only jobs of API keys begin a trial. */
function userOf({ type, data, stream }: LogEvent): string | null {
  if (type === 'PaymentReceived') return data.user_id;
  if (type === 'JobCompleted') return data.source === 'api' ? (data.owner_id ?? null) : null;
  return idOf(stream);
}

const documentOf = ({ documents }: Page, user_id: string) => documents.get(user_id) ?? emptySubscription(user_id);

function change(page: Page, user_id: string, changes: Partial<SubscriptionDocument>): void {
  page.documents.set(user_id, { ...documentOf(page, user_id), ...changes });
  page.changed.add(user_id);
}

/** Who has a paid plan tries none: the first job of a key then begins nothing. */
const isPaying = (document: SubscriptionDocument, { metadata }: LogEvent): boolean =>
  subscriptionAt(document, Date.parse(metadata.at))?.is_trial === false;

/** In whichever order the job and the bonus come. */
function changeTrial(page: Page, user_id: string, changes: Partial<Pick<SubscriptionDocument, 'trial_due' | 'bonus'>>) {
  const { trial_due, bonus } = { ...documentOf(page, user_id), ...changes };
  change(page, user_id, { trial_due, bonus, is_trial_due: trial_due !== null && bonus === 'approved' });
}

function apply(event: LogEvent<EventTypeOf<'subscription'>>, page: Page): void {
  const user_id = idOf(event.stream);
  const before = documentOf(page, user_id);
  const after = { ...before, ...afterSubscriptionEvent(before, event) };
  if (event.type === 'SubscriptionChanged') after.customer_id = event.data.customer_id ?? before.customer_id;
  if (after.trial || isPaying(after, event)) Object.assign(after, { trial_due: null, is_trial_due: false });
  const due = after.unpaid.filter(({ is_downgraded }) => !is_downgraded).map(({ grace_until }) => grace_until);
  after.grace_until = due.sort()[0] ?? null;
  change(page, user_id, after);
}
