// `ledger trace --entry`: from an entry of the ledger to the rows of the job that it paid for, or to the jobs that kept its credits.
import { unfold } from '../../events/checked-range.ts';
import type { URLChecked } from '../../events/checks.ts';
import type { CreditsEvent, LotPart } from '../../events/credits.ts';
import type { EventStore, RecordedEvent } from '../../events/event-store.ts';
import type { JobCreated, UrlsListed } from '../../events/job.ts';
import { unfoldRows } from '../../events/listed-rows.ts';
import { checksStream, creditsStream, idOf, jobStream, urlsStream } from '../../events/streams.ts';
import { count, EXIT, type Exit, printable, type Run, UsageError } from './command.ts';
import { oneOf } from './events-options.ts';
import { csvLine } from './events-text.ts';
import { type Output, openOutput } from './output-file.ts';

export const ROW_FORMATS = ['text', 'csv'] as const;

type Entry = RecordedEvent & CreditsEvent;

/** A row that was charged. */
interface PaidRow {
  row: number;
  index: number;
  url: string;
  verdict: string;
  status_code: number | null;
  stream: string;
  revision: number;
  position: string;
}

const COLUMNS = ['row', 'index', 'url', 'verdict', 'status_code', 'stream', 'revision', 'position'] as const;

export async function traceEntry(run: Run, log: EventStore, id: string): Promise<Exit> {
  const format = run.json ? 'json' : oneOf(run, 'format', ROW_FORMATS);
  const { user, out } = run.values as { user?: string; out?: string };
  const entry = await entryNamed(log, id, user ?? null);
  await using output = await openOutput(run, out);
  const page = PAGES[format](output);
  const job_id = jobOf(entry);
  if (job_id === null) await page.jobs(entry, await jobsOf(log, entry));
  else {
    await page.job(entry, job_id);
    for await (const row of paidRows(log, job_id)) await page.row(row);
  }
  await page.end();
  await output.finish();
  return EXIT.clean;
}

/** Throws `UsageError` for none, and where several users have one. */
async function entryNamed(log: EventStore, id: string, user_id: string | null): Promise<Entry> {
  const position = /^\d{1,16}$/.test(id) ? id.padStart(16, '0') : id;
  const events =
    user_id === null ? log.readAll({ filter: { categories: ['credits'] } }) : log.readStream(creditsStream(user_id));
  let found: Entry | null = null;
  for await (const event of events) {
    const entry = event as Entry;
    if (entry.position !== position && entry.data.transaction_id !== id) continue;
    if (found !== null)
      throw new UsageError(
        `${idOf(found.stream)} and ${idOf(entry.stream)} both have a transaction ${id}: name one by --user`,
      );
    found = entry;
    if (entry.position === position || user_id !== null) break;
  }
  if (found === null) throw new UsageError(`there is no entry ${id}${user_id === null ? '' : ` of ${user_id}`}`);
  return found;
}

/** The job that the entry reserved credits for or gave them back of; null of an entry that is about no job. */
function jobOf({ type, data }: Entry): string | null {
  if (type === 'CreditsReserved') return data.reference_id;
  return type === 'CreditsRefunded' && data.transaction_type === 'refund' ? data.reference_id : null;
}

/** The jobs that kept credits of a grant, with their numbers. */
async function jobsOf(log: EventStore, { stream, data: { transaction_id: lot } }: Entry): Promise<Map<string, number>> {
  const kept = new Map<string, number>();
  const jobs = new Map<string, string>();
  const add = (job_id: string, parts: readonly LotPart[], sign: 1 | -1) => {
    const credits = parts.filter(({ lot_id }) => lot_id === lot).reduce((sum, { amount }) => sum + amount, 0);
    if (credits > 0) kept.set(job_id, (kept.get(job_id) ?? 0) + sign * credits);
  };
  for await (const event of log.readStream(stream)) {
    const { type, data } = event as Entry;
    if (type === 'CreditsReserved') {
      jobs.set(data.reservation_id, data.reference_id);
      add(data.reference_id, data.parts, 1);
    } else if (type === 'CreditsRefunded') add(jobs.get(data.reference_id) ?? data.reference_id, data.parts, -1);
  }
  return new Map([...kept].filter(([, credits]) => credits > 0));
}

/** The URLs of the job that have a result from before its end: each cost a credit. They come in the order of the list. */
async function* paidRows(log: EventStore, job_id: string): AsyncGenerator<PaidRow> {
  const { batch_size, end } = await jobFacts(log, job_id);
  let batch = 0;
  /** The URLs from `batch` on that were read. */
  let urls: { url: string; row: number }[] = [];
  for await (const { data } of log.readStream(urlsStream(job_id))) {
    const { from_index, urls: more, rows } = data as UrlsListed;
    const row_of = rows ? unfoldRows(rows, 0, more.length) : more.map((_, at) => from_index + at + 1);
    urls.push(...more.map((url, at) => ({ url, row: row_of[at]! })));
    for (; urls.length >= batch_size; urls = urls.slice(batch_size), batch += 1)
      yield* paidOfBatch(log, { job_id, batch, from_index: batch * batch_size, end }, urls);
  }
  if (urls.length > 0) yield* paidOfBatch(log, { job_id, batch, from_index: batch * batch_size, end }, urls);
  else if (batch === 0) throw new UsageError(`the listing of job ${job_id} was deleted, and its rows with it`);
}

async function jobFacts(log: EventStore, job_id: string): Promise<{ batch_size: number; end: string | null }> {
  let batch_size: number | null = null;
  let end: string | null = null;
  for await (const { type, data, position } of log.readStream(jobStream(job_id))) {
    if (type === 'JobCreated') batch_size = (data as JobCreated).batch_size;
    if (type === 'JobCancelled' || type === 'JobFailed') end ??= position;
  }
  if (batch_size === null) throw new UsageError(`job ${job_id} was never created: its reservation was released`);
  return { batch_size, end };
}

async function* paidOfBatch(
  log: EventStore,
  { job_id, batch, from_index, end }: { job_id: string; batch: number; from_index: number; end: string | null },
  urls: readonly { url: string; row: number }[],
): AsyncGenerator<PaidRow> {
  const rows: PaidRow[] = [];
  for await (const { position, stream, revision, data } of log.readStream(checksStream(job_id, batch))) {
    if (end !== null && position > end) break;
    for (const { index, verdict, status_code } of unfold(data as URLChecked, [])) {
      const { url, row } = urls[index - from_index]!;
      rows.push({ row, index, url, verdict, status_code, stream, revision, position });
    }
  }
  yield* rows.sort((a, b) => a.index - b.index);
}

interface Page {
  jobs(entry: Entry, jobs: ReadonlyMap<string, number>): Promise<void> | void;
  job(entry: Entry, job_id: string): Promise<void> | void;
  row(row: PaidRow): Promise<void> | void;
  end(): Promise<void> | void;
}

const factsOf = ({ stream, revision, position, data }: Entry) => {
  const { transaction_id, transaction_type, amount: credits, reference_id, hash } = data;
  return {
    user_id: idOf(stream),
    transaction_id,
    transaction_type,
    credits,
    reference_id,
    stream,
    revision,
    position,
    hash,
  };
};

const headline = (entry: Entry): string => {
  const { transaction_id, user_id, credits, stream, revision, position, hash } = factsOf(entry);
  return printable(
    `${transaction_id} of ${user_id}: ${count(credits, 'credit')}, ${stream} ${revision} at position ${position}, hash ${hash}`,
  );
};

const PAGES: Readonly<Record<'text' | 'csv' | 'json', (output: Output) => Page>> = {
  text(output) {
    let rows: number | null = null;
    return {
      jobs: (entry, jobs) => {
        const lines = [...jobs].map(([job_id, credits]) =>
          printable(`job ${job_id} kept ${count(credits, 'credit')} of it`),
        );
        return output.write(headline(entry) + (lines.join('') || 'no job kept credits of it\n'));
      },
      job(entry, job_id) {
        rows = 0;
        return output.write(`${headline(entry)}job ${job_id} kept a credit for each of these rows:\n`);
      },
      row({ row, url, verdict, status_code, stream, revision, position }) {
        rows! += 1;
        const found = status_code === null ? verdict : `${verdict} (${status_code})`;
        return output.write(printable(`  row ${row}  ${url}  ${found}, ${stream} ${revision} at position ${position}`));
      },
      end: () => (rows === null ? undefined : output.write(`${count(rows, 'row')}\n`)),
    };
  },
  csv: (output) => ({
    async jobs(_, jobs) {
      await output.write(csvLine(['job_id', 'credits']));
      for (const [job_id, credits] of jobs) await output.write(csvLine([job_id, credits]));
    },
    job: () => output.write(csvLine(COLUMNS)),
    row: (row) => output.write(csvLine(COLUMNS.map((name) => row[name]))),
    end() {},
  }),
  json: (output) => ({
    jobs: (entry, jobs) =>
      output.write(
        `${JSON.stringify({ ...factsOf(entry), jobs: [...jobs].map(([job_id, credits]) => ({ job_id, credits })) })}\n`,
      ),
    job: (entry, job_id) => output.write(`${JSON.stringify({ ...factsOf(entry), job_id })}\n`),
    row: (row) => output.write(`${JSON.stringify(row)}\n`),
    end() {},
  }),
};
