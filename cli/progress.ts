// Follows a job to its end with a progress bar of share, rate and remaining time.
import { styleText } from 'node:util';
import type { JobView } from './client.ts';

const POLL_MS = 150;
const WIDTH = 30;
/** The bar computes the rate over the last few seconds. */
const RATE_WINDOW_MS = 5000;

type Progress = Pick<JobView, 'total_urls' | 'completed_urls'>;

/** Polls the job by `look` and resolves with it when it has stopped or `signal` aborts. Draws the bar on a terminal only. */
export async function follow<Job extends Progress & { status: JobView['status'] }>(
  job: Job,
  look: () => Promise<Job>,
  out: NodeJS.WriteStream,
  signal: AbortSignal,
): Promise<Job> {
  const samples: { at: number; done: number }[] = [];
  for (let seen = job; ; seen = await look()) {
    const now = performance.now();
    samples.push({ at: now, done: seen.completed_urls });
    while (samples.length > 2 && now - samples[0]!.at > RATE_WINDOW_MS) samples.shift();
    if (out.isTTY) out.write(`\r\x1b[K${bar(seen, rate(samples))}`);
    if (seen.status !== 'processing' || signal.aborted) {
      if (out.isTTY) out.write('\n');
      return seen;
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

function rate(samples: readonly { at: number; done: number }[]): number {
  const [first, last] = [samples[0]!, samples.at(-1)!];
  return last.at > first.at ? ((last.done - first.done) / (last.at - first.at)) * 1000 : 0;
}

export function bar(job: Progress, urls_per_second: number): string {
  const share = job.completed_urls / job.total_urls;
  const full = Math.round(share * WIDTH);
  const left_s = (job.total_urls - job.completed_urls) / urls_per_second;
  return [
    styleText('green', '█'.repeat(full)) + styleText('gray', '░'.repeat(WIDTH - full)),
    `${Math.floor(share * 100)} %`.padStart(5),
    `${count(job.completed_urls)} of ${count(job.total_urls)}`,
    urls_per_second > 0 ? `${count(Math.round(urls_per_second))} URL/s` : '',
    job.completed_urls < job.total_urls && urls_per_second > 0 ? `${duration(left_s)} left` : '',
  ]
    .filter(Boolean)
    .join('  ');
}

export const count = (n: number) => n.toLocaleString('en-US').replaceAll(',', ' ');

export function duration(seconds: number): string {
  if (seconds < 60) return `${Math.ceil(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.ceil(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.ceil((seconds % 3600) / 60)} min`;
}
