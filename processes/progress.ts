// Fails a job whose checkers find nothing for 15 minutes. A waiting job never fails: time counts, by a monotonic clock, only
// while a checker reports that it checks a batch of the job. At last the log decides: any result recorded since is progress.
import type { Logger } from 'pino';
import type { InHand } from '../checkers/work.ts';
import type { CommandContext } from '../commands/aggregate.ts';
import type { Jobs } from '../commands/jobs/job.ts';
import { readBatch } from '../commands/jobs/record-checks.ts';
import type { EventStore } from '../events/event-store.ts';
import { isOfStore } from '../events/store-faults.ts';
import { jobStream } from '../events/streams.ts';

export const NO_PROGRESS_MS = 15 * 60_000;
/** A checker without a report for this long has nothing in hand. */
const SILENT_AFTER_MS = 30_000;
/** A pass counts at most this long: when more time has passed, this process slept. */
const MAX_STEP_MS = 5_000;

export interface ProgressOptions {
  log: EventStore;
  job_commands: Jobs;
  logger: Pick<Logger, 'error'>;
  context: (job_id: string) => CommandContext;
  /** Milliseconds that never go back. */
  monotonic: () => number;
}

export type ProgressWatch = ReturnType<typeof watchProgress>;

interface Standing {
  /** The last report of each checker on the job, and its time. */
  checkers: Map<string, { batches: number[]; found: number; at: number }>;
  standing_ms: number;
  /** The number of results that the log had of these batches at half of the time limit; null before. */
  recorded: number | null;
}

export function watchProgress({ log, job_commands, logger, context, monotonic }: ProgressOptions) {
  const jobs = new Map<string, Standing>();
  let passed_at = monotonic();

  function restart(job: Standing): void {
    job.standing_ms = 0;
    job.recorded = null;
  }

  /** Returns a sum that grows with each result of the batches in hand that the log gets. */
  async function recorded(job_id: string, { checkers }: Standing): Promise<number> {
    const batches = new Set([...checkers.values()].flatMap((report) => report.batches));
    let sum = 0;
    for (const batch of batches) sum += (await readBatch(log, { job_id, batch })).known.size;
    return sum;
  }

  /** Fails a job that has stood still for too long. */
  async function judge(job_id: string, job: Standing): Promise<void> {
    if (job.standing_ms < NO_PROGRESS_MS / 2) return;
    if (job.recorded === null) job.recorded = await recorded(job_id, job);
    if (job.standing_ms < NO_PROGRESS_MS) return;
    if ((await recorded(job_id, job)) !== job.recorded) return restart(job);
    const { status } = (await job_commands.aggregate.read(jobStream(job_id))).state;
    if (status === 'processing')
      await job_commands.run(job_id, { type: 'fail', reason: 'no_progress' }, context(job_id));
    jobs.delete(job_id);
  }

  return {
    /** Takes a checker's report of its batches in hand. */
    observe({ checker_id, jobs: in_hand }: InHand): void {
      const at = monotonic();
      for (const { job_id, batches, found, is_checking } of in_hand) {
        const job = jobs.get(job_id) ?? { checkers: new Map(), standing_ms: 0, recorded: null };
        const before = job.checkers.get(checker_id);
        if (before && before.found !== found) restart(job);
        // A checker that only waits for the log does not count.
        if (is_checking) job.checkers.set(checker_id, { batches, found, at });
        else job.checkers.delete(checker_id);
        if (!is_checking) restart(job);
        jobs.set(job_id, job);
      }
    },
    /** Fails jobs without progress; call it every few seconds. Rejects while the log is away, and then fails no job. */
    async pass(): Promise<void> {
      const now = monotonic();
      const step_ms = Math.min(now - passed_at, MAX_STEP_MS);
      passed_at = now;
      for (const [job_id, job] of jobs) {
        for (const [id, { at }] of job.checkers) if (now - at > SILENT_AFTER_MS) job.checkers.delete(id);
        if (job.checkers.size === 0) {
          jobs.delete(job_id);
          continue;
        }
        job.standing_ms += step_ms;
        await judge(job_id, job).catch((err: unknown) => {
          if (isOfStore(err)) throw err;
          logger.error({ err, job_id }, 'a job without progress cannot be judged now; the others are');
          jobs.delete(job_id);
        });
      }
    },
  };
}
