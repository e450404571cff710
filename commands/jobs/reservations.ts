// Takes back what a submission or a resumption has left without an event of its job. Every step may run again.
import type { EventStore, Position } from '../../events/event-store.ts';
import { urlsStream } from '../../events/streams.ts';
import { type CommandContext, notRefused } from '../aggregate.ts';
import type { CreditsLedger } from '../ledger/credits.ts';
import type { Jobs } from './job.ts';

/** Of the credits that a job is created with. */
export const firstReservation = (job_id: string) => `${job_id}:0`;

export interface Reserved {
  reservation_id: string;
  job_id: string;
  user_id: string;
}

/**
 * Releases a reservation unless an event of its job uses it; null then. The job's stream voids it first, so that no event can use it
 * afterwards.
 */
export async function releaseUnused(
  { jobs, credits }: { jobs: Jobs; credits: CreditsLedger },
  { reservation_id, job_id, user_id }: Reserved,
  context: CommandContext,
): Promise<Position | null> {
  const voided = notRefused(await jobs.run(job_id, { type: 'voidReservation', reservation_id }, context));
  if (voided.state.reservations.get(reservation_id) === 'used') return null;
  return notRefused(await credits.run(user_id, { type: 'release', reservation_id }, context)).position;
}

/** Deletes the listing of a job that can no longer be created. */
export async function discardListing(
  { log, jobs }: { log: EventStore; jobs: Jobs },
  job_id: string,
  context: CommandContext,
): Promise<void> {
  await log.deleteStream(urlsStream(job_id));
  await jobs.run(job_id, { type: 'discardListing' }, context);
}
