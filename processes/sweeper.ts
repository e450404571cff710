// The sweeper undoes abandoned submissions: it releases reservations without a job event, and deletes listings and files
// without a job.
import type { CommandContext } from '../commands/aggregate.ts';
import type { Blobs } from '../commands/blobs.ts';
import type { CreditsLedger } from '../commands/credits.ts';
import type { Jobs } from '../commands/job.ts';
import { deleteJobBlobs } from '../commands/job-blobs.ts';
import type { EventStore } from '../events/event-store.ts';
import { jobStream, urlsStream } from '../events/streams.ts';
import type { PendingDocument } from '../readmodels/pending.ts';
import type { LiveCollection } from '../readmodels/read-models.ts';
import { inParallel } from './in-parallel.ts';
import type { Removals } from './removals.ts';

/** Reading a million URLs takes seconds: a listing without a job after this long is abandoned. */
const LISTING_ABANDONED_MS = 60 * 60_000;
const RESERVATION_ABANDONED_MS = 10 * 60_000;
const AT_ONCE = 10_000;

export interface SweeperOptions {
  log: EventStore;
  pending: LiveCollection<PendingDocument>;
  commands: Jobs;
  credits: CreditsLedger;
  blobs: Pick<Blobs, 'delete'>;
  removals: Removals;
  context: (job_id: string) => CommandContext;
  /** Milliseconds that never go back: a step's age counts from the sweeper's first sight of it, whatever the wall clock says. */
  monotonic: () => number;
}

export interface Sweeper {
  /** Throws the failures after it has tried all steps. */
  pass(): Promise<void>;
}

export function openSweeper(options: SweeperOptions): Sweeper {
  const { pending, monotonic } = options;
  /** The time of the first sight of each unfinished step. */
  let seen = new Map<string, number>();
  return {
    async pass() {
      const now = monotonic();
      const steps = await pending.find({}, { sort: { since: 1 }, limit: AT_ONCE });
      seen = new Map(steps.map(({ _id }) => [_id, seen.get(_id) ?? now]));
      const abandoned = steps.filter(({ _id, kind }) => {
        const abandoned_ms = kind === 'listing' ? LISTING_ABANDONED_MS : RESERVATION_ABANDONED_MS;
        return now - seen.get(_id)! >= abandoned_ms;
      });
      await inParallel(abandoned, async (step) => {
        if (step.kind !== 'listing') await releaseReservation(step, options);
        else if (!options.removals.are_held) await options.removals.run(() => discardListing(step, options));
      });
    },
  };
}

async function discardListing(
  { job_id }: PendingDocument,
  { log, commands, blobs, context }: SweeperOptions,
): Promise<void> {
  const { state } = await commands.aggregate.read(jobStream(job_id));
  if (state.status !== 'none') return;
  // The voided reservation keeps the job from being created, so its listing can be deleted.
  await commands.run(job_id, { type: 'voidReservation', reservation_id: `${job_id}:0` }, context(job_id));
  await deleteJobBlobs(blobs, job_id);
  await log.deleteStream(urlsStream(job_id));
  await commands.run(job_id, { type: 'discardListing' }, context(job_id));
}

async function releaseReservation(
  { _id, job_id, user_id }: PendingDocument,
  { commands, credits, context }: SweeperOptions,
): Promise<void> {
  const reservation_id = _id.slice('reservation:'.length);
  const voided = await commands.run(job_id, { type: 'voidReservation', reservation_id }, context(job_id));
  // A reservation that the job has used after all stays with the job.
  if (voided.ok && voided.state.reservations.get(reservation_id) === 'voided') {
    await credits.run(user_id!, { type: 'release', reservation_id }, context(job_id));
  }
}
