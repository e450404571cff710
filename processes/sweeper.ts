// The sweeper undoes abandoned submissions: it releases reservations without a job event, and deletes listings and files
// without a job.
import type { CommandContext } from '../commands/aggregate.ts';
import type { Blobs } from '../commands/blobs.ts';
import type { Jobs } from '../commands/jobs/job.ts';
import { deleteJobBlobs } from '../commands/jobs/job-blobs.ts';
import type { CreditsLedger } from '../commands/ledger/credits.ts';
import type { EventStore } from '../events/event-store.ts';
import { jobStream, urlsStream } from '../events/streams.ts';
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
  commands: Jobs;
  credits: CreditsLedger;
  blobs: Pick<Blobs, 'delete'>;
  removals: Removals;
  context: (job_id: string) => CommandContext;
}

/** A step's age counts from this process's first sight of it, whatever the wall clock says. */
const KINDS = {
  listing: { abandoned_ms: LISTING_ABANDONED_MS, undo: removeListing },
  reservation: { abandoned_ms: RESERVATION_ABANDONED_MS, undo: releaseReservation },
} as const satisfies Record<
  PendingDocument['kind'],
  { abandoned_ms: number; undo: (step: PendingDocument, options: SweeperOptions) => Promise<Done> }
>;

export function sweeper(options: SweeperOptions): AnyManager {
  return processManager({
    name: 'sweeper',
    finds: { in: pending, where: {} },
    order: 'since',
    since: ({ since }) => since,
    at_once: AT_ONCE,
    async work(step, { waits_ms }) {
      const { abandoned_ms, undo } = KINDS[step.kind];
      return waits_ms < abandoned_ms ? new Later(abandoned_ms - waits_ms) : undo(step, options);
    },
    fails: 'an abandoned submission cannot be undone now; the others are',
    every_ms: SWEEP_MS,
  });
}

async function removeListing(step: PendingDocument, options: SweeperOptions): Promise<Done> {
  const { removals } = options;
  if (removals.are_held) return new Later(SWEEP_MS);
  await removals.run(() => discardListing(step, options));
  return null;
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
): Promise<Done> {
  const reservation_id = _id.slice('reservation:'.length);
  const voided = await commands.run(job_id, { type: 'voidReservation', reservation_id }, context(job_id));
  // A reservation that the job has used after all stays with the job.
  if (!voided.ok || voided.state.reservations.get(reservation_id) !== 'voided') return null;
  const released = await credits.run(user_id!, { type: 'release', reservation_id }, context(job_id));
  return released.ok ? released.position : null;
}
