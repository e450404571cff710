// Work over two streams: an event in one stream is followed by one in another. No transaction spans both, so a process that is killed
// between them leaves the first event without the second. Each kind of such work is declared here once: its events, and who finishes
// or undoes a half-done one. The read model of pending work, the sweeper and the audit of the ledger follow from these declarations,
// and none of them compiles without its part of a kind that it is asked for.
import { TRANSACTIONS, type TransactionType } from './credits.ts';
import { idOf, jobStream } from './streams.ts';
import type { EventType, LogEvent } from './vocabulary.ts';

/** What a first event says of the second. */
export interface HalfDone {
  /** Both events name the work by it. */
  id: string;
  /** The stream of the second event. */
  second: string;
}

interface AnyWork {
  /** The events that leave it half done; for work that the sweeper finds, what each says of the second. Null: it begins none. */
  first: readonly EventType[] | { readonly [Type in EventType]?: (event: LogEvent<Type>) => HalfDone | null };
  /** The events that finish or undo it; for work that the sweeper finds, the id of the work that each ends. */
  second: readonly EventType[] | { readonly [Type in EventType]?: (event: LogEvent<Type>) => string | null };
  /**
   * Who finds a half-done one, and finishes or undoes it: the sweeper, in the read model of pending work; another process manager of that name,
   * in a read model of its own; or whoever began it, by asking again.
   */
  finished_by: { manager: string } | { repeat_of: string };
  /** Where the audit of the ledger pairs both sides: what its report calls those that are half done, and a word for people. */
  audited: { as: string; half_done: string } | null;
}

export const WORK = {
  listing: {
    first: {
      UrlsListed: ({ data: { job_id, from_index } }) =>
        from_index === 0 ? { id: job_id, second: jobStream(job_id) } : null,
    },
    second: {
      JobCreated: ({ data }) => data.job_id,
      ReservationVoided: () => null,
      ListingDiscarded: ({ stream }) => idOf(stream),
    },
    finished_by: { manager: 'sweeper' },
    audited: null,
  },
  reservation: {
    first: {
      CreditsReserved: ({ data }) => ({ id: data.reservation_id, second: jobStream(data.reference_id) }),
    },
    second: {
      JobCreated: ({ data }) => data.reservation_id,
      JobResumed: ({ data }) => data.reservation_id,
      // The credits do not go back before it.
      ReservationVoided: () => null,
      CreditsRefunded: ({ data }) => (data.transaction_type === 'release' ? data.reference_id : null),
    },
    finished_by: { manager: 'sweeper' },
    audited: { as: 'reservations', half_done: 'reservations that no job has used yet' },
  },
  refund: {
    first: ['JobCompleted', 'JobCancelled', 'JobFailed'],
    second: ['CreditsRefunded'],
    finished_by: { manager: 'settlement' },
    audited: { as: 'jobs', half_done: 'ended jobs without their refund yet' },
  },
  deletion: {
    first: ['CreditsRefunded'],
    second: ['JobDeleted'],
    finished_by: { repeat_of: 'the deletion: a job is refunded once' },
    audited: null,
  },
  payment: {
    first: ['PaymentReceived', 'PaymentReversed', 'PaymentReversalLifted'],
    second: ['CreditsGranted', 'CreditsReversed', 'CreditsRestored'],
    finished_by: { repeat_of: 'the notice, which the payment provider sends until it is taken' },
    audited: { as: 'payments', half_done: 'payments that the ledger has not followed yet' },
  },
  'paid period': {
    first: ['SubscriptionPeriodPaid'],
    second: ['PaymentReceived'],
    finished_by: { repeat_of: 'the notice, which the payment provider sends until it is taken' },
    audited: null,
  },
  'payment issue': {
    first: ['PaymentReceived', 'PaymentReversed', 'SubscriptionPeriodPaid', 'SubscriptionChanged'],
    second: ['PaymentIssueRaised'],
    finished_by: { repeat_of: 'the notice, which the payment provider sends until it is taken' },
    audited: null,
  },
  trial: {
    first: ['CreditsGranted'],
    second: ['TrialStarted'],
    finished_by: { manager: 'trials' },
    audited: null,
  },
  'bonus claim': {
    first: ['FingerprintRecorded', 'SignupBonusClaimed'],
    second: ['SignupBonusApproved', 'SignupBonusWithheld'],
    finished_by: {
      repeat_of: 'the fingerprint, which the console sends at each start; a claim counts once for its user',
    },
    audited: null,
  },
  'signup bonus': {
    first: ['SignupBonusApproved'],
    second: ['CreditsGranted'],
    finished_by: { repeat_of: 'any request of the user: each asks for the grant' },
    audited: null,
  },
  'sign-in': {
    first: ['UserRegistered', 'SignupBonusApproved'],
    second: ['SessionBegun'],
    finished_by: { repeat_of: 'the sign-in' },
    audited: null,
  },
  request: {
    first: ['RequestClaimed'],
    second: ['JobCreated', 'RequestAnswered', 'RequestReleased', 'RequestAbandoned'],
    finished_by: { repeat_of: 'the request with its idempotency key; without one the sweeper takes the job back' },
    audited: null,
  },
  disabling: {
    first: ['WebhookEndpointDisabled'],
    second: ['WebhookDeliveryRequested', 'WebhookDeliveryGivenUp'],
    finished_by: { manager: 'webhook endpoints' },
    audited: null,
  },
  erasure: {
    first: ['UserErased'],
    second: ['WebhookEndpointDeleted', 'JobCancelled', 'JobDeleted', 'UserForgotten'],
    finished_by: { manager: 'erasures' },
    audited: null,
  },
  backup: {
    first: ['BackupAdmitted'],
    second: ['BackupStarted'],
    finished_by: { repeat_of: 'any request for a backup: it starts the one that was admitted before' },
    audited: null,
  },
} as const satisfies Record<string, AnyWork>;

type Declared = typeof WORK;
export type WorkName = keyof Declared;
export const WORK_NAMES = Object.keys(WORK) as readonly WorkName[];

/** The work that the sweeper finishes or undoes. */
export type SweptWork = {
  [Name in WorkName]: Declared[Name]['finished_by'] extends { manager: 'sweeper' } ? Name : never;
}[WorkName];
/** The work of which the audit pairs both sides. */
export type AuditedWork = { [Name in WorkName]: Declared[Name]['audited'] extends null ? never : Name }[WorkName];
/** By the names of its report. */
export type HalfDoneCounts = { [Name in AuditedWork as NonNullable<Declared[Name]['audited']>['as']]: number };

/**
 * The process manager that finds half-done work. Null: whoever began it asks again.
 * @example managerOf('refund') // 'settlement'
 */
export function managerOf(name: WorkName): string | null {
  const by: AnyWork['finished_by'] = WORK[name].finished_by;
  return 'manager' in by ? by.manager : null;
}
const isSwept = (name: WorkName): name is SweptWork => managerOf(name) === 'sweeper';
export const SWEPT_WORK = WORK_NAMES.filter(isSwept);
export const AUDITED_WORK = WORK_NAMES.filter((name): name is AuditedWork => WORK[name].audited !== null);

type TypesOf<Side> = Side extends readonly (infer Type)[] ? Type : keyof Side;
type WorkWith<Type> = {
  [Name in WorkName]: Type extends TypesOf<Declared[Name]['first'] | Declared[Name]['second']> ? Name : never;
}[WorkName];

// Each type of ledger entry names a work that has its event.
TRANSACTIONS satisfies {
  [Each in TransactionType]: { work: WorkWith<(typeof TRANSACTIONS)[Each]['recorded_as']> | null };
};

/**
 * The types of events on one side of a work.
 * @example typesOf('trial', 'second') // ['TrialStarted']
 */
export function typesOf(name: WorkName, side: 'first' | 'second'): readonly EventType[] {
  const of: AnyWork['first' | 'second'] = WORK[name][side];
  return Array.isArray(of) ? of : (Object.keys(of) as EventType[]);
}
