// `accounting …`: what an accountant asks for, as CSV, from the log alone: payments, the use of credits by customer and month, and deferred revenue.
import { openDeferredRevenue } from '../../audit/deferred-revenue.ts';
import { type LedgerSource, sourceOfLog } from '../../audit/source.ts';
import { evolve, initial, type Payment, stands } from '../../commands/billing/payment.ts';
import type { CreditsEvent, TransactionType } from '../../events/credits.ts';
import type { PaymentEvent, PaymentReceived, PaymentReversed } from '../../events/payment.ts';
import { idOf } from '../../events/streams.ts';
import { closing } from '../closing.ts';
import { type Command, EXIT, type Exit, type Option, type Run, UsageError } from './command.ts';
import { csvLine } from './events-text.ts';
import { AS_OF, asOf, FILE, openSource, pointOf } from './ledger-options.ts';
import { openWrittenLog } from './open-log.ts';
import { openOutput } from './output-file.ts';

const OUT: Option = { type: 'string', value: 'FILE', means: 'the file; without it, standard output' };

type Row = Readonly<Record<string, string | number | null>>;

/** Writes rows as CSV with a header, or as JSON. */
async function writeRows(run: Run, columns: readonly string[], rows: readonly Row[]): Promise<Exit> {
  await using output = await openOutput(run, run.values.out as string | undefined);
  if (run.json) await output.write(`${JSON.stringify(rows, null, 2)}\n`);
  else {
    await output.write(csvLine(columns));
    for (const row of rows) await output.write(csvLine(columns.map((name) => row[name] ?? '')));
  }
  await output.finish();
  return EXIT.clean;
}

const REVENUE_COLUMNS = [
  ...['month', 'currency', 'deferred_at_start_cents', 'billed_cents', 'refunded_cents', 'breakage_cents'],
  ...['used_cents', 'deferred_at_end_cents'],
];

export const accountingRevenue: Command = {
  summary:
    'print deferred revenue by month: billed, refunded, earned by use, earned by expiry, and still owed in credits',
  options: { 'as-of': AS_OF, file: FILE, out: OUT },
  async run(run) {
    await using source = closing(await openSource(run));
    const revenue = openDeferredRevenue();
    for await (const event of source.events(['credits', 'payment'], asOf(run))) revenue.take(event);
    return writeRows(run, REVENUE_COLUMNS, revenue.months() as unknown as Row[]);
  },
};

const PAYMENT_COLUMNS = [
  ...[
    'payment_id',
    'user_id',
    'provider',
    'paid_at',
    'kind',
    'item',
    'period_start',
    'period_end',
    'credits',
    'currency',
  ],
  ...[
    'amount_cents',
    'tax_cents',
    'paid_cents',
    'credited_cents',
    'outstanding_cents',
    'refunded_cents',
    'disputed_cents',
  ],
];
const PERIOD: Readonly<Record<string, Option>> = {
  from: { type: 'string', value: 'WHEN', means: 'from a time or the start of a day (UTC) on' },
  to: { type: 'string', value: 'WHEN', means: 'up to a time or the end of a day (UTC)' },
};

const periodOf = (run: Run) => ({
  from: timeOf(run, 'from', 'start') ?? Number.NEGATIVE_INFINITY,
  to: timeOf(run, 'to', 'end') ?? Number.POSITIVE_INFINITY,
});

function timeOf(run: Run, option: string, of_day: 'start' | 'end'): number | null {
  const point = pointOf(run, option, of_day);
  if (point && !('time' in point)) throw new UsageError(`--${option}: it must be a time or a day`);
  return point?.time ?? null;
}

export const accountingPayments: Command = {
  summary: 'print the payments of a period by customer, with what went back of each since',
  options: { ...PERIOD, out: OUT },
  async run(run) {
    const { from, to } = periodOf(run);
    await using source = closing(sourceOfLog((await openWrittenLog(run)).log));
    const payments = await paymentsOf(source);
    const rows = [...payments].flatMap(([payment_id, payment]): Row[] => {
      const { received } = payment;
      const at = received && Date.parse(received.paid_at);
      return at !== null && at >= from && at <= to ? [paymentRow(payment_id, received!, payment)] : [];
    });
    return writeRows(run, PAYMENT_COLUMNS, rows.sort(byFields('user_id', 'paid_at', 'payment_id')));
  },
};

async function paymentsOf(source: LedgerSource): Promise<Map<string, Payment>> {
  const payments = new Map<string, Payment>();
  for await (const event of source.events(['payment'], null)) {
    const id = idOf(event.stream);
    payments.set(id, evolve(payments.get(id) ?? initial(), event as unknown as PaymentEvent));
  }
  return payments;
}

function paymentRow(payment_id: string, received: PaymentReceived, payment: Payment): Row {
  const { user_id, provider, paid_at, package_id, period, credits, currency, amount_cents } = received;
  const { tax_cents = 0, paid_cents = amount_cents, credited_cents = 0, outstanding_cents = 0 } = received;
  const back = (kind: PaymentReversed['kind']) =>
    [...payment.reversals.values()]
      .filter((each) => each.kind === kind && each.currency === currency && stands(each, payment))
      .reduce((sum, each) => sum + each.amount_cents, 0);
  return {
    ...{ payment_id, user_id, provider, paid_at, kind: period ? 'plan' : 'package' },
    item: period ? `${period.plan}_${period.interval}` : package_id,
    ...{ period_start: period?.period_start ?? null, period_end: period?.period_end ?? null, credits, currency },
    ...{ amount_cents, tax_cents, paid_cents, credited_cents, outstanding_cents },
    ...{ refunded_cents: back('refund'), disputed_cents: back('dispute') },
  };
}

const USAGE_COLUMNS = [
  ...['user_id', 'month', 'balance_at_start', 'bought', 'plan', 'given', 'used', 'expired', 'taken_back', 'adjusted'],
  'balance_at_end',
];
const COLUMN_OF: Record<TransactionType, 'bought' | 'plan' | 'given' | 'used' | 'expired' | 'taken_back' | 'adjusted'> =
  {
    ...{ purchase: 'bought', subscription: 'plan', signup_bonus: 'given', trial: 'given', adjustment: 'adjusted' },
    ...{ reservation: 'used', refund: 'used', release: 'used', expiry: 'expired' },
    ...{ reversal: 'taken_back', restoration: 'taken_back', recovery: 'taken_back' },
  };

export const accountingUsage: Command = {
  summary:
    'print the credits of each customer by month: bought, of plans, given, used, expired, taken back and adjusted',
  options: { ...PERIOD, file: FILE, out: OUT },
  async run(run) {
    const { from, to } = periodOf(run);
    await using source = closing(await openSource(run));
    const rows = new Map<string, Record<string, string | number>>();
    const balances = new Map<string, number>();
    for await (const { stream, data, metadata } of source.events(['credits'], null)) {
      const { amount, balance_after, transaction_type } = data as CreditsEvent['data'];
      const user_id = idOf(stream);
      const before = balances.get(user_id) ?? 0;
      balances.set(user_id, balance_after);
      const at = Date.parse(metadata.at);
      if (!(at >= from && at <= to)) continue;
      const month = new Date(at).toISOString().slice(0, 7);
      const key = `${user_id} ${month}`;
      const none = Object.fromEntries(Object.values(COLUMN_OF).map((name) => [name, 0]));
      const row = rows.get(key) ?? { user_id, month, balance_at_start: before, ...none };
      const column = COLUMN_OF[transaction_type];
      rows.set(key, { ...row, [column]: Number(row[column]) + amount, balance_at_end: balance_after });
    }
    return writeRows(run, USAGE_COLUMNS, [...rows.values()].sort(byFields('user_id', 'month')));
  },
};

const byFields =
  (...names: string[]) =>
  (a: Row, b: Row): number => {
    const differing = names.find((name) => a[name] !== b[name]);
    return differing === undefined ? 0 : String(a[differing]) < String(b[differing]) ? -1 : 1;
  };
