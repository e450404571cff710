// The sweeper ends work over two streams whose second event does not come: it releases reservations without a job event, and deletes
// listings and files without a job.
import type { CommandContext } from '../commands/aggregate.ts';
import type { Blobs } from '../commands/blobs.ts';
import type { Jobs } from '../commands/jobs/job.ts';
import { deleteJobBlobs } from '../commands/jobs/job-blobs.ts';
import { discardListing, firstReservation, releaseUnused } from '../commands/jobs/reservations.ts';
import type { CreditsLedger } from '../commands/ledger/credits.ts';
import type { EventStore } from '../events/event-store.ts';
import { idOf, jobStream } from '../events/streams.ts';
import type { SweptWork } from '../events/two-streams.ts';
import { type PendingDocument, pending } from '../readmodels/jobs/pending.ts';
import { type AnyManager, type Done, Later, processManager } from './process-manager.ts';
import type { Removals } from './removals.ts';

/** Reading a million URLs takes seconds: a listing without a job after this long is abandoned. */
const LISTING_ABANDONED_MS = 60 * 60_000;
const RESERVATION_ABANDONED_MS = 10 * 60_000;
const SWEEP_MS = 30_000;
const AT_ONCE = 10_000;

export interface SweeperOptions {
  log: EventStore;
  job_commands: Jobs;
  credits: CreditsLedger;
  blobs: Pick<Blobs, 'delete'>;
  removals: Removals;
  context: (job_id: string) => CommandContext;
}

interface Sweeping {
  abandoned_ms: number;
  /** Ends a step whose second event did not come, or finds that it has. Both may run again. */
  end(step: PendingDocument, options: SweeperOptions): Promise<Done>;
}

/** A step's age counts from this process's first sight of it, whatever the wall clock says. */
const SWEEPING: Readonly<Record<SweptWork, Sweeping>> = {
  listing: { abandoned_ms: LISTING_ABANDONED_MS, end: removeListing },
  reservation: { abandoned_ms: RESERVATION_ABANDONED_MS, end: releaseReservation },
};

export function sweeper(options: SweeperOptions): AnyManager {
  return processManager({
    name: 'sweeper',
    finds: { in: pending, where: {} },
    order: 'since',
    since: ({ since }) => since,
    at_once: AT_ONCE,
    async work(step, { waits_ms }) {
      const { abandoned_ms, end } = SWEEPING[step.kind];
      if (waits_ms < abandoned_ms) return new Later(abandoned_ms - waits_ms);
      // An earlier version wrote no streams. The documents are being rebuilt with them.
      return step.second === undefined ? new Later(SWEEP_MS) : end(step, options);
    },
    fails: 'an abandoned submission cannot be undone now; the others are',
    every_ms: SWEEP_MS,
  });
}

async function removeListing({ id: job_id }: PendingDocument, options: SweeperOptions): Promise<Done> {
  const { log, job_commands, blobs, removals, context } = options;
  if (removals.are_held) return new Later(SWEEP_MS);
  await removals.run(async () => {
    const { state } = await job_commands.aggregate.read(jobStream(job_id));
    if (state.status !== 'none') return;
    // The voided reservation keeps the job from being created, so its listing can be deleted.
    const reservation_id = firstReservation(job_id);
    await job_commands.run(job_id, { type: 'voidReservation', reservation_id }, context(job_id));
    await deleteJobBlobs(blobs, job_id);
    await discardListing({ log, jobs: job_commands }, job_id, context(job_id));
  });
  return null;
}

function releaseReservation(
  { id: reservation_id, first, second }: PendingDocument,
  { job_commands: jobs, credits, context }: SweeperOptions,
): Promise<Done> {
  const job_id = idOf(second);
  return releaseUnused({ jobs, credits }, { reservation_id, job_id, user_id: idOf(first) }, context(job_id));
}
