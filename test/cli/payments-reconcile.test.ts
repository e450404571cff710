// After a restore the log lacks the newest payments: the provider's events bring them, once, and what the log alone has is named.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { openBilling } from '../../commands/billing/billing.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import { creditsStream } from '../../events/streams.ts';
import { openFakeStripe, stripeEvent } from '../support/fake-stripe.ts';
import { assertLedger } from '../support/ledger.ts';
import { opsHere } from '../support/run-ops.ts';
import { commandContext, openFolderLog } from '../support/stores.ts';

test('what the provider alone has is taken once, and what the log alone has is named', async (t) => {
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'reconcile-'));
  const fake = await openFakeStripe();
  t.teardown(async () => {
    await fake.close();
    await rm(DATA_DIR, { recursive: true, force: true });
  });
  const now_s = Math.floor(Date.now() / 1000);
  const at = new Date(now_s * 1000).toISOString();
  const before = await openFolderLog(DATA_DIR);
  const paid = {
    user_id: 'alice',
    customer_id: null,
    currency: 'usd',
    package_id: 'p',
    credits: 5000,
    amount_cents: 500,
  };
  const buy = (payment_id: string) =>
    openBilling(before, openCredits(before), 'stripe').take(
      { type: 'purchase_paid', at, payment_id, ...paid },
      commandContext(),
    );
  await buy('pi_known');
  await buy('pi_forged');
  await before.close();
  const session = (payment_intent: string) => ({
    ...{ id: `cs_${payment_intent}`, mode: 'payment', payment_status: 'paid', payment_intent, customer: 'cus_1' },
    ...{ amount_total: 500, currency: 'usd' },
    metadata: { user_id: 'alice', package_id: 'p', credits: '5000' },
  });
  const refund = { id: 're_1', payment_intent: 'pi_lost', amount: 250, currency: 'usd', status: 'succeeded' };
  // The newest first, as the provider lists them.
  fake.events.push(
    stripeEvent('refund.created', refund, now_s).event,
    stripeEvent('checkout.session.completed', session('pi_lost'), now_s).event,
    stripeEvent('checkout.session.completed', session('pi_known'), now_s).event,
    stripeEvent('checkout.session.completed', session('pi_old'), now_s - 9 * 86_400).event,
  );
  const env = {
    DATA_DIR,
    PAYMENT_SECRET_KEY: 'sk_test_1',
    PAYMENT_API_URL: fake.url,
    PAYMENT_WEBHOOK_SECRET: 'whsec_of_a_test',
  };
  const since = new Date((now_s - 3600) * 1000).toISOString().replace(/\.\d+/, '');
  const run = async () => await opsHere(['payments', 'reconcile', '--since', since, '--json'], env);
  const first = await run();
  t.is(first.code, 1, first.stderr);
  const { events, taken, in_log_alone } = JSON.parse(first.stdout);
  t.is(events, 3);
  t.deepEqual(
    taken.map(({ notices }: { notices: string[] }) => notices),
    [['reversed pi_lost'], ['purchase_paid pi_lost']],
  );
  t.deepEqual(
    in_log_alone.map(({ payment_id }: { payment_id: string }) => payment_id),
    ['pi_forged'],
  );
  const second = JSON.parse((await run()).stdout);
  t.deepEqual(second, { events: 3, taken: [], not_taken: [], in_log_alone });
  const log = await openFolderLog(DATA_DIR);
  t.teardown(() => log.close());
  t.is((await openCredits(log).aggregate.read(creditsStream('alice'))).state.balance, 5000 + 5000 + 2500);
  await assertLedger(t, log);
  t.is((await opsHere(['payments', 'reconcile', '--since', since], { DATA_DIR })).code, 2, 'without a provider');
});

test('an event that cannot be read, or be recorded, is named, and the others are taken', async (t) => {
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'reconcile-'));
  const fake = await openFakeStripe();
  t.teardown(async () => {
    await fake.close();
    await rm(DATA_DIR, { recursive: true, force: true });
  });
  const log = await openFolderLog(DATA_DIR);
  const bought = { package_id: 'p', credits: 1, amount_cents: 1, currency: 'usd', user_id: 'bob', customer_id: null };
  const before = { type: 'purchase_paid', at: '2026-01-31T09:00:00.000Z', payment_id: 'pi_before', ...bought } as const;
  const billing = openBilling(log, openCredits(log), 'stripe');
  await billing.take(before, commandContext());
  // Its event is one of those that cannot be read.
  await billing.take({ ...before, at: new Date().toISOString(), payment_id: 'in_1' }, commandContext());
  await log.close();
  const now_s = Math.floor(Date.now() / 1000);
  const session = (payment_intent: string, amount_total: number) => ({
    ...{ id: `cs_${payment_intent}`, mode: 'payment', payment_status: 'paid', payment_intent, customer: 'cus_1' },
    ...{ amount_total, currency: 'usd', metadata: { user_id: 'alice', package_id: 'p', credits: '5000' } },
  });
  // Stripe lists events in the version of the account, which may be older than that of the webhook endpoint.
  const old = stripeEvent('invoice.paid', { id: 'in_1', total: 900, lines: { has_more: false, data: [] } }, now_s);
  const odd = stripeEvent('checkout.session.completed', session('pi_odd', 1.5), now_s);
  fake.events.push(old.event, odd.event, stripeEvent('checkout.session.completed', session('pi_1', 500), now_s).event);
  const env = {
    ...{ DATA_DIR, PAYMENT_SECRET_KEY: 'sk_test_1', PAYMENT_API_URL: fake.url },
    PAYMENT_WEBHOOK_SECRET: 'whsec_of_a_test',
  };
  const since = new Date((now_s - 3600) * 1000).toISOString().replace(/\.\d+/, '');
  const { code, stdout, stderr } = await opsHere(['payments', 'reconcile', '--since', since, '--json'], env);
  t.is(code, 2, stderr);
  const { events, taken, not_taken } = JSON.parse(stdout);
  t.is(events, 3);
  t.deepEqual(
    taken.map(({ notices }: { notices: string[] }) => notices),
    [['purchase_paid pi_1']],
  );
  t.deepEqual(
    not_taken.map(({ event_id }: { event_id: string }) => event_id),
    [old.id, odd.id],
  );
  t.regex(not_taken[0].why, /invoice\.parent/);
  const shown = await opsHere(['payments', 'reconcile', '--since', since], env);
  t.regex(shown.stdout, new RegExp(`not taken: ${old.id}: .*version`));
  t.regex(shown.stdout, /in the log alone, or in an event that was not taken: in_1/);
});
