// `npm run ops -- ledger journal`: double entry, which hledger and beancount themselves check where they are installed (HLEDGER, BEAN_CHECK).
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openBilling } from '../../commands/billing/billing.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import { openFiller } from '../support/audited-ledger.ts';
import { filledFolder } from '../support/filled-log.ts';
import { opsHere } from '../support/run-ops.ts';
import { commandContext, openFolderLog } from '../support/stores.ts';

const HLEDGER = process.env.HLEDGER ?? 'hledger';
const BEAN_CHECK = process.env.BEAN_CHECK ?? 'bean-check';

function runs(program: string): boolean {
  try {
    execFileSync(program, ['--help'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** With a payment that comes after the closing of its period. */
async function closedFolder(t: ExecutionContext): Promise<string> {
  const DATA_DIR = await filledFolder(t);
  t.is((await opsHere(['ledger', 'close', '--until', '2026-01-31'], { DATA_DIR })).code, 0);
  const log = await openFolderLog(DATA_DIR);
  await openFiller(log).buy('carol', 'pi-late', 5);
  await log.close();
  return DATA_DIR;
}

test('each transaction adds up to nothing, and accounts to the balances of the ledger', async (t) => {
  const DATA_DIR = await filledFolder(t);
  const { code, stdout, stderr } = await opsHere(['ledger', 'journal', '--format', 'csv'], { DATA_DIR });
  t.is(code, 0, stderr);
  const rows = stdout
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => line.split(','));
  const sums = new Map<string, number>();
  const add = (key: string, amount: number) => sums.set(key, (sums.get(key) ?? 0) + amount);
  for (const [, id, , account, amount, commodity] of rows as string[][]) {
    add(`${id} ${commodity}`, Number(amount));
    add(`${account} ${commodity}`, Number(amount));
  }
  const [one] = rows;
  t.deepEqual(one, ['2026-01-31', 'pi-alice', 'payment', 'Assets:Payments', '10', 'USD', '']);
  t.is(sums.get('Liabilities:Credits:U-alice CREDIT'), -826);
  t.is(sums.get('Assets:Payments USD'), 18);
  const [accounts, transactions] = [
    [...sums].filter(([key]) => /^[A-Z]/.test(key)),
    [...sums].filter(([key]) => !/^[A-Z]/.test(key)),
  ];
  t.true(transactions.length > 15);
  t.deepEqual(
    transactions.filter(([, sum]) => sum !== 0),
    [],
  );
  t.is(
    accounts.reduce((sum, [, each]) => sum + each, 0),
    0,
  );
});

test('an amount is in units of its currency, as the provider counts it', async (t) => {
  const DATA_DIR = await filledFolder(t);
  const log = await openFolderLog(DATA_DIR);
  const billing = openBilling(log, openCredits(log), 'stripe');
  const bought = { at: '2026-01-31T09:00:00.000Z', user_id: 'alice', customer_id: null, package_id: 'p', credits: 5 };
  const units = { jpy: '12300 JPY', isk: '123.00 ISK', huf: '123.00 HUF', kwd: '12.300 KWD' };
  for (const currency of Object.keys(units)) {
    const money = { payment_id: `pi-${currency}`, amount_cents: 12_300, currency };
    await billing.take({ type: 'purchase_paid', ...bought, ...money }, commandContext());
  }
  await log.close();
  const { stdout } = await opsHere(['ledger', 'journal'], { DATA_DIR });
  for (const amount of Object.values(units)) t.true(stdout.includes(`Assets:Payments  ${amount}\n`), amount);
});

(process.env.HLEDGER || runs(HLEDGER) ? test : test.skip)(
  'hledger finds each balance as the entry says it, and a changed one not',
  async (t) => {
    const DATA_DIR = await closedFolder(t);
    const { stdout } = await opsHere(['ledger', 'journal'], { DATA_DIR });
    t.regex(stdout, / {2}; closed-until: 2026-01-31\n/);
    const check = (journal: string) => execFileSync(HLEDGER, ['-f', '-', 'check'], { input: journal, stdio: 'pipe' });
    t.notThrows(() => check(stdout));
    t.throws(() => check(stdout.replace('= -975 CREDIT', '= -974 CREDIT')));
  },
);

(process.env.BEAN_CHECK || runs(BEAN_CHECK) ? test : test.skip)('beancount takes the journal', async (t) => {
  const DATA_DIR = await closedFolder(t);
  const file = join(DATA_DIR, 'ledger.beancount');
  t.is((await opsHere(['ledger', 'journal', '--format', 'beancount', '--out', file], { DATA_DIR })).code, 0);
  t.notThrows(() => execFileSync(BEAN_CHECK, [file], { stdio: 'pipe' }));
});
