// Checks one file by the engine alone, without the service, and writes a file of results in order of submission. It streams:
// only URLs in flight, and results that wait for an earlier URL, are in memory.
import { createWriteStream } from 'node:fs';
import { basename } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createEngine } from '../checkers/index.ts';
import { csvOf } from '../http/export/csv.ts';
import { type CollectedUrls, collectUrls, type IntakeSummary } from '../intake/collect-urls.ts';
import { openSheet } from '../intake/open-sheet.ts';
import { readingOf } from '../intake/sheet.ts';
import { engineSettings } from '../service/engine-settings.ts';
import type { Config } from '../settings/config.ts';
import { checkInOrder } from './check-in-order.ts';
import type { JobView } from './client.ts';
import { follow } from './progress.ts';
import { type CheckedJob, readingText, type Tally, tallyOf } from './report.ts';

export interface CheckedDirectly {
  job: CheckedJob;
  tally: Tally;
  seconds: number;
}

/**
 * Checks the URLs of the file at `path`, with a progress bar on `out`. When interrupted, `results_path` has the results
 * before the first URL without an outcome. Throws IntakeError before the first check when the file is not a table of URLs.
 */
export async function checkDirectly(
  path: string,
  results_path: string,
  out: NodeJS.WriteStream,
  signal: AbortSignal,
  config: Config,
  column: string | null = null,
): Promise<CheckedDirectly> {
  const limits = {
    max_urls: config.max_urls_per_job,
    max_url_chars: config.max_url_chars,
    max_file_bytes: config.max_file_bytes,
    max_inflated_bytes: config.max_inflated_bytes,
  };
  const sheet = await openSheet(path, basename(path), limits, { column });
  out.write(readingText(readingOf(sheet)));
  const read = () => collectUrls(sheet.cells(), limits);
  const { accepted, duplicates_removed, invalid_urls_rejected, blocked_urls_skipped } = await countOf(read());

  const job: CheckedJob & Pick<JobView, 'status'> = {
    status: 'processing',
    total_urls: accepted,
    completed_urls: 0,
    duplicates_removed,
    invalid_urls_rejected,
    blocked_urls_skipped,
  };
  const began = performance.now();
  const engine = createEngine(engineSettings(config));
  const results = checkInOrder(read(), engine, signal, () => job.completed_urls++);
  const written = pipeline(csvOf(results), createWriteStream(results_path)).then(
    () => void (job.status = 'completed'),
    (error: unknown) => {
      job.status = 'failed';
      throw error;
    },
  );
  try {
    await Promise.all([written, follow(job, () => Promise.resolve(job), out, signal)]);
  } finally {
    await engine.close();
  }
  const seconds = (performance.now() - began) / 1000;
  return { job, tally: await tallyOf(results_path), seconds };
}

/** Reads the whole file once, to count its URLs and to find unreadable rows. */
async function countOf(urls: CollectedUrls): Promise<IntakeSummary> {
  for await (const _page of urls);
  return urls.summary;
}
