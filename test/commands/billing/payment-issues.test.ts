// Money that the service cannot decide on by itself is told, once, and what it did meanwhile is fair to the customer.
import test, { type ExecutionContext } from 'ava';
import { openBilling, type PaidLine, type PaymentNotice } from '../../../commands/billing/billing.ts';
import { openPaymentIssues } from '../../../commands/billing/payment-issue.ts';
import { openCredits } from '../../../commands/ledger/credits.ts';
import { openUserAggregate } from '../../../commands/users/user.ts';
import type { PaymentIssueRaised } from '../../../events/payment-issue.ts';
import { creditsStream, userStream } from '../../../events/streams.ts';
import { paymentIssues } from '../../../readmodels/billing/payment-issues.ts';
import { openReadModels } from '../../../readmodels/read-models.ts';
import { commandContext, openTestStores, project } from '../../support/stores.ts';

const at = '2028-01-31T09:00:00.000Z';
const end = '2028-02-29T09:00:00.000Z';
const LINE: PaidLine = {
  ...{ plan: 'pro', interval: 'month', period_start: at, period_end: end, is_proration: false, amount_cents: 2900 },
};
const invoice = (more: object = {}): PaymentNotice => ({
  ...{ type: 'period_paid', at, user_id: 'alice', customer_id: null, payment_id: 'in_1', subscription_id: 'sub_1' },
  ...{ lines: [LINE], amount_cents: 2900, currency: 'usd', ...more },
});

async function world(t: ExecutionContext) {
  const { log, documents } = await openTestStores(t);
  const credits = openCredits(log);
  const billing = openBilling(log, credits, 'stripe');
  const take = (notice: PaymentNotice, now = at) => billing.take(notice, commandContext(Date.parse(now)));
  const raised = async () => {
    const found: string[] = [];
    for await (const { data } of log.readAll({ filter: { categories: ['payment_issue'] } })) {
      const { reason, subject } = data as PaymentIssueRaised;
      found.push(`${reason} ${subject}`);
    }
    return found;
  };
  const balance = async () => (await credits.aggregate.read(creditsStream('alice'))).state.balance;
  return { log, documents, take, raised, balance };
}

test('what is in order raises nothing, also when it is reported again much later', async (t) => {
  const { take, raised, balance } = await world(t);
  await take(invoice());
  t.is(await balance(), 50_000);
  await take(invoice(), '2028-06-01T00:00:00.000Z');
  t.deepEqual(await raised(), []);
});

test('a price that is no plan, and several of a plan, are reported once', async (t) => {
  const { take, raised, balance } = await world(t);
  const unknown = invoice({ payment_id: 'in_u', lines: [], amount_cents: 50_000 });
  for (const _ of [1, 2]) await take(unknown);
  t.is(await balance(), 0);
  await take(invoice({ lines: [{ ...LINE, quantity: 3, amount_cents: 8700 }], amount_cents: 8700 }));
  t.is(await balance(), 150_000);
  t.deepEqual(await raised(), ['unknown_price in_u', 'several_of_a_plan in_1']);
});

test('money that brings no credits is reported, of a package and of a plan; nothing that brings none is not', async (t) => {
  const { take, raised, balance } = await world(t);
  const bought: PaymentNotice = {
    ...{ type: 'purchase_paid', at, user_id: 'alice', customer_id: null, payment_id: 'pi_1', package_id: 'p' },
    ...{ credits: 0, amount_cents: 500, currency: 'usd' },
  };
  for (const _ of [1, 2]) await take(bought);
  await take({ ...bought, payment_id: 'pi_2', amount_cents: 0 });
  // A dearer plan by the month instead of a rest of a year, whose credits stay.
  const rest: PaidLine = {
    ...{ ...LINE, plan: 'agency', interval: 'year', is_proration: true, amount_cents: -2800 },
    ...{ price_cents: 99_000 },
  };
  await take(invoice({ lines: [rest, LINE], amount_cents: 100 }));
  t.is(await balance(), 0);
  t.deepEqual(await raised(), ['unknown_price pi_1', 'unknown_price in_1']);
});

test('a period that is paid after its end lasts as long from the payment on', async (t) => {
  const { take, raised, balance } = await world(t);
  const paid_late = '2028-03-10T09:00:00.000Z';
  await take(invoice({ at: paid_late }), paid_late);
  t.is(await balance(), 50_000);
  t.deepEqual(await raised(), []);
});

test('news that come after the credits have expired are reported', async (t) => {
  const { take, raised, balance } = await world(t);
  await take(invoice(), '2028-03-10T09:00:00.000Z');
  t.is(await balance(), 0);
  t.deepEqual(await raised(), ['expired_on_arrival in_1']);
});

test('a refund in another currency and a payment of an erased user are reported', async (t) => {
  const { log, take, raised, balance } = await world(t);
  const refund = { reversal_id: 're_1', kind: 'refund' as const, amount_cents: 2900, currency: 'eur' };
  await take({ type: 'reversed', at, payment_id: 'in_1', reversal: refund });
  await take(invoice());
  t.is(await balance(), 50_000);
  const erased = { events: [{ type: 'UserErased' as const, data: {} }] };
  await openUserAggregate(log).handle(userStream('alice'), commandContext(), () => erased as never);
  await take(invoice({ payment_id: 'in_2' }));
  t.deepEqual(await raised(), ['other_currency re_1', 'erased_user in_2']);
});

test('a second plan is reported, and an administrator resolves it', async (t) => {
  const { log, documents, take, raised } = await world(t);
  for (const id of ['sub_1', 'sub_2']) {
    const period = { plan: 'pro', interval: 'month', period_start: at, period_end: end } as const;
    const state = { subscription_id: id, customer_id: null, status: 'active', cancel_at: null, ...period } as const;
    for (const _ of [1, 2]) await take({ type: 'subscription_changed', at, user_id: 'alice', subscription: state });
  }
  t.is((await raised()).length, 1);
  await project({ log, documents });
  const issues = openReadModels(documents).collection(paymentIssues);
  const [open] = await issues.find({ status: 'open' });
  t.like(open, { reason: 'second_plan', user_id: 'alice' });
  const commands = openPaymentIssues(log);
  for (const _ of [1, 2]) t.true((await commands.resolve(open!._id, 'ended it', commandContext())).ok);
  t.false((await commands.resolve('0'.repeat(32), '', commandContext())).ok);
  await project({ log, documents });
  t.is(await issues.count({ status: 'open' }), 0);
  t.like(await issues.get(open!._id), { status: 'resolved', note: 'ended it' });
});
