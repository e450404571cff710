// The aggregate of one job: its status, and which commands each status allows.
import type { EventStore, RecordedEvent } from '../../events/event-store.ts';
import {
  type Ceiling,
  type FailureReason,
  hasEnded,
  JOB_STATUSES,
  type JobCreated,
  type JobEvent,
  type JobSource,
  type JobStatus,
  type PauseReason,
  type ResultsExpired,
} from '../../events/job.ts';
import { jobStream } from '../../events/streams.ts';
import {
  type CommandContext,
  type Decision,
  evolveBy,
  type Handled,
  openAggregate,
  type Refusal,
} from '../aggregate.ts';

export interface Job {
  /** `none` before it is created. */
  status: JobStatus | 'none' | 'deleted';
  owner_id: string;
  source: JobSource;
  total_urls: number;
  credits_allocated: number;
  /** Why the job was allocated no more credits. */
  ceiling: Ceiling;
  pause_reason: PauseReason | null;
  /** The checked URLs of a job whose results expired, for ever; null before. */
  expired: { completed_urls: number; is_removed: boolean } | null;
  /** The purge of a deleted or expired job has removed the results below this index. */
  purged_to: number;
  /** The purge of a deleted job has removed all its data. */
  purged: boolean;
  /** By reservation id: `used` by an event of the job, or `voided`, so that no event can use it. */
  reservations: Map<string, 'used' | 'voided'>;
  /** The URLs of a job that was never created are deleted from the log. */
  listing_discarded: boolean;
}

export type JobRefusal = Refusal & {
  code: 'job_not_found' | 'illegal_transition' | 'reservation_voided';
  /** For `illegal_transition`: the job's status and the transitions that it allows. */
  details?: { status: JobStatus; legal: string[] };
};

export const initial = (): Job => ({
  status: 'none',
  owner_id: '',
  source: 'upload',
  total_urls: 0,
  credits_allocated: 0,
  ceiling: 'credit_ceiling',
  pause_reason: null,
  expired: null,
  purged_to: 0,
  purged: false,
  reservations: new Map(),
  listing_discarded: false,
});
export const evolve = evolveBy<Job, JobEvent>({
  JobCreated: ({ reservations, ...job }, created) => ({
    ...job,
    status: 'processing',
    owner_id: created.owner_id,
    source: created.source,
    total_urls: created.total_urls,
    credits_allocated: created.credits_allocated,
    ceiling: created.ceiling ?? 'credit_ceiling',
    reservations: reservations.set(created.reservation_id, 'used'),
  }),
  JobPaused: (job, { reason }) => ({ ...job, status: 'paused', pause_reason: reason }),
  JobResumed({ reservations, ...job }, { credits_allocated, reservation_id, ceiling = 'credit_ceiling' }) {
    if (reservation_id) reservations.set(reservation_id, 'used');
    return { ...job, status: 'processing', pause_reason: null, credits_allocated, ceiling, reservations };
  },
  JobCancelled: (job) => ({ ...job, status: 'cancelled' }),
  JobCompleted: (job) => ({ ...job, status: 'completed' }),
  JobFailed: (job) => ({ ...job, status: 'failed' }),
  ResultsExpired: (job, { completed_urls }) => ({ ...job, expired: { completed_urls, is_removed: false } }),
  ResultsRemoved: (job) => ({ ...job, expired: job.expired && { ...job.expired, is_removed: true } }),
  JobDeleted: (job) => ({ ...job, status: 'deleted' }),
  ResultsPurged: (job, { to_index }) => ({ ...job, purged_to: to_index }),
  JobPurged: (job) => ({ ...job, purged: true }),
  ListingDiscarded: (job) => ({ ...job, listing_discarded: true }),
  ReservationVoided: (job, { reservation_id }) => ({
    ...job,
    reservations: job.reservations.set(reservation_id, 'voided'),
  }),
});

export type JobCommand =
  | { type: 'create'; job: JobCreated }
  | { type: 'pause' }
  /** Pauses a job whose credits are spent; does nothing when a resume has changed `credits_allocated` meanwhile. */
  | { type: 'pauseAtCeiling'; credits_allocated: number }
  | { type: 'resume'; credits_added: number; reservation_id: string | null; ceiling?: Ceiling }
  | { type: 'cancel' }
  | { type: 'complete'; completed_urls: number; broken_urls: number }
  | { type: 'fail'; reason: FailureReason }
  | { type: 'delete' }
  /** Ends the time for which the results of an ended job are kept. */
  | { type: 'expireResults'; expired: ResultsExpired }
  /** Records that all results of an expired job are removed, with its listing and its file. */
  | { type: 'removeResults' }
  /** Records that results of a deleted or expired job are removed, in order from index 0. */
  | { type: 'purgeResults'; from_index: number; to_index: number }
  | { type: 'purge' }
  | { type: 'voidReservation'; reservation_id: string }
  /** Records that the URLs of a job that was never created are deleted. */
  | { type: 'discardListing' };

type Complete = Extract<JobCommand, { type: 'complete' }>;
type Purge = Extract<JobCommand, { type: 'purgeResults' | 'purge' | 'removeResults' }>;
type Transition = Exclude<
  JobCommand['type'],
  'create' | 'voidReservation' | 'discardListing' | 'expireResults' | Purge['type']
>;

export const NO_SUCH_JOB = 'There is no such job.';

/** The statuses that each transition may start from. */
const LEGAL: Record<Transition, readonly JobStatus[]> = {
  pause: ['processing'],
  pauseAtCeiling: ['processing'],
  resume: ['paused'],
  cancel: ['processing', 'paused'],
  complete: ['processing', 'paused'],
  fail: ['processing'],
  delete: JOB_STATUSES.filter(hasEnded),
};

export function decide(job: Readonly<Job>, command: JobCommand): Decision<JobEvent, JobRefusal> {
  if (command.type === 'voidReservation') {
    const { reservation_id } = command;
    return job.reservations.has(reservation_id)
      ? { events: [] }
      : { events: [{ type: 'ReservationVoided', data: { reservation_id } }] };
  }
  if (command.type === 'discardListing') {
    if (job.status !== 'none') return refuse('illegal_transition', 'The job was created and keeps its listing.');
    return { events: job.listing_discarded ? [] : [{ type: 'ListingDiscarded', data: {} }] };
  }
  if (command.type === 'create') return create(job, command.job);
  if (command.type === 'purgeResults' || command.type === 'purge' || command.type === 'removeResults') {
    return purge(job, command);
  }
  if (command.type === 'expireResults') return expire(job, command.expired);
  if (job.status === 'none' || job.status === 'deleted') {
    return refuse('job_not_found', NO_SUCH_JOB);
  }
  if (!LEGAL[command.type].includes(job.status)) return illegal(job.status, command.type);
  switch (command.type) {
    case 'pause':
      return { events: [paused(job, 'owner')] };
    case 'pauseAtCeiling':
      return job.credits_allocated === command.credits_allocated
        ? { events: [paused(job, job.ceiling)] }
        : { events: [] };
    case 'resume':
      return resume(job, command);
    case 'cancel':
      return { events: [{ type: 'JobCancelled', data: subjectOf(job) }] };
    case 'complete':
      return { events: [completed(job, command)] };
    case 'fail':
      return { events: [{ type: 'JobFailed', data: { reason: command.reason, ...subjectOf(job) } }] };
    case 'delete':
      return { events: [{ type: 'JobDeleted', data: {} }] };
  }
}

export const TOOK_TOO_LONG = 'The request took too long; submit it again.';

/** A job without a credit is created and paused in one append. */
function create(job: Readonly<Job>, created: JobCreated): Decision<JobEvent, JobRefusal> {
  const reservation = job.reservations.get(created.reservation_id);
  if (reservation === 'voided') return refuse('reservation_voided', TOOK_TOO_LONG);
  if (job.status !== 'none') {
    return reservation === 'used' ? { events: [] } : refuse('illegal_transition', 'Another job has this id.');
  }
  const events: JobEvent[] = [{ type: 'JobCreated', data: created }];
  if (created.credits_allocated === 0) events.push(paused(created, created.ceiling ?? 'credit_ceiling'));
  return { events };
}

type Subject = Pick<Job, 'owner_id' | 'total_urls'>;
const subjectOf = ({ owner_id, total_urls }: Subject): Subject => ({ owner_id, total_urls });

function paused(job: Subject & Pick<Job, 'credits_allocated'>, reason: PauseReason): JobEvent {
  return { type: 'JobPaused', data: { reason, credits_allocated: job.credits_allocated, ...subjectOf(job) } };
}

function resume(job: Readonly<Job>, command: Extract<JobCommand, { type: 'resume' }>): Decision<JobEvent, JobRefusal> {
  const { credits_added, reservation_id, ceiling } = command;
  if (reservation_id && job.reservations.has(reservation_id)) {
    return refuse('reservation_voided', 'The request took too long; resume again.');
  }
  const credits_allocated = job.credits_allocated + credits_added;
  if (credits_allocated > job.total_urls) {
    return refuse('illegal_transition', 'The job was resumed by another request at the same time; look at it again.');
  }
  const capped = ceiling === undefined ? {} : { ceiling };
  return { events: [{ type: 'JobResumed', data: { credits_added, credits_allocated, reservation_id, ...capped } }] };
}

/** All that a completion needs of the job. */
type Completing = Pick<Job, 'status' | 'owner_id' | 'source'>;

function completed({ owner_id, source }: Readonly<Completing>, command: Complete): JobEvent {
  const { completed_urls, broken_urls } = command;
  return { type: 'JobCompleted', data: { completed_urls, broken_urls, owner_id, source } };
}

/** Results expire once. A deleted job's results are removed without. */
function expire(job: Readonly<Job>, data: ResultsExpired): Decision<JobEvent, JobRefusal> {
  if (job.status === 'deleted' || job.expired !== null) return { events: [] };
  if (job.status === 'none' || !hasEnded(job.status)) {
    return refuse('illegal_transition', 'Only the results of an ended job expire.');
  }
  return { events: [{ type: 'ResultsExpired', data }] };
}

/** A repeated purge makes no event. Throws when the purge would leave a gap. */
function purge(job: Readonly<Job>, command: Purge): Decision<JobEvent, JobRefusal> {
  const is_deleted = job.status === 'deleted';
  if (!is_deleted && (job.expired === null || command.type === 'purge')) {
    return refuse('illegal_transition', 'Only a deleted job, or results that have expired, can be purged.');
  }
  if (command.type === 'removeResults') {
    // A job that is deleted meanwhile has a purge of its own.
    return { events: is_deleted || job.expired?.is_removed ? [] : [{ type: 'ResultsRemoved', data: {} }] };
  }
  if (command.type === 'purge') return { events: job.purged ? [] : [{ type: 'JobPurged', data: {} }] };
  const { from_index, to_index } = command;
  if (from_index < job.purged_to) return { events: [] };
  if (from_index > job.purged_to) throw new Error(`results are purged up to ${job.purged_to}, not ${from_index}`);
  return { events: [{ type: 'ResultsPurged', data: { from_index, to_index } }] };
}

const refuse = (code: JobRefusal['code'], message: string) => ({ refused: { code, message } });

/** The transitions that clients may ask for. */
const PARTICIPLES = { pause: 'paused', resume: 'resumed', cancel: 'cancelled', delete: 'deleted' } as const;

function illegal(status: JobStatus, command: Transition): { refused: JobRefusal } {
  const legal = Object.keys(PARTICIPLES).filter((name) => LEGAL[name as keyof typeof PARTICIPLES].includes(status));
  const done = { ...PARTICIPLES, pauseAtCeiling: 'paused', complete: 'completed', fail: 'failed' }[command];
  const hint = command === 'delete' ? ': cancel it first' : '';
  const message = `A ${status} job cannot be ${done}${hint}. Legal now: ${legal.join(', ')}.`;
  return { refused: { code: 'illegal_transition', message, details: { status, legal } } };
}

/** A job as a read model has it, which may lag behind the log. */
export type KnownJob = Completing & { revision: number };

export type Jobs = ReturnType<typeof openJobs>;

export function openJobs(log: EventStore) {
  const aggregate = openAggregate<Job, JobEvent>(log, { initial, evolve });
  return {
    aggregate,
    run(job_id: string, command: JobCommand, context: CommandContext): Promise<Handled<Job, JobRefusal>> {
      const assume_empty = command.type === 'create';
      return aggregate.handle(jobStream(job_id), context, (job) => decide(job, command), { assume_empty });
    },
    /** Decides on `known` first, without a read: the append at its revision shows whether it is up to date. */
    complete(
      job_id: string,
      counts: Omit<Complete, 'type'>,
      context: CommandContext,
      { revision, status, owner_id, source }: KnownJob,
    ): Promise<Handled<unknown, JobRefusal>> {
      const completing: Completing = { status, owner_id, source };
      const assumed = { state: { ...initial(), ...completing }, revision };
      const decision = (job: Readonly<Job>) => decide(job, { type: 'complete', ...counts });
      return aggregate.handle(jobStream(job_id), context, decision, { assumed });
    },
  };
}

/** The event that created a job, which there is. */
export async function creationOf(log: EventStore, job_id: string): Promise<RecordedEvent<'JobCreated', JobCreated>> {
  const [created] = await Array.fromAsync(log.readStream(jobStream(job_id), { limit: 1 }));
  return created as RecordedEvent<'JobCreated', JobCreated>;
}
