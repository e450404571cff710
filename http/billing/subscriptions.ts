// The routes that end a subscription at once: one of several that a user has, and any for administrators.
import type { CommandContext } from '../../commands/aggregate.ts';
import { openSubscriptions } from '../../commands/billing/subscription.ts';
import { Type } from '../../events/schema.ts';
import { openSubscriptionsAt } from '../../events/subscription-state.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { HttpError } from '../frame/errors.ts';
import { asThrown, routeOf } from '../frame/route.ts';
import { groupOf, type Parts } from '../group.ts';
import { asked, providerAway } from './payment-events.ts';
import { isCharging } from './payments.ts';

const wire = ({ log, logger, payments, now }: Parts) => ({
  ...{ logger, payments, now, subscriptions: openSubscriptions(log) },
});
type Deps = ReturnType<typeof wire>;

const subscription_id = Type.String({
  ...{ minLength: 1, maxLength: 200, description: "The provider's id of the subscription." },
  examples: ['sub_1PqQ2r'],
});
const ended = {
  200: {
    description: 'It has ended: nothing more is charged for it. What was paid is not paid back.',
    schema: Type.Object({ subscription_id: Type.String(), status: Type.Literal('canceled') }),
    example: { subscription_id: 'sub_1PqQ2r', status: 'canceled' },
  },
} as const;
const noSubscription = () => new HttpError(404, 'subscription_not_found', 'There is no such subscription.');
const lastSubscription = () =>
  new HttpError(
    409,
    'last_subscription',
    'This is your only subscription. End it in the portal, and it stays until the end of what you paid: POST /portal/create.',
  );
const errors = {
  404: asThrown('There is no such subscription, or it has ended.', noSubscription()),
  503: asThrown('The payment provider does not answer.', providerAway()),
};

const endOwn = routeOf<Deps>(
  GATEWAY,
  'billing',
)({
  id: 'endSubscription',
  method: 'POST',
  path: '/subscriptions/{subscription_id}/end',
  access: 'user',
  summary: 'End one of several subscriptions at once',
  description: 'For a plan that was bought twice. The last one is ended in the portal.',
  params: Type.Object({ subscription_id }),
  responses: ended,
  errors: { ...errors, 409: asThrown('It is your only subscription.', lastSubscription()) },
  async handler({ params, caller, command }, deps) {
    const open = openSubscriptionsAt(await deps.subscriptions.read(caller.user_id), deps.now());
    const is_known = open.some((each) => each.subscription_id === params.subscription_id);
    if (is_known && open.length === 1) throw lastSubscription();
    return end(caller.user_id, params.subscription_id, command(), deps);
  },
});

const endOfUser = routeOf<Deps>(
  GATEWAY,
  'administration',
)({
  id: 'endUserSubscription',
  method: 'POST',
  path: '/admin/users/{user_id}/subscriptions/{subscription_id}/end',
  access: 'admin',
  summary: 'End a subscription of a user at once',
  params: Type.Object({
    user_id: Type.String({ minLength: 1, description: 'The user.', examples: ['alice'] }),
    subscription_id,
  }),
  responses: ended,
  errors,
  handler: ({ params, command }, deps) => end(params.user_id, params.subscription_id, command(), deps),
});

/** The provider first: what it does not know of counts as ended there, and the repeat of a request that broke off ends right. */
async function end(user_id: string, subscription_id: string, context: CommandContext, deps: Deps) {
  const { payments, subscriptions, logger } = deps;
  const open = openSubscriptionsAt(await subscriptions.read(user_id), deps.now());
  if (!open.some((each) => each.subscription_id === subscription_id)) throw noSubscription();
  if (isCharging(payments)) {
    await asked(() => payments.endSubscription(subscription_id), { logger }, { subscription_id });
  }
  const done = await subscriptions.run(user_id, { type: 'end', subscription_id }, context);
  const body = { subscription_id, status: 'canceled' as const };
  return { body, ...(done.ok && { position: done.position }) };
}

export const group = groupOf(wire, [endOwn, endOfUser]);
