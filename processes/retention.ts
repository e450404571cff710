// Ends the time for which the results of ended jobs are kept. The event carries all that the statistics show, so that these survive; the
// purge then removes the results as it removes those of deleted jobs.
import type { Logger } from 'pino';
import { type CommandContext, notRefused } from '../commands/aggregate.ts';
import type { Jobs } from '../commands/job.ts';
import type { Position } from '../events/event-store.ts';
import { isOfStore } from '../events/store-faults.ts';
import { type JobDocument, jobs } from '../readmodels/jobs.ts';
import { purges } from '../readmodels/purges.ts';
import type { ReadModels } from '../readmodels/read-models.ts';
import { jobDomains, jobResponseTimes, jobStats, noStats, summaryOf } from '../readmodels/stats.ts';
import { pause } from '../time/pause.ts';
import { firstOthers, openPutOff, type PutOff } from './put-off.ts';

/** Jobs in one pass. While so many purges are under way, those that fail not counted, no further results expire, so that a user's deletion waits for few. */
const AT_ONCE = 100;
const IDLE_PASS_MS = 60_000;
/** The pause while earlier purges are under way: a service that ends many jobs a second must keep up. */
const HELD_UP_MS = 2_000;
const SPACING_MS = 500;
const PROJECTED_MS = 5_000;
const DAY_MS = 24 * 3_600_000;

export interface RetentionOptions {
  readmodels: ReadModels;
  commands: Jobs;
  /** Days after a job's end. */
  days: number;
  failed_purges: Pick<PutOff, 'has'>;
  logger: Pick<Logger, 'error'>;
  context: (job_id: string) => CommandContext;
  /** Wall time in Unix milliseconds, without its steps back. */
  now: () => number;
  /** Milliseconds that never go back. */
  monotonic: () => number;
}

/** Runs until `signal` aborts; calls `onPass` after each pass. */
export async function runRetention(options: RetentionOptions, signal: AbortSignal, onPass: () => void): Promise<void> {
  const retention = openRetention(options);
  while (!signal.aborted) {
    const { position, is_held_up } = await retention.expireSome(signal);
    onPass();
    // Before that the read model would return the same jobs again.
    if (position !== null) await options.readmodels.passed(position, PROJECTED_MS);
    const idle_ms = is_held_up ? HELD_UP_MS : IDLE_PASS_MS;
    await pause(position === null ? idle_ms : SPACING_MS, signal);
  }
}

export interface RetentionPass {
  /** The last event's position; null when nothing expired. */
  position: Position | null;
  /** Whether nothing could expire, because as many purges are under way as may be. */
  is_held_up: boolean;
}

export interface Retention {
  /** Makes one pass, the jobs that ended first. Throws when a store is away. */
  expireSome(signal: AbortSignal): Promise<RetentionPass>;
}

export function openRetention(options: RetentionOptions): Retention {
  const { readmodels, commands, days, failed_purges, logger, context, now, monotonic } = options;
  const put_off = openPutOff(monotonic);

  /** The statistics of an ended job change no more. */
  async function expire(job: JobDocument): Promise<Position> {
    const { _id: job_id, completed_urls, started_at } = job;
    const stats = (await readmodels.collection(jobStats).get(job_id)) ?? noStats(job_id);
    // What is removed cannot be counted again.
    if (stats.checked_urls !== completed_urls) {
      throw new Error(`${completed_urls} URLs are completed, but the statistics have ${stats.checked_urls}`);
    }
    const [domains, times] = [readmodels.collection(jobDomains), readmodels.collection(jobResponseTimes)];
    const expired = { completed_urls, started_at, summary: await summaryOf({ domains, times }, stats) };
    return notRefused(await commands.run(job_id, { type: 'expireResults', expired }, context(job_id))).position;
  }

  return {
    async expireSome(signal) {
      const before = new Date(now() - days * DAY_MS).toISOString();
      const under_way = await firstOthers(readmodels.collection(purges), {}, 'since', AT_ONCE, failed_purges);
      const room = AT_ONCE - under_way.length;
      if (room === 0) return { position: null, is_held_up: true };
      let position: Position | null = null;
      const due = { results_kept_since: { $lt: before } };
      for (const job of await firstOthers(readmodels.collection(jobs), due, 'results_kept_since', room, put_off)) {
        if (signal.aborted) break;
        try {
          position = await expire(job);
        } catch (err) {
          if (signal.aborted || isOfStore(err)) throw err;
          logger.error({ err, job_id: job._id }, 'the results of a job cannot expire now; those of others do');
          put_off.add(job._id);
        }
      }
      return { position, is_held_up: false };
    },
  };
}
