// Finds what stopped half-way: jobs without progress, reservations whose job event never came, listings without a job.
import type { CommandContext } from '../commands/aggregate.ts';
import type { CreditsLedger } from '../commands/credits.ts';
import type { Jobs } from '../commands/job.ts';
import type { EventStore } from '../events/event-store.ts';
import { jobStream, urlsStream } from '../events/streams.ts';
import type { JobDocument } from '../readmodels/jobs.ts';
import type { PendingDocument } from '../readmodels/pending.ts';
import type { LiveCollection } from '../readmodels/read-models.ts';

const NO_PROGRESS_MS = 15 * 60_000;
/** Reading a million URLs takes seconds; an upload that hangs this long is gone. */
const LISTING_ABANDONED_MS = 60 * 60_000;
const RESERVATION_ABANDONED_MS = 10 * 60_000;
const AT_ONCE = 1000;

export interface SweeperOptions {
  log: EventStore;
  jobs: LiveCollection<JobDocument>;
  pending: LiveCollection<PendingDocument>;
  commands: Jobs;
  credits: CreditsLedger;
  context: (job_id: string) => CommandContext;
  now: () => number;
  /** When this process began: time in which nothing ran does not count as standing still. */
  began_at: number;
}

export async function sweep(options: SweeperOptions): Promise<void> {
  await failStandingJobs(options);
  await takeBackPending(options);
}

async function failStandingJobs({ jobs, commands, context, now, began_at }: SweeperOptions): Promise<void> {
  if (now() - began_at < NO_PROGRESS_MS) return;
  const since = new Date(now() - NO_PROGRESS_MS).toISOString();
  const standing = await jobs.find({ status: 'processing', progress_at: { $lt: since } }, { limit: AT_ONCE });
  for (const job of standing) {
    await commands.run(job._id, { type: 'fail', reason: 'no_progress' }, context(job._id));
  }
}

async function takeBackPending(options: SweeperOptions): Promise<void> {
  const { log, commands, credits, context, now } = options;
  const since = new Date(now() - RESERVATION_ABANDONED_MS).toISOString();
  for (const step of await options.pending.find({ since: { $lt: since } }, { limit: AT_ONCE })) {
    const { job_id, user_id } = step;
    if (step.kind === 'listing') {
      if (Date.parse(step.since) > now() - LISTING_ABANDONED_MS) continue;
      const { state } = await commands.aggregate.read(jobStream(job_id));
      if (state.status !== 'none') continue;
      // First the job can no longer be created, then its listing goes.
      await commands.run(job_id, { type: 'voidReservation', reservation_id: `${job_id}:0` }, context(job_id));
      await log.deleteStream(urlsStream(job_id));
      await commands.run(job_id, { type: 'discardListing' }, context(job_id));
    } else {
      const reservation_id = step._id.slice('reservation:'.length);
      const voided = await commands.run(job_id, { type: 'voidReservation', reservation_id }, context(job_id));
      // It may have been used after all: then the job has it.
      if (voided.ok && voided.state.reservations.get(reservation_id) === 'voided') {
        await credits.run(user_id!, { type: 'release', reservation_id }, context(job_id));
      }
    }
  }
}
