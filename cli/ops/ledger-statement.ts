// `ledger statement`: the entries of one user, with the balance before and after them, or before and after each month.
import { openLedgerAudit } from '../../audit/ledger-audit.ts';
import { type AsOf, entryOf, isBeyond, reading } from '../../audit/source.ts';
import { closing } from '../closing.ts';
import { type Command, EXIT, type Run, UsageError } from './command.ts';
import { oneOf } from './events-options.ts';
import { AS_OF, asOf, FILE, openSource, pointOf } from './ledger-options.ts';
import { type Line, openPage, type Page } from './statement-pages.ts';
import { openPdf } from './statement-pdf.ts';

const FORMATS = ['text', 'csv', 'pdf'] as const;

export const ledgerStatement: Command = {
  summary: 'print the entries of one user, whole or by month, and check their hashes and balances',
  options: {
    user: { type: 'string', value: 'ID', means: 'the user' },
    from: { type: 'string', value: 'WHEN', means: 'leave out the entries up to this position or time' },
    'as-of': AS_OF,
    month: { type: 'string', value: 'MONTH', means: 'one month (UTC), such as 2026-01' },
    by: { type: 'string', value: 'month', means: 'each month with its opening and its closing balance' },
    format: { type: 'string', value: 'FORMAT', means: `${FORMATS.join(', ')} (text)` },
    out: { type: 'string', value: 'FILE', means: 'the file; without it, standard output. A PDF needs it' },
    file: FILE,
  },
  async run(run) {
    const { user, month } = run.values;
    if (typeof user !== 'string' || user === '') throw new UsageError('ledger statement: --user is missing');
    const by_month = month !== undefined || run.values.by !== undefined;
    if (run.values.by !== undefined) oneOf(run, 'by', ['month']);
    const { from, as_of } =
      typeof month === 'string' ? ofMonth(run, month) : { from: pointOf(run, 'from'), as_of: asOf(run) };
    const format = run.json ? 'json' : oneOf(run, 'format', FORMATS);
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
    await using page =
      format === 'pdf' ? await openPdf(run, user) : await openPage(run, { format, user_id: user, by_month });
    const sections = new Sections(page, by_month);
    let balance = 0;
    let has_entries = false;
    for await (const event of source.entriesOf(user, as_of)) {
      audit.take(event);
      has_entries = true;
      const data = entryOf(event);
      const { position } = event;
      const at = reading(event, ({ metadata }) => new Date(metadata.at).toISOString());
      // What follows the first entry of the period is in it, wherever a clock was set back.
      const is_before =
        !sections.is_open &&
        from !== null &&
        ('position' in from ? !isBeyond(position, from.position) : Date.parse(at) <= from.time);
      if (!is_before) await sections.entry({ position, at, data }, balance);
      balance = data.balance_after;
    }
    for await (const _ of has_entries ? [] : source.entriesOf(user, null)) {
      has_entries = true;
      break;
    }
    if (!has_entries) throw new UsageError(`there is no account of ${user}`);
    await sections.end(balance, typeof month === 'string' ? month : null);
    await page.end(wrong);
    return wrong.length > 0 ? EXIT.violation : EXIT.clean;
  },
};

const MONTH = /^\d{4}-(?:0[1-9]|1[0-2])$/;
const monthOf = (at: string) => at.slice(0, 'yyyy-mm'.length);

function monthAfter(month: string): string {
  const first = new Date(`${month}-01T00:00:00Z`);
  first.setUTCMonth(first.getUTCMonth() + 1);
  return monthOf(first.toISOString());
}

function ofMonth({ values }: Run, month: string): { from: AsOf; as_of: AsOf } {
  if (values.from !== undefined || values['as-of'] !== undefined)
    throw new UsageError('--month is a period of its own: leave out --from and --as-of');
  if (!MONTH.test(month)) throw new UsageError(`--month ${month}: it must be a month such as 2026-01`);
  const start = (of: string) => Date.parse(`${of}-01T00:00:00Z`);
  return { from: { time: start(month) - 1 }, as_of: { time: start(monthAfter(month)) - 1 } };
}

/** The statement's only section, or one for each month from the first entry to the last, also where nothing happened. */
class Sections {
  readonly #page: Page;
  readonly #by_month: boolean;
  #month: string | null = null;
  #entries = 0;
  is_open = false;

  constructor(page: Page, by_month: boolean) {
    this.#page = page;
    this.#by_month = by_month;
  }

  /** `balance`: before the entry. */
  async entry(line: Line, balance: number): Promise<void> {
    const month = this.#by_month ? monthOf(line.at) : null;
    if (!this.is_open) await this.#open(balance, month);
    // The clock of a machine that was set back makes no month twice.
    while (month !== null && this.#month! < month) {
      const next = monthAfter(this.#month!);
      await this.#page.close(balance, this.#entries);
      await this.#open(balance, next);
    }
    await this.#page.entry(line);
    this.#entries += 1;
  }

  async #open(balance: number, month: string | null): Promise<void> {
    this.is_open = true;
    this.#month = month;
    this.#entries = 0;
    await this.#page.open(balance, month);
  }

  /** `month`: of a section without entries. */
  async end(balance: number, month: string | null): Promise<void> {
    if (!this.is_open) await this.#open(balance, month);
    await this.#page.close(balance, this.#entries);
  }
}
