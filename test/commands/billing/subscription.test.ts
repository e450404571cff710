// What a user's subscription is after the provider's news: given events, when a command, then events and the plan.
import test from 'ava';
import { decide, evolve, initial, type SubscriptionCommand } from '../../../commands/billing/subscription.ts';
import { GRACE_MS, type SubscriptionState, subscriptionAt } from '../../../events/subscription-state.ts';

const START = Date.parse('2026-01-01T00:00:00.000Z');
const DAY = 86_400_000;
const day = (n: number) => new Date(START + n * DAY).toISOString();
const [subscription_id, period_start] = ['sub', day(0)];

const become = (status: 'incomplete' | 'active' | 'past_due', changed_at: string, period_end = day(31)) => {
  const period = { plan: 'pro', interval: 'month', period_start, period_end } as const;
  const subscription = { subscription_id, customer_id: null, ...period, status, cancel_at: null, changed_at };
  return { type: 'change', subscription } as const;
};
const fail = (payment_id: string, failed_at: string) =>
  ({ type: 'recordFailure', subscription_id, payment_id, failed_at }) as const;

/** Takes the commands in their order, the n-th at `now`. */
function after(commands: readonly SubscriptionCommand[], now = START): { state: SubscriptionState; types: string[] } {
  let state = initial();
  const types: string[] = [];
  for (const command of commands) {
    const decided = decide(state, command, now);
    for (const event of 'events' in decided ? decided.events : []) {
      types.push(event.type);
      state = evolve(state, event);
    }
  }
  return { state, types };
}

test('of the states of one second the later in the life of a subscription wins, in any order', (t) => {
  const [incomplete, active, past_due] = [
    become('incomplete', day(0)),
    become('active', day(0)),
    become('past_due', day(0)),
  ];
  for (const commands of [
    [incomplete, active],
    [active, incomplete],
  ]) {
    t.is(subscriptionAt(after(commands).state, START)?.status, 'active');
  }
  for (const commands of [
    [past_due, active],
    [active, past_due],
  ]) {
    t.is(subscriptionAt(after(commands).state, START)?.status, 'past_due');
  }
});

test('a failed payment does not end a plan that went on after it, whichever news comes last', (t) => {
  const [failure, went_on] = [fail('in_1', day(1)), become('active', day(3))];
  for (const commands of [
    [become('past_due', day(1)), failure, went_on],
    [went_on, failure],
  ]) {
    const { state, types } = after([...commands, { type: 'endGrace' }], START + DAY + GRACE_MS);
    t.is(types.includes('SubscriptionDowngraded'), false);
    t.is(subscriptionAt(state, START + DAY + GRACE_MS)?.status, 'active');
  }
});

test('a second failed payment has a grace of its own', (t) => {
  const next = become('past_due', day(31), day(59));
  const { state } = after([
    ...[become('past_due', day(1)), fail('in_1', day(1)), become('active', day(3))],
    ...[next, fail('in_2', day(31))],
  ]);
  t.is(subscriptionAt(state, START + 32 * DAY)?.grace_until, day(38));
  t.is(subscriptionAt(state, START + 38 * DAY), null);
});

test('an active state from before the failure does not settle it', (t) => {
  const { state, types } = after(
    [become('active', day(0)), fail('in_1', day(0)), { type: 'endGrace' }],
    START + GRACE_MS,
  );
  t.true(types.includes('SubscriptionDowngraded'));
  t.is(subscriptionAt(state, START + GRACE_MS), null);
});

test('an upgrade that is not paid does not show its plan', (t) => {
  const paid = (payment_id: string, plan: 'pro' | 'agency', paid_at: string) =>
    ({ type: 'recordPaid', subscription_id, payment_id, paid_at, plan, interval: 'month' }) as const;
  const upgraded = become('past_due', day(10));
  upgraded.subscription.plan = 'agency' as 'pro';
  const unpaid = [become('active', day(0)), paid('in_1', 'pro', day(0)), upgraded, fail('in_2', day(10))];
  for (const news of [unpaid, unpaid.toReversed()]) {
    const { state } = after(news);
    t.like(subscriptionAt(state, START + 11 * DAY), { plan: 'pro', status: 'past_due', grace_until: day(17) });
    t.is(subscriptionAt(state, START + 17 * DAY), null);
  }
  const active = become('active', day(12));
  active.subscription.plan = 'agency' as 'pro';
  for (const news of [
    [...unpaid, paid('in_2', 'agency', day(12)), active],
    [active, paid('in_2', 'agency', day(12)), ...unpaid],
  ]) {
    t.like(subscriptionAt(after(news).state, START + 13 * DAY), { plan: 'agency', status: 'active' });
  }
});
