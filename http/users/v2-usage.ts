// The public API's route for the credits of a user.
import { Nullable, Type } from '../../events/schema.ts';
import { balances, usageOf } from '../../readmodels/billing/credits.ts';
import { subscriptionOf, subscriptions } from '../../readmodels/billing/subscriptions.ts';
import { apiKeys } from '../../readmodels/users/api-keys.ts';
import { PUBLIC } from '../apis/public.ts';
import { Credits } from '../billing/credits.ts';
import { routeOf } from '../frame/route.ts';
import { Count, Time } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';

const wire = ({ read, now }: Parts) => ({ read: read({ balances, subscriptions, apiKeys }), now });
const route = routeOf<ReturnType<typeof wire>>(PUBLIC, 'usage');

const usage = route({
  id: 'getUsage',
  method: 'GET',
  path: '/usage',
  access: 'user',
  summary: 'Show your remaining credits, and the credits used in the period',
  responses: {
    200: {
      description: 'The balance, which the public API and the gateway share.',
      schema: Type.Object(
        {
          ...Credits.properties,
          plan: Type.String({ description: 'The plan of your subscription; `free` without one.' }),
          period_usage: Type.Object(
            {
              period_start: Time('When the period began.'),
              period_end: Time('When the next period begins.'),
              credits_used: Count('Credits that jobs reserved in the period, without refunds.'),
            },
            { $id: 'PeriodUsage' },
          ),
          key: Nullable(
            Type.Object(
              {
                credit_limit: Count('The most credits that all jobs of the key together may use.'),
                credits_used: Count('The credits that jobs have used of it, without refunds.'),
              },
              { $id: 'KeyUsage', description: 'The limit of the API key that asks; null for a key without one.' },
            ),
          ),
        },
        { $id: 'Usage' },
      ),
      example: {
        credit_balance: 280,
        available_credits: 280,
        plan: 'free',
        period_usage: {
          period_start: '2026-01-01T00:00:00.000Z',
          period_end: '2026-02-01T00:00:00.000Z',
          credits_used: 20,
        },
        key: { credit_limit: 5000, credits_used: 20 },
      },
    },
  },
  async handler({ caller }, { read, now }) {
    const { credit_limit, key_id = '' } = caller;
    const [balance, subscription, key] = await Promise.all([
      read.balances.get(caller.user_id),
      subscriptionOf(read.subscriptions, caller.user_id, now()),
      credit_limit === undefined ? null : read.apiKeys.get(key_id),
    ]);
    const credit_balance = balance?.balance ?? 0;
    const plan = subscription?.plan ?? 'free';
    const period_usage = usageOf(balance, now());
    const of_key = credit_limit === undefined ? null : { credit_limit, credits_used: key?.credits_used ?? 0 };
    return { body: { credit_balance, available_credits: credit_balance, plan, period_usage, key: of_key } };
  },
});

export const group = groupOf(wire, [usage]);
