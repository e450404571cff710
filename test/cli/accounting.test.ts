// What an accountant gets: deferred revenue that adds up in every month, payments and the use of credits by customer.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openDeferredRevenue } from '../../audit/deferred-revenue.ts';
import { openBilling } from '../../commands/billing/billing.ts';
import { type CreditsCommand, openCredits } from '../../commands/ledger/credits.ts';
import { opsHere } from '../support/run-ops.ts';
import { commandContext, openFolderLog } from '../support/stores.ts';

/** A customer, whose facts each have their day. */
async function customer(t: ExecutionContext) {
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'accounting-'));
  t.teardown(() => rm(DATA_DIR, { recursive: true, force: true }));
  const log = await openFolderLog(DATA_DIR);
  t.teardown(() => log.close());
  const credits = openCredits(log);
  const billing = openBilling(log, credits, 'stripe');
  const at = (day: string) => commandContext(Date.parse(`${day}T12:00:00Z`));
  const run = (day: string, command: CreditsCommand, user_id = 'alice') => credits.run(user_id, command, at(day));
  return {
    ...{ DATA_DIR, log, run },
    use: (day: string, job_id: string, up_to: number, user_id?: string) =>
      run(day, { type: 'reserve', reservation_id: `${job_id}:0`, job_id, up_to }, user_id),
    giveBack: (day: string, job_id: string, amount: number) =>
      run(day, { type: 'refund', job_id, reservation_ids: [`${job_id}:0`], amount }),
    buy: (day: string, payment_id: string, more: object = {}) =>
      billing.take(
        {
          ...{ type: 'purchase_paid', at: `${day}T12:00:00.000Z`, payment_id, user_id: 'alice', customer_id: null },
          ...{ package_id: 'credits_5000', credits: 5000, amount_cents: 595, tax_cents: 95, currency: 'eur', ...more },
        },
        at(day),
      ),
    subscribe: (day: string, payment_id: string, end: string) =>
      billing.take(
        {
          ...{ type: 'period_paid', at: `${day}T12:00:00.000Z`, payment_id, user_id: 'alice', customer_id: null },
          ...{ subscription_id: 'sub_1', amount_cents: 900, currency: 'usd' },
          lines: [
            {
              ...{ plan: 'starter', interval: 'month', period_start: `${day}T12:00:00.000Z` },
              ...{ period_end: `${end}T12:00:00.000Z`, is_proration: false, amount_cents: 900 },
            },
          ],
        },
        at(day),
      ),
    goesBack: (day: string, payment_id: string, amount_cents: number) =>
      billing.take(
        {
          ...{ type: 'reversed', at: `${day}T12:00:00.000Z`, payment_id },
          reversal: { reversal_id: `re_${payment_id}`, kind: 'refund', amount_cents, currency: 'eur' },
        },
        at(day),
      ),
    dispute: (day: string, payment_id: string) =>
      billing.take(
        {
          ...{ type: 'reversed', at: `${day}T12:00:00.000Z`, payment_id },
          reversal: { reversal_id: `re_${payment_id}`, kind: 'dispute', amount_cents: 595, currency: 'eur' },
        },
        at(day),
      ),
    lift: (day: string, payment_id: string) =>
      billing.take(
        { type: 'lifted', at: `${day}T12:00:00.000Z`, payment_id, reversal_id: `re_${payment_id}` },
        at(day),
      ),
  };
}

test('money is earned as credits are used or expire, and the rest is deferred', async (t) => {
  const { DATA_DIR, buy, use, giveBack, subscribe, goesBack, run } = await customer(t);
  await buy('2026-01-10', 'pi_1');
  await use('2026-01-11', 'a', 1000);
  await giveBack('2026-03-02', 'a', 500);
  await goesBack('2026-03-20', 'pi_1', 119);
  await subscribe('2026-04-01', 'in_1', '2026-05-01');
  await use('2026-04-02', 'b', 5000);
  await run('2026-05-02', { type: 'expire' });
  const { stdout } = await opsHere(['accounting', 'revenue'], { DATA_DIR });
  t.deepEqual(stdout.trimEnd().split(/\r?\n/), [
    'month,currency,deferred_at_start_cents,billed_cents,refunded_cents,breakage_cents,used_cents,deferred_at_end_cents',
    // 5,000 credits for 5.00 without taxes.
    '2026-01,eur,0,500,0,0,100,400',
    '2026-02,eur,400,0,0,0,0,400',
    // The job gave 500 back; a fifth of the money went back, and so 1,000 credits.
    '2026-03,eur,400,0,100,0,-50,350',
    '2026-04,usd,0,900,0,0,300,600',
    '2026-05,usd,600,0,0,600,0,0',
  ]);
});

test('every month adds up, whatever happened in it, and all of the money is earned, deferred or gone back', async (t) => {
  const { log, buy, use, giveBack, subscribe, goesBack, lift, run } = await customer(t);
  let [seed, months] = [7, 0];
  const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  const jobs: string[] = [];
  for (let n = 0; n < 120; n += 1) {
    const day = new Date(Date.UTC(2026, 0, 1 + 3 * n)).toISOString().slice(0, 10);
    const what = random(8);
    if (what === 0) await buy(day, `pi_${n}`, { amount_cents: 1 + random(999), tax_cents: 0, currency: 'usd' });
    else if (what === 1)
      await subscribe(day, `in_${n}`, new Date(Date.UTC(2026, 0, 31 + 3 * n)).toISOString().slice(0, 10));
    else if (what <= 4 && (await use(day, `j${n}`, 1 + random(4000))).ok) jobs.push(`j${n}`);
    else if (what === 5 && jobs.length > 0) await giveBack(day, jobs.pop()!, 1);
    else if (what === 6) await goesBack(day, `pi_${random(n + 1)}`, random(300));
    else if (what === 7) await lift(day, `pi_${random(n + 1)}`);
    await run(day, { type: 'expire' });
  }
  const revenue = openDeferredRevenue();
  for await (const event of log.readAll({ filter: { categories: ['credits', 'payment'] } })) revenue.take(event);
  let [before, earned, billed, refunded] = [0, 0, 0, 0];
  for (const month of revenue.months().filter(({ currency }) => currency === 'usd')) {
    t.is(month.deferred_at_start_cents, before);
    t.is(
      month.deferred_at_start_cents + month.billed_cents,
      month.refunded_cents + month.breakage_cents + month.used_cents + month.deferred_at_end_cents,
    );
    t.true(month.deferred_at_end_cents >= 0 && month.breakage_cents >= 0);
    before = month.deferred_at_end_cents;
    earned += month.used_cents + month.breakage_cents;
    [billed, refunded, months] = [billed + month.billed_cents, refunded + month.refunded_cents, months + 1];
  }
  t.true(months >= 12 && billed > 0);
  t.is(earned + before + refunded, billed);
});

test('payments and the use of credits are listed by customer, in a period', async (t) => {
  const { DATA_DIR, buy, use, giveBack, goesBack, lift } = await customer(t);
  await buy('2026-01-10', 'pi_1');
  await buy('2026-01-31', 'pi_2', { user_id: '=bob', package_id: 'credits_25000' });
  await buy('2026-02-10', 'pi_3');
  await goesBack('2026-02-11', 'pi_1', 119);
  await goesBack('2026-02-11', 'pi_2', 595);
  await lift('2026-02-12', 'pi_2');
  await use('2026-02-11', 'a', 1000);
  await giveBack('2026-02-12', 'a', 300);
  const payments = await opsHere(['accounting', 'payments', '--from', '2026-01-01', '--to', '2026-01-31'], {
    DATA_DIR,
  });
  const [header, ...rows] = payments.stdout.trimEnd().split(/\r?\n/);
  t.regex(header!, /^payment_id,user_id,provider,paid_at,kind,item,/);
  t.deepEqual(
    rows.map((row) => row.replace(/,2026-01-\d\dT[^,]*/, '')),
    [
      "pi_2,'=bob,stripe,package,credits_25000,,,5000,eur,595,95,595,0,0,0,0",
      'pi_1,alice,stripe,package,credits_5000,,,5000,eur,595,95,595,0,0,119,0',
    ],
  );
  const usage = JSON.parse(
    (await opsHere(['accounting', 'usage', '--from', '2026-02-01', '--json'], { DATA_DIR })).stdout,
  );
  t.like(
    usage.find(({ user_id }: { user_id: string }) => user_id === 'alice'),
    { month: '2026-02', balance_at_start: 5000, bought: 5000, used: -700, taken_back: -1000, balance_at_end: 8300 },
  );
});

test('what is no day of a period is refused, and not taken for a position', async (t) => {
  const { DATA_DIR } = await customer(t);
  for (const from of ['2026', '20260101', 'yesterday']) {
    const { code, stdout, stderr } = await opsHere(['accounting', 'payments', '--from', from], { DATA_DIR });
    t.deepEqual([code, stdout], [2, ''], from);
    t.regex(stderr, /--from/);
  }
});

test('the journal has what the payments have, however often a dispute is told of and in whatever order it ends', async (t) => {
  const { DATA_DIR, buy, dispute, lift } = await customer(t);
  for (const payment_id of ['pi_1', 'pi_2', 'pi_3']) await buy('2026-01-10', payment_id);
  for (const day of ['2026-02-01', '2026-02-02', '2026-02-03']) await dispute(day, 'pi_1');
  await dispute('2026-02-01', 'pi_2');
  await lift('2026-02-05', 'pi_2');
  await lift('2026-02-06', 'pi_2');
  await lift('2026-02-05', 'pi_3');
  await dispute('2026-02-01', 'pi_3');
  const journal = await opsHere(['ledger', 'journal', '--format', 'csv'], { DATA_DIR });
  const moved = journal.stdout.split('\n').flatMap((line) => {
    const [, id, , account, amount] = line.split(',');
    return account === 'Assets:Payments' ? [[id!.split('/')[0]!, Number(amount)] as const] : [];
  });
  t.true(moved.every(([, amount]) => amount !== 0));
  const kept = Object.groupBy(moved, ([id]) => id);
  const sums = Object.entries(kept).map(([id, all]) => [id, all!.reduce((sum, [, amount]) => sum + amount, 0)]);
  t.deepEqual(sums, [
    ['pi_1', 0],
    ['pi_2', 5.95],
    ['pi_3', 5.95],
  ]);
});
