// What a statement looks like as text, JSON or CSV.
import type { CreditsEvent } from '../../events/credits.ts';
import { count, type Run } from './command.ts';
import { csvLine } from './events-text.ts';
import { type Output, openOutput } from './output-file.ts';

export interface Line {
  position: string;
  at: string;
  data: CreditsEvent['data'];
}

/** Sections follow each other: each is opened, gets its entries and is closed. */
export interface Page extends AsyncDisposable {
  /** `month`: null where the statement is one section. */
  open(balance: number, month: string | null): Promise<void> | void;
  entry(line: Line): Promise<void> | void;
  close(balance: number, entries: number): Promise<void> | void;
  end(wrong: readonly string[]): Promise<void>;
}

interface Wanted {
  format: keyof typeof PAGES;
  user_id: string;
  by_month: boolean;
}

export async function openPage(run: Run, { format, user_id, by_month }: Wanted): Promise<Page> {
  const output = await openOutput(run, run.values.out as string | undefined);
  const opening: Opening = PAGES[format];
  const { end, ...page } = opening(output, user_id, by_month);
  return {
    ...page,
    async end(wrong) {
      await end(wrong);
      await output.finish();
    },
    [Symbol.asyncDispose]: () => output[Symbol.asyncDispose](),
  };
}

type Opening = (output: Output, user_id: string, by_month: boolean) => Omit<Page, typeof Symbol.asyncDispose>;

const PAGES = { text: textPage, json: jsonPage, csv: csvPage } satisfies Readonly<Record<string, Opening>>;

function textPage(output: Output, user_id: string): ReturnType<Opening> {
  const row = (...cells: [string, string, string | number, string | number, string]) => {
    const [at, type, amount, balance, reference] = cells;
    return output.write(
      `${at.padEnd(24)}  ${type.padEnd(12)}  ${String(amount).padStart(10)}  ${String(balance).padStart(10)}  ${reference}\n`,
    );
  };
  let is_first = true;
  return {
    async open(balance, month) {
      if (is_first) {
        await output.write(`Statement of ${user_id}\n`);
        await row('time', 'transaction', 'amount', 'balance', 'reference');
      }
      is_first = false;
      await row(month ?? '', 'before', '', balance, '');
    },
    entry: ({ at, data }) => row(at, data.transaction_type, data.amount, data.balance_after, data.reference_id),
    async close(balance, entries) {
      await row('', 'after', '', balance, '');
      await output.write(`${count(entries, 'entry', 'entries')}\n`);
    },
    async end(wrong) {
      for (const each of wrong) await output.write(`violation at ${each}\n`);
    },
  };
}

function jsonPage(output: Output, user_id: string, by_month: boolean): ReturnType<Opening> {
  let before = `{"user_id":${JSON.stringify(user_id)}${by_month ? ',"months":[' : ''}`;
  let is_first = true;
  return {
    async open(opening_balance, month) {
      const named = by_month ? `\n{"month":${JSON.stringify(month)},` : ',';
      await output.write(`${before}${named}"opening_balance":${opening_balance},"entries":[`);
      is_first = true;
    },
    async entry({ position, at, data }) {
      const { transaction_id, transaction_type, amount, balance_after, reference_id, hash } = data;
      const facts = { transaction_id, transaction_type, amount, balance_after, reference_id, hash };
      await output.write(`${is_first ? '' : ','}\n${JSON.stringify({ position, at, ...facts })}`);
      is_first = false;
    },
    async close(closing_balance) {
      await output.write(`],"closing_balance":${closing_balance}${by_month ? '}' : ''}`);
      before = ',';
    },
    async end(violations) {
      await output.write(`${by_month ? ']' : ''},"violations":${JSON.stringify(violations)}}\n`);
    },
  };
}

function csvPage(output: Output): ReturnType<Opening> {
  let month: string | null = null;
  let has_header = false;
  const balanceRow = (what: string, balance: number) =>
    output.write(csvLine([month, null, what, null, null, null, balance, null]));
  return {
    async open(balance, of) {
      month = of;
      if (!has_header) await output.write(csvLine(CSV_COLUMNS));
      has_header = true;
      await balanceRow('opening balance', balance);
    },
    entry({ position, at, data: { transaction_type, transaction_id, reference_id, amount, balance_after } }) {
      const cells = [month, at, transaction_type, transaction_id, reference_id, amount, balance_after, position];
      return output.write(csvLine(cells));
    },
    close: (balance) => balanceRow('closing balance', balance),
    async end() {},
  };
}

const CSV_COLUMNS = [
  ...['month', 'time', 'transaction', 'transaction_id', 'reference', 'amount', 'balance', 'position'],
] as const;
