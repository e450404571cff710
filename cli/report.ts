// What a job found, for a person: counts by verdict, what is broken and why, what it cost; and for a program: CSV.
import { open } from 'node:fs/promises';
import { styleText } from 'node:util';
import type { JobView, ResultView } from './client.ts';
import { count } from './progress.ts';

type Style = Parameters<typeof styleText>[0];

const VERDICTS: Record<string, { style: Style; means: string }> = {
  ok: { style: 'green', means: 'answers as it should' },
  redirected: { style: 'cyan', means: 'answers somewhere else' },
  broken: { style: 'red', means: 'answers with an error' },
  soft_404: { style: 'magenta', means: 'says 200, but there is nothing there' },
  blocked: { style: 'yellow', means: 'bot protection answered: not proven dead' },
  unreachable: { style: 'red', means: 'no answer' },
};

const REASONS: Record<string, string> = {
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
  malformed_response: 'not an HTTP answer',
  invalid_url: 'not a URL',
};

/** Whether a person should look at it. */
export const isBad = (result: ResultView) =>
  result.is_broken || result.is_soft_404 || result.verdict === 'broken' || result.verdict === 'unreachable';

export interface Tally {
  verdicts: Record<string, number>;
  /** The first of those that are broken, soft 404s included. */
  broken: ResultView[];
  broken_count: number;
}

const SHOWN = 30;

/** Writes every result to the file while counting them. */
export async function writeResults(results: AsyncIterable<ResultView>, path: string): Promise<Tally> {
  const tally: Tally = { verdicts: {}, broken: [], broken_count: 0 };
  const file = await open(path, 'w');
  try {
    let lines = `${COLUMNS.join(',')}\n`;
    for await (const result of results) {
      tally.verdicts[result.verdict] = (tally.verdicts[result.verdict] ?? 0) + 1;
      if (isBad(result)) {
        tally.broken_count++;
        if (tally.broken.length < SHOWN) tally.broken.push(result);
      }
      lines += `${COLUMNS.map((column) => cell(result[column])).join(',')}\n`;
      if (lines.length > 65_536) {
        await file.write(lines);
        lines = '';
      }
    }
    await file.write(lines);
  } finally {
    await file.close();
  }
  return tally;
}

const COLUMNS = [
  'url',
  'verdict',
  'status_code',
  'final_url',
  'is_broken',
  'is_soft_404',
  'error_code',
  'response_time_ms',
  'content_type',
] as const;

/** A text that a spreadsheet would take for a formula is kept one by an apostrophe. */
function cell(value: string | number | boolean | null): string {
  let text = value === null ? '' : String(value);
  if (typeof value === 'string' && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function reasonOf(result: ResultView): string {
  const reason = result.error_code ? (REASONS[result.error_code] ?? result.error_code) : '';
  if (result.is_soft_404) return 'soft 404: the page says that there is nothing';
  return [result.status_code ?? '', reason].filter(Boolean).join(', ') || result.verdict;
}

export interface Money {
  before: number;
  after: number;
}

export function report(job: JobView, tally: Tally, credits: Money, seconds: number): string {
  const rate = seconds > 0 ? ` (${count(Math.round(job.completed_urls / seconds))} URL/s)` : '';
  const lines = [
    '',
    styleText('bold', `${count(job.completed_urls)} URLs checked in ${seconds.toFixed(1)} s${rate}`),
    ...dropped(job),
    '',
  ];
  for (const [verdict, { style, means }] of Object.entries(VERDICTS)) {
    const n = tally.verdicts[verdict] ?? 0;
    if (n > 0) lines.push(`  ${styleText(style, verdict.padEnd(12))}${count(n).padStart(9)}   ${means}`);
  }
  if (tally.broken.length > 0) {
    lines.push('', styleText('bold', 'Broken'));
    for (const result of tally.broken) {
      lines.push(`  ${styleText('red', '✗')} ${shown(result.url)}\n      ${styleText('gray', reasonOf(result))}`);
    }
    const more = tally.broken_count - tally.broken.length;
    if (more > 0) lines.push(`  … and ${count(more)} more`);
  }
  const spent = job.credits_allocated - job.credits_refunded;
  lines.push(
    '',
    styleText('bold', 'Credits'),
    `  ${'before'.padEnd(12)}${count(credits.before).padStart(9)}`,
    `  ${'reserved'.padEnd(12)}${count(job.credits_allocated).padStart(9)}`,
    `  ${'spent'.padEnd(12)}${count(Math.min(spent, job.completed_urls)).padStart(9)}`,
    `  ${'left'.padEnd(12)}${count(credits.after).padStart(9)}`,
  );
  return lines.join('\n');
}

function dropped(job: JobView): string[] {
  const parts = [
    [job.duplicates_removed, 'duplicates removed'],
    [job.invalid_urls_rejected, 'rows that are no URL'],
    [job.blocked_urls_skipped, 'of blocked domains skipped'],
  ] as const;
  const said = parts.filter(([n]) => n > 0).map(([n, what]) => `${count(n)} ${what}`);
  return said.length > 0 ? [styleText('gray', `not checked: ${said.join(', ')}`)] : [];
}

const shown = (url: string) => (url.length > 100 ? `${url.slice(0, 97)}…` : url);
