// A checkout that is paid between two looks at the provider.
import test from 'ava';
import { openSubscriptions } from '../../../commands/billing/subscription.ts';
import { openCheckouts } from '../../../http/billing/checkouts.ts';
import type { OrderItem, PaymentProvider } from '../../../http/billing/payments.ts';
import { commandContext, openTestStores } from '../../support/stores.ts';

const planOf = (plan: 'pro' | 'agency') =>
  ({ kind: 'plan', plan, interval: 'month', name: plan, price_cents: 100, credits: 10 }) as OrderItem;

test('whoever has just paid one plan gets no checkout of another', async (t) => {
  const { log } = await openTestStores(t);
  let opened = 0;
  const page = () => ({ session_id: `s${opened}`, url: 'https://pay.example/' });
  const provider = {
    name: 'fake',
    async checkout() {
      opened += 1;
      return page();
    },
    // The first look finds the page open, and the second one paid.
    customers: { customerOf: async () => 'cus_1', reopen: async () => page(), close: async () => false },
  } as unknown as PaymentProvider;
  const checkouts = openCheckouts(provider, openSubscriptions(log));
  const open = (plan: 'pro' | 'agency') =>
    checkouts.open({
      order: { user_id: 'alice', email: null, currency: 'usd', item: planOf(plan) } as never,
      ...{ heard: null, context: commandContext() },
    });
  await open('pro');
  await t.throwsAsync(open('agency'), { code: 'already_subscribed' });
  t.is(opened, 1);
});
