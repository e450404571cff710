// Prints a job's report: counts by verdict, broken URLs with reasons, credits spent.
import { createReadStream } from 'node:fs';
import { styleText } from 'node:util';
import { parse } from 'csv-parse';
import type { ColumnRead, ListReading } from '../commands/intake.ts';
import { type ErrorCode, VERDICT_MEANINGS, VERDICTS, type Verdict } from '../events/checks.ts';
import type { JobView } from './client.ts';
import { count } from './progress.ts';

type Style = Parameters<typeof styleText>[0];

const STYLES: Record<Verdict, Style> = {
  ok: 'green',
  redirected: 'cyan',
  broken: 'red',
  soft_404: 'magenta',
  blocked: 'yellow',
  unreachable: 'red',
};

const REASONS: Record<ErrorCode, string> = {
  dns_not_found: 'no such name',
  dns_failed: 'its name could not be looked up',
  connection_refused: 'connection refused',
  connection_reset: 'the connection was cut',
  connect_timeout: 'no connection within the time limit',
  response_timeout: 'no answer within the time limit',
  tls_expired: 'certificate expired',
  tls_hostname: 'certificate of another host',
  tls_untrusted: 'certificate not trusted',
  tls_failed: 'TLS failed',
  too_many_redirects: 'too many redirects',
  redirect_loop: 'redirects in a loop',
  invalid_redirect: 'redirects to nowhere',
  blocked_address: 'a private address',
  proxy_failed: 'no proxy got through to it',
  checker_fault: 'the checker itself failed over it',
  malformed_response: 'not an HTTP answer',
  invalid_url: 'not a URL',
};

/** The columns of an exported row that a report reads. */
type Row = Record<'url' | 'status_code' | 'verdict' | 'is_broken' | 'is_soft_404' | 'error_code', string>;

export interface Tally {
  verdicts: Record<string, number>;
  /** The first rows to look at: broken URLs and soft 404s. */
  broken: Row[];
  broken_count: number;
}

/** Which column of the file was taken, and what may not be meant so. Empty for a plain list without warnings. */
export function readingText({ column, other_columns, warnings }: ListReading): string {
  const named = ({ letter, name }: ColumnRead) => (name === null ? letter : `${letter} (${JSON.stringify(name)})`);
  const lines = warnings.map(({ message }) => `Warning: ${message}`);
  if (column.name !== null || other_columns.length > 0) lines.unshift(`Column ${named(column)} was read.`);
  if (other_columns.length > 0) {
    lines.push(`Other columns hold URLs: ${other_columns.map(named).join(', ')}. --column takes one of them.`);
  }
  return lines.map((line) => `${withoutControls(line)}\n`).join('');
}

/** A header comes from a file that others wrote: it may not move the terminal's cursor. */
const withoutControls = (text: string) => text.replace(/\p{C}/gu, '');

const SHOWN = 30;

/** Counts verdicts and broken URLs of an exported CSV file. */
export async function tallyOf(path: string): Promise<Tally> {
  const tally: Tally = { verdicts: {}, broken: [], broken_count: 0 };
  const rows: AsyncIterable<Row> = createReadStream(path).pipe(parse({ columns: true, bom: true }));
  for await (const row of rows) {
    tally.verdicts[row.verdict] = (tally.verdicts[row.verdict] ?? 0) + 1;
    if (row.is_broken === 'false' && row.is_soft_404 === 'false') continue;
    tally.broken_count++;
    if (tally.broken.length < SHOWN) tally.broken.push(row);
  }
  return tally;
}

function reasonOf(row: Row): string {
  if (row.is_soft_404 === 'true') return 'soft 404: the page says that there is nothing';
  const reason = REASONS[row.error_code as ErrorCode] ?? row.error_code;
  return [row.status_code, reason].filter(Boolean).join(', ') || row.verdict;
}

export interface Money {
  before: number;
  after: number;
}

/** The job fields of a report, also for a file checked without the service. */
export type CheckedJob = Pick<
  JobView,
  'total_urls' | 'completed_urls' | 'duplicates_removed' | 'invalid_urls_rejected' | 'blocked_urls_skipped'
>;

export function report(job: CheckedJob, tally: Tally, seconds: number): string {
  const rate = seconds > 0 ? ` (${count(Math.round(job.completed_urls / seconds))} URL/s)` : '';
  const lines = [
    '',
    styleText('bold', `${counted(job.completed_urls, 'URL', 'URLs')} checked in ${seconds.toFixed(1)} s${rate}`),
    ...dropped(job),
    '',
  ];
  for (const verdict of VERDICTS) {
    const n = tally.verdicts[verdict] ?? 0;
    const name = styleText(STYLES[verdict], verdict.padEnd(12));
    if (n > 0) lines.push(`  ${name}${count(n).padStart(9)}   ${VERDICT_MEANINGS[verdict]}`);
  }
  if (tally.broken.length > 0) {
    lines.push('', styleText('bold', 'Broken'));
    for (const row of tally.broken) {
      lines.push(`  ${styleText('red', '✗')} ${shown(row.url)}\n      ${styleText('gray', reasonOf(row))}`);
    }
    const more = tally.broken_count - tally.broken.length;
    if (more > 0) lines.push(`  … and ${count(more)} more`);
  }
  return lines.join('\n');
}

export function bill(job: JobView, credits: Money): string {
  const spent = job.credits_allocated - job.credits_refunded;
  return [
    '',
    styleText('bold', 'Credits'),
    `  ${'before'.padEnd(12)}${count(credits.before).padStart(9)}`,
    `  ${'reserved'.padEnd(12)}${count(job.credits_allocated).padStart(9)}`,
    `  ${'spent'.padEnd(12)}${count(Math.min(spent, job.completed_urls)).padStart(9)}`,
    `  ${'left'.padEnd(12)}${count(credits.after).padStart(9)}`,
  ].join('\n');
}

function dropped(job: CheckedJob): string[] {
  const parts = [
    [job.duplicates_removed, 'duplicate', 'duplicates'],
    [job.invalid_urls_rejected, 'row that is no URL', 'rows that are no URL'],
    [job.blocked_urls_skipped, 'URL of a blocked domain', 'URLs of blocked domains'],
  ] as const;
  const said = parts.filter(([n]) => n > 0).map(([n, one, more]) => counted(n, one, more));
  return said.length > 0 ? [styleText('gray', `not checked: ${said.join(', ')}`)] : [];
}

const counted = (n: number, one: string, more: string) => `${count(n)} ${n === 1 ? one : more}`;
const shown = (url: string) => (url.length > 100 ? `${url.slice(0, 97)}…` : url);
