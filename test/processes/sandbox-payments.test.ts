// A payment of the sandbox in the log of a service that takes money: told once, for a person to decide.
import test from 'ava';
import { openBilling, type PaymentNotice } from '../../commands/billing/billing.ts';
import { openPaymentIssues } from '../../commands/billing/payment-issue.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import { managersOf } from '../../processes/managers.ts';
import type { ManagingOptions } from '../../processes/options.ts';
import { sandboxPayments } from '../../processes/sandbox-payments.ts';
import { paymentIssues } from '../../readmodels/billing/payment-issues.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { passesOf } from '../support/manager-pass.ts';
import { commandContext, openTestStores, project } from '../support/stores.ts';

const at = '2028-01-31T09:00:00.000Z';
const bought = (payment_id: string): PaymentNotice => ({
  ...{ type: 'purchase_paid', at, user_id: 'alice', customer_id: null, payment_id, package_id: 'pack_5000' },
  ...{ credits: 5000, amount_cents: 900, currency: 'usd' },
});

test('each payment of the sandbox raises one issue, and those of the provider none', async (t) => {
  const { log, documents } = await openTestStores(t);
  const take = async (provider: 'sandbox' | 'stripe', id: string) =>
    openBilling(log, openCredits(log), provider).take(bought(id), commandContext(Date.parse(at)));
  await take('sandbox', 'sandbox_1');
  await take('stripe', 'pi_1');
  await take('sandbox', 'sandbox_2');
  const readmodels = openReadModels(documents);
  const manager = sandboxPayments({ issues: openPaymentIssues(log), context: () => commandContext() });
  const open = async () => {
    await project({ log, documents });
    const issues = await readmodels.collection(paymentIssues).find({ status: 'open' });
    return issues.map(({ reason, subject, user_id, amount_cents }) => [reason, subject, user_id, amount_cents]);
  };
  t.deepEqual(await open(), []);
  await passesOf(manager, readmodels).pass();
  const raised = ['sandbox_1', 'sandbox_2'].map((id) => ['sandbox_data', id, 'alice', 900]);
  t.deepEqual((await open()).toSorted(), raised);
  t.is(await passesOf(manager, readmodels).pass(), null, 'a second pass finds none');
  t.deepEqual((await open()).toSorted(), raised);
});

test('nobody looks for them where the sandbox sells', async (t) => {
  const { log, documents } = await openTestStores(t);
  const readmodels = openReadModels(documents);
  const rest = { log, readmodels, credits: openCredits(log), trial_credits: 0, results_days: null } as ManagingOptions;
  const names = (payments: ManagingOptions['payments']) => managersOf({ ...rest, payments }).map(({ name }) => name);
  t.false(names(null).includes('sandbox payments'));
  t.true(names({ endSubscription: async () => {} }).includes('sandbox payments'));
});
