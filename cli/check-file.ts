// Checks one file from upload to report, for `demo` and `check`.
import type { Client, JobView } from './client.ts';
import { follow } from './progress.ts';
import { type Money, readingText, type Tally, tallyOf } from './report.ts';

export interface Checked {
  job: JobView;
  tally: Tally;
  credits: Money;
  seconds: number;
}

/** Uploads the file, shows a progress bar on `out`, writes all results to `results_path`. Resolves to null when interrupted. */
export async function checkFile(
  client: Client,
  path: string,
  results_path: string,
  out: NodeJS.WriteStream,
  signal: AbortSignal,
  column: string | null = null,
): Promise<Checked | null> {
  const before = await client.balance();
  const began = performance.now();
  const submitted = await client.upload(path, column);
  out.write(readingText(submitted.list));
  const job = await follow(submitted, () => client.job(submitted.job_id), out, signal);
  if (signal.aborted) return null;
  const seconds = (performance.now() - began) / 1000;
  await client.saveResults(job.job_id, results_path);
  const tally = await tallyOf(results_path);
  return { job, tally, credits: { before, after: await client.balance() }, seconds };
}

/** Aborts on the first Ctrl-C; a second one ends the process at once. */
export function untilInterrupted(): AbortSignal {
  const interrupted = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => {
      interrupted.abort();
      process.once(name, () => process.exit(130));
    });
  }
  return interrupted.signal;
}
