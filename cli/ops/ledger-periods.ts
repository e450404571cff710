// `ledger close` and `ledger periods`: until which day the books are closed, and what came later and touches a closed period.
import { type CheckedPeriod, ClosedPeriods, isAsClosed, type LateEvent, openPeriod } from '../../audit/periods.ts';
import { type LedgerSource, sourceOfLog } from '../../audit/source.ts';
import { openSpill } from '../../audit/spill.ts';
import { closePeriod } from '../../commands/ledger/periods.ts';
import { MAX_CLOSING_REASON_CHARS, type PeriodClosed } from '../../events/service.ts';
import { readConfig } from '../../settings/config.ts';
import { closing } from '../closing.ts';
import { openUsedStores, operatorContext } from '../used-log.ts';
import { type Command, count, EXIT, printable, type Run, UsageError } from './command.ts';
import { FILE, openSource, pointOf } from './ledger-options.ts';

/** Later events that are shown; all are counted. */
const SHOWN = 1_000;
const DAY = /^\d{4}-\d\d-\d\d$/;

export const ledgerClose: Command = {
  summary:
    'close the books until a day: nothing is refused, and `ledger periods` lists what touches the period later (this appends an event)',
  options: {
    until: { type: 'string', value: 'DAY', means: 'the last day of the period (UTC), such as 2026-01-31' },
    reason: { type: 'string', value: 'TEXT', means: 'a note beside it, which the audit trail shows' },
  },
  async run(run) {
    const { until, reason = '' } = run.values as { until?: string; reason?: string };
    if (until === undefined || !DAY.test(until)) throw new UsageError('ledger close: it needs --until DAY');
    pointOf(run, 'until');
    if (reason.length > MAX_CLOSING_REASON_CHARS)
      throw new UsageError(`--reason TEXT: it must have at most ${MAX_CLOSING_REASON_CHARS} characters`);
    await using stores = await openUsedStores(readConfig(run.env));
    const closed = { ...(await countedUntil(sourceOfLog(stores.log), until)), reason };
    const handled = await closePeriod(stores.log, closed, operatorContext('ledger'));
    if (!handled.ok) throw new UsageError(`ledger close: ${handled.refused.message}`);
    const { entries, credits } = closed;
    if (run.json) run.out.write(`${JSON.stringify({ ...closed, is_new: handled.appended > 0 })}\n`);
    else if (handled.appended === 0) run.out.write(`the books are closed until ${until} already\n`);
    else
      run.out.write(
        `the books are closed until ${until}: ${count(entries, 'entry', 'entries')}, ${count(credits, 'credit')} in all accounts\n`,
      );
    return EXIT.clean;
  },
};

async function countedUntil(source: LedgerSource, until: string): Promise<PeriodClosed> {
  await using spill = closing(openSpill());
  const periods = new ClosedPeriods([openPeriod(until)], spill);
  for await (const event of source.events(['credits', 'payment'], null)) periods.take(event);
  const { closed, entries, credits } = periods.checked[0]!;
  return { ...closed, ...periods.taken, entries, credits };
}

export const ledgerPeriods: Command = {
  summary: 'list the closed periods, and the entries and payments that came after a closing and touch its period',
  options: { file: FILE },
  async run(run) {
    await using source = closing(await openSource(run));
    await using spill = closing(openSpill());
    const periods = new ClosedPeriods(await Array.fromAsync(source.periods(null)), spill);
    const late: LateEvent[] = [];
    for await (const event of source.events(['credits', 'payment'], null)) {
      const found = periods.take(event);
      if (found && late.length < SHOWN) late.push(found);
    }
    write(run, periods.checked, late);
    return periods.checked.every(isAsClosed) ? EXIT.clean : EXIT.violation;
  },
};

function write(run: Run, checked: readonly CheckedPeriod[], late: readonly LateEvent[]): void {
  if (run.json) {
    const periods = checked.map((period) => {
      const { closed, entries, credits, dated, refers } = period;
      return { ...closed, later: { dated, refers }, is_as_closed: isAsClosed(period), now: { entries, credits } };
    });
    run.out.write(`${JSON.stringify({ periods, later: late }, null, 2)}\n`);
    return;
  }
  const lines = checked.flatMap((period) => textOf(period, late));
  run.out.write(lines.length === 0 ? 'no period is closed\n' : lines.map(printable).join(''));
}

function textOf(period: CheckedPeriod, late: readonly LateEvent[]): string[] {
  const { closed, entries, credits, dated, refers } = period;
  const { until, reason } = closed;
  const shown = late.filter((each) => each.until === until);
  const more = dated + refers - shown.length;
  return [
    `until ${until}: ${count(closed.entries, 'entry', 'entries')}, ${count(closed.credits, 'credit')}${reason === '' ? '' : ` (${reason})`}`,
    ...(isAsClosed(period)
      ? []
      : [`  violation: of these, the log has ${count(entries, 'entry', 'entries')}, ${count(credits, 'credit')}`]),
    ...shown.map(({ effect, at, date, type, stream, amount, reference_id, actor }) => {
      const what = amount === null ? `${type} of ${stream}` : `${type} ${amount} in ${stream} (${reference_id})`;
      const why = effect === 'dated' ? `is dated ${date}` : 'gives back what the period has';
      return `  ${at}  ${what} ${why}, by ${actor}`;
    }),
    ...(more > 0 ? [`  … and ${count(more, 'more', 'more')}`] : []),
    `  later: ${count(dated, 'event')} that ${dated === 1 ? 'changes' : 'change'} its figures, ${count(refers, 'event')} that ${refers === 1 ? 'refers' : 'refer'} to it`,
  ];
}
