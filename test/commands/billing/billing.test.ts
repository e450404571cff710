// A notice whose handling is cut off anywhere is sent again, and ends as if it had not been: every call of the log fails once, before and
// after it is done.
import test from 'ava';
import { openBilling, type PaymentNotice } from '../../../commands/billing/billing.ts';
import { openTrials } from '../../../commands/billing/trial.ts';
import { openCredits } from '../../../commands/ledger/credits.ts';
import type { EventStore } from '../../../events/event-store.ts';
import { creditsStream, paymentStream, subscriptionStream } from '../../../events/streams.ts';
import { assertLedger } from '../../support/ledger.ts';
import { commandContext, openTestStores } from '../../support/stores.ts';

const at = '2026-01-31T09:00:00.000Z';
const until = '2026-02-28T09:00:00.000Z';

/** The same log, whose n-th append fails, done or not. */
function failing(log: EventStore, nth: number, is_done: boolean): EventStore {
  let appends = 0;
  return {
    ...log,
    readStream: (...of) => log.readStream(...of),
    append: async (...of) => {
      if (appends++ !== nth) return log.append(...of);
      if (is_done) await log.append(...of);
      throw Object.assign(new Error('the log is away'), { code: 'unavailable' });
    },
  };
}

const noticesOf = (user_id: string): PaymentNotice[] => {
  const of = { user_id, customer_id: null, currency: 'usd', at };
  const period = { plan: 'pro', interval: 'month', period_start: at, period_end: until } as const;
  const subscription_id = `sub-${user_id}`;
  const lines = [{ ...period, is_proration: false, amount_cents: 2900 }];
  const reversed = (reversal_id: string, payment_id: string, amount_cents: number) => ({
    ...({ type: 'reversed', at, payment_id } as const),
    reversal: { reversal_id, kind: 'refund' as const, amount_cents, currency: 'usd' },
  });
  const state = { subscription_id, customer_id: null, status: 'active', cancel_at: null, ...period } as const;
  return [
    reversed('re_early', `pi-${user_id}`, 100),
    { type: 'purchase_paid', ...of, payment_id: `pi-${user_id}`, package_id: 'p', credits: 5000, amount_cents: 500 },
    { type: 'subscription_changed', at, user_id, subscription: state },
    { type: 'period_paid', ...of, payment_id: `in-${user_id}`, subscription_id, lines, amount_cents: 2900 },
    { type: 'period_failed', at, user_id, subscription_id, payment_id: `in2-${user_id}` },
    reversed('re_all', `in-${user_id}`, 2900),
    { type: 'lifted', at, payment_id: `in-${user_id}`, reversal_id: 're_all' },
  ];
};

async function eventsOf(log: EventStore, user_id: string): Promise<string[]> {
  const streams = [
    creditsStream(user_id),
    subscriptionStream(user_id),
    paymentStream(`pi-${user_id}`),
    paymentStream(`in-${user_id}`),
  ];
  const all: string[] = [];
  for (const stream of streams) {
    for await (const { type, data } of log.readStream(stream)) {
      const { transaction_id = '', amount = '' } = data as { transaction_id?: string; amount?: number };
      all.push(`${type} ${transaction_id} ${amount}`.replaceAll(user_id, ''));
    }
  }
  return all;
}

test('a notice that is cut off at any append ends right when it is sent again', async (t) => {
  const { log } = await openTestStores(t);
  const context = () => ({ ...commandContext(), now: Date.parse(at) });
  const right = openBilling(log, openCredits(log), 'stripe');
  for (const notice of noticesOf('right')) await right.take(notice, context());
  const expected = await eventsOf(log, 'right');
  t.true(expected.length >= 10);
  let cuts = 0;
  for (const is_done of [false, true]) {
    for (let nth = 0; ; nth++) {
      const user_id = `user${is_done ? 'd' : 'n'}${nth}x`;
      const cut = failing(log, nth, is_done);
      const billing = openBilling(cut, openCredits(cut), 'stripe');
      let failures = 0;
      for (const notice of noticesOf(user_id)) {
        await billing.take(notice, context()).catch(async () => {
          failures += 1;
          await openBilling(log, openCredits(log), 'stripe').take(notice, context());
        });
      }
      t.deepEqual(await eventsOf(log, user_id), expected, `${nth} ${is_done}`);
      if (failures === 0) break;
      cuts += 1;
    }
  }
  t.true(cuts >= 2 * 8, `${cuts} appends were cut off`);
  await assertLedger(t, log);
});

test('twenty processes that take the same notices at once do it once', async (t) => {
  const { log } = await openTestStores(t);
  const context = () => ({ ...commandContext(), now: Date.parse(at) });
  const paid = noticesOf('alice').filter(({ type }) => type === 'purchase_paid' || type === 'reversed');
  await Promise.all(
    Array.from({ length: 20 }, async (_, n) => {
      const billing = openBilling(log, openCredits(log), 'stripe');
      for (const notice of n % 2 ? paid : paid.toReversed()) await billing.take(notice, context());
    }),
  );
  const credits = openCredits(log);
  const { state } = await credits.aggregate.read(creditsStream('alice'));
  t.is(state.balance, 4000);
  const trials = Array.from({ length: 20 }, () => openTrials(log, openCredits(log), 50_000));
  await Promise.all(trials.map((each) => each.begin('alice', { job_id: 'j', completed_at: at }, context())));
  const events = await eventsOf(log, 'alice');
  t.is(events.filter((event) => event.startsWith('TrialStarted')).length, 1);
  t.is(events.filter((event) => event.startsWith('CreditsGranted trial')).length, 1);
  await assertLedger(t, log);
});
