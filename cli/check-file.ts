// Checks one file by a service, from upload to results, for the demo.
import { createReadStream } from 'node:fs';
import { parse } from 'csv-parse';
import { type ErrorCode, VERDICTS, type Verdict } from '../events/checks.ts';
import { pause } from '../time/pause.ts';
import { readingText } from './check/checked.ts';
import type { Reported, ReportedUrl } from './check/text.ts';
import type { Client, JobView } from './client.ts';
import { count, showProgress } from './progress.ts';

export interface Money {
  before: number;
  after: number;
}

export interface CheckedFile extends Reported {
  job: JobView;
  credits: Money;
}

const POLL_MS = 150;

/** Uploads the file, shows its progress, and writes all results to `results_path`. Resolves to null when interrupted. */
export async function checkFile(
  client: Client,
  path: string,
  results_path: string,
  signal: AbortSignal,
): Promise<CheckedFile | null> {
  const before = await client.balance();
  const began = performance.now();
  const submitted = await client.upload(path);
  process.stdout.write(readingText(submitted.list));
  const job = await ended(client, submitted, signal);
  if (signal.aborted) return null;
  const seconds = (performance.now() - began) / 1000;
  await client.saveResults(job.job_id, results_path);
  const results = await resultsIn(results_path);
  const verdicts = Object.fromEntries(
    VERDICTS.map((verdict) => [verdict, results.filter((result) => result.verdict === verdict).length]),
  );
  return {
    job,
    counts: job,
    verdicts,
    seconds,
    only: null,
    rejected: [],
    results: (wanted) => results.filter(({ verdict }) => wanted.includes(verdict)),
    credits: { before, after: await client.balance() },
  };
}

/** Resolves with the job when it has stopped, or when `signal` aborts. */
async function ended(client: Client, submitted: JobView, signal: AbortSignal): Promise<JobView> {
  let job = submitted;
  const progress = showProgress(() => ({ total: job.total_urls, done: job.completed_urls }));
  try {
    while (job.status === 'processing' && !signal.aborted) {
      await pause(POLL_MS, signal);
      job = await client.job(job.job_id);
    }
    return job;
  } finally {
    progress.stop();
  }
}

async function resultsIn(path: string): Promise<ReportedUrl[]> {
  const rows: AsyncIterable<Record<string, string>> = createReadStream(path).pipe(parse({ columns: true, bom: true }));
  const results: ReportedUrl[] = [];
  for await (const row of rows) {
    results.push({
      url: row.url!,
      verdict: row.verdict as Verdict,
      status_code: row.status_code ? Number(row.status_code) : null,
      error_code: (row.error_code as ErrorCode) || null,
      final_url: row.final_url || null,
      file: null,
      row: null,
      attempts: Number(row.attempts),
      ...(row.tried_ms ? { tried_ms: Number(row.tried_ms) } : {}),
    });
  }
  return results;
}

export function bill(job: JobView, credits: Money): string {
  const spent = job.credits_allocated - job.credits_refunded;
  const rows = [
    ['before', credits.before],
    ['reserved', job.credits_allocated],
    ['spent', Math.min(spent, job.completed_urls)],
    ['left', credits.after],
  ] as const;
  return rows.map(([what, n]) => `  ${what.padEnd(12)}${count(n).padStart(9)}`).join('\n');
}
