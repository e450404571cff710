// `ledger journal`: the ledger as a journal in double entry, for hledger, beancount or a table. Credits are a commodity beside money.
import { ClosedPeriods } from '../../audit/periods.ts';
import { entryOf } from '../../audit/source.ts';
import { openSpill } from '../../audit/spill.ts';
import { evolve, initial, type Payment, stands } from '../../commands/billing/payment.ts';
import type { RecordedEvent } from '../../events/event-store.ts';
import { inUnits } from '../../events/money.ts';
import type { PaymentEvent, PaymentReceived } from '../../events/payment.ts';
import { categoryOf, idOf } from '../../events/streams.ts';
import { closing } from '../closing.ts';
import { type Command, EXIT } from './command.ts';
import { oneOf } from './events-options.ts';
import { csvLine } from './events-text.ts';
import { AS_OF, asOf, FILE, openSource } from './ledger-options.ts';
import { openOutput } from './output-file.ts';

const FORMATS = ['hledger', 'beancount', 'csv'] as const;
type Format = (typeof FORMATS)[number];

/** Two postings with one amount: it leaves `from`, and comes to `to`. */
interface Transaction {
  date: string;
  id: string;
  what: string;
  from: string;
  to: string;
  amount: string;
  commodity: string;
  /** Of an entry of the ledger: the user's account, and its balance afterwards. */
  balance: { account: string; amount: string } | null;
}

/** What went back of a payment: as the payment has it, and in the journal so far, in the smallest unit, by reversal. */
interface Moved {
  payment: Payment;
  cents: Map<string, number>;
}

const CREDIT = 'CREDIT';
const DAY_CHARS = 'yyyy-mm-dd'.length;

export const ledgerJournal: Command = {
  summary: 'print the ledger and its payments in double entry: a transaction for each entry, payment and reversal',
  options: {
    format: { type: 'string', value: 'FORMAT', means: `${FORMATS.join(', ')} (hledger)` },
    out: { type: 'string', value: 'FILE', means: 'the file; without it, standard output' },
    'as-of': AS_OF,
    file: FILE,
  },
  async run(run) {
    const [format, as_of] = [oneOf(run, 'format', FORMATS), asOf(run)];
    await using source = closing(await openSource(run));
    await using output = await openOutput(run, run.values.out as string | undefined);
    const writer = WRITERS[format]();
    await output.write(writer.header);
    const moved = new Map<string, Moved>();
    await using spill = closing(openSpill());
    const periods = new ClosedPeriods(await Array.fromAsync(source.periods(null)), spill);
    for await (const event of source.events(['credits', 'payment'], as_of)) {
      const late = periods.take(event);
      const closed_until = late?.effect === 'dated' ? late.until : null;
      const transaction = categoryOf(event.stream) === 'credits' ? ofEntry(event) : ofMoney(event, moved);
      if (transaction !== null) await output.write(writer.textOf({ ...transaction, closed_until }));
    }
    await output.finish();
    return EXIT.clean;
  },
};

/** Every tool takes these: no blank, colon or sign in a name. */
const nameOf = (id: string) => id.replace(/[^A-Za-z0-9-]/g, (each) => `-x${each.codePointAt(0)!.toString(16)}-`);
const userAccount = (user_id: string) => `Liabilities:Credits:U-${nameOf(user_id)}`;

function ofEntry(event: RecordedEvent): Transaction {
  const { transaction_type, transaction_id, amount, balance_after } = entryOf(event);
  const account = userAccount(idOf(event.stream));
  const other = OTHER_SIDES[transaction_type];
  // What the service owes is negative, as liabilities are.
  const [from, to] = amount >= 0 ? [account, other] : [other, account];
  return {
    ...{ date: dateOf(event.metadata.at), id: transaction_id, what: transaction_type, from, to },
    ...{ amount: String(Math.abs(amount)), commodity: CREDIT, balance: { account, amount: String(-balance_after) } },
  };
}

const OTHER_SIDES: Readonly<Record<ReturnType<typeof entryOf>['transaction_type'], string>> = {
  signup_bonus: 'Equity:Credits:Bonus',
  purchase: 'Equity:Credits:Sold',
  subscription: 'Equity:Credits:Sold',
  trial: 'Equity:Credits:Bonus',
  reservation: 'Equity:Credits:Jobs',
  refund: 'Equity:Credits:Jobs',
  release: 'Equity:Credits:Jobs',
  adjustment: 'Equity:Credits:Adjusted',
  expiry: 'Equity:Credits:Expired',
  reversal: 'Equity:Credits:Reversed',
  restoration: 'Equity:Credits:Reversed',
  recovery: 'Equity:Credits:Reversed',
};

/** A payment, or the difference that other news of it make to what went back; null where they make none. */
function ofMoney(event: RecordedEvent, moved: Map<string, Moved>): Transaction | null {
  const payment_id = idOf(event.stream);
  const date = dateOf(event.metadata.at);
  const [sales, bank] = ['Income:Sales', 'Assets:Payments'];
  if (event.type === 'PaymentReceived') {
    const { amount_cents, paid_cents = amount_cents, currency } = event.data as PaymentReceived;
    const made = { date, id: payment_id, what: 'payment', from: sales, to: bank };
    return { ...made, ...money(paid_cents, currency), balance: null };
  }
  if (event.type !== 'PaymentReversed' && event.type !== 'PaymentReversalLifted') return null;
  const { payment: before, cents } = moved.get(payment_id) ?? { payment: initial(), cents: new Map() };
  const payment = evolve(before, event as unknown as PaymentEvent);
  moved.set(payment_id, { payment, cents });
  const { reversal_id } = event.data as { reversal_id: string };
  const reversal = payment.reversals.get(reversal_id);
  // Its end may be told before it.
  if (reversal === undefined) return null;
  const back = stands(reversal, payment) ? reversal.amount_cents : 0;
  const more = back - (cents.get(reversal_id) ?? 0);
  if (more === 0) return null;
  cents.set(reversal_id, back);
  const way =
    more > 0
      ? { what: reversal.kind, from: bank, to: sales }
      : { what: `${reversal.kind} lifted`, from: sales, to: bank };
  const id = `${payment_id}/${reversal_id}`;
  return { date, id, ...way, ...money(Math.abs(more), reversal.currency), balance: null };
}

const money = (smallest: number, currency: string): Pick<Transaction, 'amount' | 'commodity'> => ({
  amount: inUnits(smallest, currency),
  commodity: currency.toUpperCase(),
});

const dateOf = (at: string) => new Date(at).toISOString().slice(0, DAY_CHARS);

interface Writer {
  header: string;
  /** `closed_until`: the last day of the period that the transaction is dated in, where it came after the closing. */
  textOf(transaction: Transaction & { closed_until: string | null }): string;
}

const quoted = (text: string) => text.replace(/["\\\n;|]/g, ' ');

const WRITERS: Readonly<Record<Format, () => Writer>> = {
  hledger: () => ({
    header: `commodity 1000. ${CREDIT}\n\n`,
    textOf({ date, id, what, from, to, amount, commodity, balance, closed_until }) {
      const late = closed_until === null ? '' : `  ; closed-until: ${closed_until}`;
      const posting = (account: string, text: string) => {
        const assertion = balance?.account === account ? ` = ${balance.amount} ${commodity}` : '';
        return `    ${account}  ${text} ${commodity}${assertion}\n`;
      };
      return `${date} * ${what} | ${quoted(id)}${late}\n${posting(to, amount)}${posting(from, `-${amount}`)}\n`;
    },
  }),
  beancount() {
    const opened = new Set<string>();
    return {
      header: 'option "title" "Credits and payments"\n\n',
      textOf({ date, id, what, from, to, amount, commodity, closed_until }) {
        const late = closed_until === null ? '' : `  closed-until: ${closed_until}\n`;
        const opens = [from, to].filter((account) => !opened.has(account) && opened.add(account));
        const lines = opens.map((account) => `1970-01-01 open ${account}\n`);
        return `${lines.join('')}${date} * "${what}" "${quoted(id)}"\n${late}  ${to}  ${amount} ${commodity}\n  ${from}  -${amount} ${commodity}\n\n`;
      },
    };
  },
  csv: () => ({
    header: csvLine(['date', 'id', 'what', 'account', 'amount', 'commodity', 'closed_until']),
    textOf: ({ date, id, what, from, to, amount, commodity, closed_until }) =>
      csvLine([date, id, what, to, Number(amount), commodity, closed_until]) +
      csvLine([date, id, what, from, -Number(amount), commodity, closed_until]),
  }),
};
