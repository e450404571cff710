// `ledger trace`: from a row of a job to the entries and the credits that paid for it, and what was found of its URL; or from an entry to its rows.
import { unfold } from '../../events/checked-range.ts';
import type { URLChecked } from '../../events/checks.ts';
import type { CreditsEvent, LotPart } from '../../events/credits.ts';
import type { EventStore, RecordedEvent } from '../../events/event-store.ts';
import type { JobCreated, UrlsListed } from '../../events/job.ts';
import { unfoldRows } from '../../events/listed-rows.ts';
import { checksStream, creditsStream, jobStream, urlsStream } from '../../events/streams.ts';
import { closing } from '../closing.ts';
import { type Command, count, EXIT, printable, UsageError } from './command.ts';
import { numberOf } from './events-options.ts';
import { openDecodedLog } from './open-log.ts';
import { ROW_FORMATS, traceEntry } from './trace-entry.ts';

interface Place {
  position: string;
  stream: string;
  revision: number;
}

interface Trace {
  job_id: string;
  user_id: string;
  row: number;
  index: number;
  url: string;
  /** Null of a URL that was not checked: it cost nothing. */
  checked: (Place & { verdict: string; status_code: number | null }) | null;
  /** The reservations and refunds of the job. */
  entries: (Place & { transaction_id: string; credits: number; hash: string })[];
  /** The credits that the job kept, by the grant that brought them in. */
  lots: {
    lot_id: string;
    credits: number;
    granted: (Place & { transaction_type: string; reference_id: string }) | null;
  }[];
}

export const ledgerTrace: Command = {
  summary:
    'go from a row of a job to what was found of its URL, and to the entries and grants that paid for it; or from an entry to the rows that it paid for',
  options: {
    job: { type: 'string', value: 'ID', means: 'the job' },
    row: { type: 'string', value: 'N', means: 'the row of the file, or the place in the list, from 1' },
    entry: { type: 'string', value: 'ID', means: 'a transaction of the ledger, or the position of its entry' },
    user: { type: 'string', value: 'ID', means: 'whose transaction it is, where several have one of this name' },
    format: { type: 'string', value: 'FORMAT', means: `of the rows of an entry: ${ROW_FORMATS.join(', ')} (text)` },
    out: { type: 'string', value: 'FILE', means: 'the file of the rows of an entry; without it, standard output' },
  },
  async run(run) {
    const { job, entry } = run.values;
    if (typeof entry === 'string') {
      if (job !== undefined || run.values.row !== undefined)
        throw new UsageError('ledger trace: --entry stands for itself: leave out --job and --row');
      await using log = closing(await openDecodedLog(run));
      return await traceEntry(run, log, entry);
    }
    const row = numberOf(run, 'row');
    if (typeof job !== 'string' || row === null)
      throw new UsageError('ledger trace: it needs --job ID and --row N, or --entry ID');
    await using log = closing(await openDecodedLog(run));
    const trace = await traceOf(log, job, row);
    run.out.write(run.json ? `${JSON.stringify(trace)}\n` : textOf(trace));
    return EXIT.clean;
  },
};

async function traceOf(log: EventStore, job_id: string, row: number): Promise<Trace> {
  const created = await firstOf<JobCreated>(log, jobStream(job_id), 'JobCreated');
  if (created === null) throw new UsageError(`there is no job ${job_id}`);
  const { owner_id: user_id, batch_size } = created.data;
  const { index, url } = await listedAt(log, job_id, row);
  const batch = Math.floor(index / batch_size);
  const checked = await checkedAt(log, { job_id, batch, index });
  return { job_id, user_id, row, index, url, checked, ...(await paidBy(log, user_id, job_id)) };
}

async function firstOf<Data>(log: EventStore, stream: string, type: string) {
  for await (const event of log.readStream(stream))
    if (event.type === type) return event as RecordedEvent<string, Data>;
  return null;
}

async function listedAt(log: EventStore, job_id: string, row: number): Promise<{ index: number; url: string }> {
  for await (const { data } of log.readStream(urlsStream(job_id))) {
    const { from_index, urls, rows } = data as UrlsListed;
    const at = rows ? unfoldRows(rows, 0, urls.length).indexOf(row) : row - 1 - from_index;
    if (at >= 0 && at < urls.length) return { index: from_index + at, url: urls[at]! };
  }
  throw new UsageError(`no URL of job ${job_id} came from row ${row}, or its listing was deleted`);
}

async function checkedAt(log: EventStore, { job_id, batch, index }: { job_id: string; batch: number; index: number }) {
  for await (const event of log.readStream(checksStream(job_id, batch))) {
    const found = unfold(event.data as URLChecked, []).find((each) => each.index === index);
    if (found) return { ...placeOf(event), verdict: found.verdict, status_code: found.status_code };
  }
  return null;
}

const placeOf = ({ position, stream, revision }: RecordedEvent): Place => ({ position, stream, revision });

async function paidBy(log: EventStore, user_id: string, job_id: string): Promise<Pick<Trace, 'entries' | 'lots'>> {
  const entries: Trace['entries'] = [];
  const kept = new Map<string, number>();
  const granted = new Map<string, Trace['lots'][number]['granted']>();
  const add = (parts: readonly LotPart[], sign: 1 | -1) => {
    for (const { lot_id, amount } of parts) kept.set(lot_id, (kept.get(lot_id) ?? 0) + sign * amount);
  };
  for await (const event of log.readStream(creditsStream(user_id))) {
    const { type, data } = event as RecordedEvent & CreditsEvent;
    const { transaction_id, transaction_type, reference_id, amount, hash } = data;
    if (amount > 0) granted.set(transaction_id, { ...placeOf(event), transaction_type, reference_id });
    if (reference_id !== job_id) continue;
    if (type === 'CreditsReserved') add(data.parts, 1);
    else if (type === 'CreditsRefunded') add(data.parts, -1);
    else continue;
    entries.push({ ...placeOf(event), transaction_id, credits: amount, hash });
  }
  const lots = [...kept].filter(([, credits]) => credits > 0);
  return {
    entries,
    lots: lots.map(([lot_id, credits]) => ({ lot_id, credits, granted: granted.get(lot_id) ?? null })),
  };
}

function textOf({ job_id, user_id, row, url, checked, entries, lots }: Trace): string {
  const at = ({ position, stream, revision }: Place) => `${stream} ${revision} at position ${position}`;
  const lines = [
    `row ${row} of job ${job_id} of ${user_id}: ${url}`,
    checked === null
      ? 'not checked, and so not paid for'
      : `checked: ${checked.verdict}${checked.status_code === null ? '' : ` (${checked.status_code})`}, ${at(checked)}`,
    ...entries.map(
      (entry) => `${entry.transaction_id}: ${count(entry.credits, 'credit')}, ${at(entry)}, hash ${entry.hash}`,
    ),
    ...lots.map(
      ({ lot_id, credits, granted }) =>
        `${count(credits, 'credit')} of the job are of ${lot_id}${granted === null ? '' : ` (${granted.transaction_type} ${granted.reference_id}), ${at(granted)}`}`,
    ),
  ];
  return lines.map(printable).join('');
}
