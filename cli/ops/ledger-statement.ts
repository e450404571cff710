// `ledger statement`: the entries of one user, with the balance before and after them.
import { openLedgerAudit } from '../../audit/ledger-audit.ts';
import { entryOf, isBeyond, reading } from '../../audit/source.ts';
import type { CreditsEvent } from '../../events/credits.ts';
import { closing } from '../closing.ts';
import { type Command, EXIT, type Run, UsageError } from './command.ts';
import { AS_OF, asOf, FILE, openSource, pointOf } from './ledger-options.ts';
import { count } from './text.ts';

export const ledgerStatement: Command = {
  name: 'ledger statement',
  summary: 'print the entries of one user, and check their hashes and balances',
  options: {
    user: { type: 'string', value: 'ID', means: 'the user' },
    from: { type: 'string', value: 'WHEN', means: 'leave out the entries up to this position or time' },
    'as-of': AS_OF,
    file: FILE,
  },
  async run(run) {
    const { user } = run.values;
    if (typeof user !== 'string' || user === '') throw new UsageError('ledger statement: --user is missing');
    const [from, as_of] = [pointOf(run, 'from'), asOf(run)];
    await using source = closing(await openSource(run));
    const wrong: string[] = [];
    await using audit = closing(
      openLedgerAudit({
        // Of one user's entries alone.
        found: ({ rule, position, message }) => {
          if (rule === 'chain' || rule === 'revisions' || rule === 'balance' || rule === 'unreadable') {
            wrong.push(`position ${position}: ${message}`);
          }
        },
      }),
    );
    const page = run.json ? jsonPage(run, user) : textPage(run, user);
    let opening: number | null = null;
    let balance = 0;
    let entries = 0;
    let has_entries = false;
    for await (const event of source.entriesOf(user, as_of)) {
      audit.take(event);
      has_entries = true;
      const data = entryOf(event);
      const { position } = event;
      const at = reading(event, ({ metadata }) => new Date(metadata.at).toISOString());
      // What follows the first entry of the period is in it, wherever a clock was set back.
      const is_before =
        opening === null &&
        from !== null &&
        ('position' in from ? !isBeyond(position, from.position) : Date.parse(at) <= from.time);
      if (!is_before) {
        if (opening === null) page.open((opening = balance));
        page.entry({ position, at, data });
        entries += 1;
      }
      balance = data.balance_after;
    }
    for await (const _ of has_entries ? [] : source.entriesOf(user, null)) {
      has_entries = true;
      break;
    }
    if (!has_entries) throw new UsageError(`there is no account of ${user}`);
    if (opening === null) page.open(balance);
    page.close(balance, entries, wrong);
    return wrong.length > 0 ? EXIT.violation : EXIT.clean;
  },
};

interface Line {
  position: string;
  at: string;
  data: CreditsEvent['data'];
}
interface Page {
  open(balance: number): void;
  entry(line: Line): void;
  close(balance: number, entries: number, wrong: readonly string[]): void;
}

function textPage({ out }: Run, user_id: string): Page {
  const row = (...cells: [string, string, string | number, string | number, string]) => {
    const [at, type, amount, balance, reference] = cells;
    out.write(
      `${at.padEnd(24)}  ${type.padEnd(12)}  ${String(amount).padStart(10)}  ${String(balance).padStart(10)}  ${reference}\n`,
    );
  };
  return {
    open(balance) {
      out.write(`Statement of ${user_id}\n`);
      row('time', 'transaction', 'amount', 'balance', 'reference');
      row('', 'before', '', balance, '');
    },
    entry: ({ at, data }) => row(at, data.transaction_type, data.amount, data.balance_after, data.reference_id),
    close(balance, entries, wrong) {
      row('', 'after', '', balance, '');
      out.write(`${count(entries, 'entry', 'entries')}\n`);
      for (const each of wrong) out.write(`violation at ${each}\n`);
    },
  };
}

function jsonPage({ out }: Run, user_id: string): Page {
  let is_first = true;
  return {
    open: (opening_balance) =>
      void out.write(`{"user_id":${JSON.stringify(user_id)},"opening_balance":${opening_balance},"entries":[`),
    entry({ position, at, data: { transaction_id, transaction_type, amount, balance_after, reference_id, hash } }) {
      const facts = { transaction_id, transaction_type, amount, balance_after, reference_id, hash };
      out.write(`${is_first ? '' : ','}\n${JSON.stringify({ position, at, ...facts })}`);
      is_first = false;
    },
    close: (closing_balance, _, violations) =>
      void out.write(`],"closing_balance":${closing_balance},"violations":${JSON.stringify(violations)}}\n`),
  };
}
