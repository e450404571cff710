// `ledger trial-balance`: what each type of transaction brought in and took out, against the balances of all accounts.
import { entryOf } from '../../audit/source.ts';
import { openSpill } from '../../audit/spill.ts';
import type { TransactionType } from '../../events/credits.ts';
import { idOf } from '../../events/streams.ts';
import { closing } from '../closing.ts';
import { type Command, EXIT } from './command.ts';
import { oneOf } from './events-options.ts';
import { csvLine } from './events-text.ts';
import { AS_OF, asOf, FILE, openSource } from './ledger-options.ts';

interface Row {
  entries: number;
  /** Credits that came in by this type, and credits that went out. */
  credit: number;
  debit: number;
}

const IN_MEMORY = 50_000;
const FORMATS = ['text', 'csv'] as const;

export const ledgerTrialBalance: Command = {
  summary: 'sum up every type of transaction, and compare with the balances of all accounts',
  options: {
    'as-of': AS_OF,
    file: FILE,
    accounts: { type: 'boolean', means: 'list the balance of each account' },
    format: { type: 'string', value: 'FORMAT', means: `${FORMATS.join(', ')} (text)` },
  },
  async run(run) {
    const [as_of, format] = [asOf(run), oneOf(run, 'format', FORMATS)];
    await using source = closing(await openSource(run));
    await using spill = closing(openSpill());
    const balances = spill.map<number>('balances', IN_MEMORY);
    const rows = new Map<TransactionType, Row>();
    let position = '';
    for await (const event of source.events(['credits'], as_of)) {
      const { transaction_type, amount, balance_after } = entryOf(event);
      const row = rows.get(transaction_type) ?? { entries: 0, credit: 0, debit: 0 };
      row.entries += 1;
      if (amount > 0) row.credit += amount;
      else row.debit -= amount;
      rows.set(transaction_type, row);
      balances.set(idOf(event.stream), balance_after);
      position = event.position;
    }
    let accounts = 0;
    let balance = 0;
    for (const [, each] of balances.entries()) {
      accounts += 1;
      balance += each;
    }
    const types = [...rows].sort(([a], [b]) => (a < b ? -1 : 1));
    const credit = types.reduce((sum, [, row]) => sum + row.credit, 0);
    const debit = types.reduce((sum, [, row]) => sum + row.debit, 0) + balance;
    const is_balanced = credit === debit;
    if (run.json) {
      const transactions = Object.fromEntries(types);
      const each = run.values.accounts ? { balances: Object.fromEntries(balances.entries()) } : {};
      const totals = { credit, debit, is_balanced };
      run.out.write(`${JSON.stringify({ position, transactions, accounts, balance, ...totals, ...each }, null, 2)}\n`);
    } else if (format === 'csv') {
      const line = (...cells: (string | number | null)[]) => run.out.write(csvLine(cells));
      line('account', 'entries', 'debit', 'credit');
      for (const [type, row] of types) line(type, row.entries, row.debit, row.credit);
      if (!run.values.accounts) line('balances', null, balance, null);
      else for (const [user_id, each] of balances.entries()) line(`balance of ${user_id}`, null, each, null);
      line('total', null, debit, credit);
    } else {
      const line = (name: string, ...cells: (string | number)[]) =>
        run.out.write(`${name.padEnd(24)}${cells.map((cell) => cell.toLocaleString('en').padStart(16)).join('')}\n`);
      run.out.write(`Trial balance at position ${position || '(the beginning)'}\n`);
      line('', 'entries', 'debit', 'credit');
      for (const [type, row] of types) line(type, row.entries, row.debit, row.credit);
      line(`balances of ${accounts.toLocaleString('en')}`, '', balance, '');
      line('total', '', debit, credit);
      if (run.values.accounts) for (const [user_id, each] of balances.entries()) line(`  ${user_id}`, '', each, '');
      run.out.write(is_balanced ? 'ok: the totals are equal\n' : `violation: the totals differ by ${credit - debit}\n`);
    }
    return is_balanced ? EXIT.clean : EXIT.violation;
  },
};
