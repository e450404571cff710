// The category `service`. The stream `service-log` holds the log's identity, which the process that opens a new log appends, and the new one
// that each restore gives to its copy; the stream `service-maintenance` says when administrators turned maintenance mode on and off; `service-backups` says which
// backup runs; `service-parked` has the parked events that operators discarded; `service-periods` says until which day the books are closed.

import { type DataOf, type EventsOf, event } from './event-spec.ts';
import { Type } from './schema.ts';

const LOG_IDENTITY_EVENTS = {
  LogIdentified: event({
    log_id: Type.String({ format: 'uuid', description: 'A random id: only a copy of this log has the same.' }),
  }),
  /** The log was restored from a backup: from here on it is another log than the one that was backed up, which may have gone on. */
  LogForked: event({
    log_id: Type.String({ format: 'uuid', description: 'The random id of this copy.' }),
    from_log_id: Type.String({ format: 'uuid', description: 'The id that the log had when it was backed up.' }),
    ledger_entries: Type.Integer({ minimum: 0, description: 'The ledger entries that both logs have.' }),
    billing_events: Type.Optional(
      Type.Integer({ minimum: 0, description: 'The events of payments and subscriptions that both have.' }),
    ),
    backup_id: Type.String(),
    backup_began_at: Type.String({ format: 'date-time' }),
  }),
};
export type LogIdentified = DataOf<typeof LOG_IDENTITY_EVENTS.LogIdentified>;
export type LogForked = DataOf<typeof LOG_IDENTITY_EVENTS.LogForked>;

export const MAX_MAINTENANCE_MESSAGE_CHARS = 500;

export const MAINTENANCE_EVENTS = {
  /** A second one, before the end, replaces the message. */
  MaintenanceStarted: event({
    message: Type.String({
      minLength: 1,
      maxLength: MAX_MAINTENANCE_MESSAGE_CHARS,
      description: 'The sentence that users get with each refusal.',
    }),
    started_at: Type.String({ format: 'date-time', description: 'When maintenance began; a new message keeps it.' }),
  }),
  MaintenanceEnded: event({}),
};
export type MaintenanceEvent = EventsOf<typeof MAINTENANCE_EVENTS>;

const BACKUP_TURN_EVENTS = {
  /** This backup runs until its own stream says that it has ended; no other may start before. */
  BackupAdmitted: event({ backup_id: Type.String({ format: 'uuid' }) }),
};
export const MAX_DISCARD_REASON_CHARS = 1_000;
export const MAX_CLOSING_REASON_CHARS = 1_000;

export const PARKED_EVENTS = {
  /** An operator decided that a read model does without an event that it could not take. The event stays in the log. */
  ParkedEventDiscarded: event({
    projection: Type.String(),
    event_id: Type.String(),
    type: Type.String(),
    stream: Type.String(),
    revision: Type.Integer({ minimum: 0 }),
    position: Type.String(),
    reason: Type.String({ minLength: 1, maxLength: MAX_DISCARD_REASON_CHARS }),
  }),
};
export type ParkedEventDiscarded = DataOf<typeof PARKED_EVENTS.ParkedEventDiscarded>;
export type ParkedEventsEvent = EventsOf<typeof PARKED_EVENTS>;

export const PERIODS_EVENTS = {
  /** The books are closed until the end of a day (UTC). Nothing is refused from then on: what comes later and is dated in the period is listed. */
  PeriodClosed: event({
    until: Type.String({ format: 'date' }),
    /** All entries and payment events that the log had; those after them are later than the closing. */
    ledger_entries: Type.Integer({ minimum: 0 }),
    payment_events: Type.Integer({ minimum: 0 }),
    entries: Type.Integer({ minimum: 0, description: 'The entries of these that are dated until the end of the day.' }),
    credits: Type.Integer({ description: 'The sum of the amounts of `entries`: the balance of all accounts.' }),
    reason: Type.String({ maxLength: MAX_CLOSING_REASON_CHARS }),
  }),
};
export type PeriodClosed = DataOf<typeof PERIODS_EVENTS.PeriodClosed>;
export type PeriodsEvent = EventsOf<typeof PERIODS_EVENTS>;

export type BackupTurnEvent = EventsOf<typeof BACKUP_TURN_EVENTS>;

export const SERVICE_EVENTS = {
  ...LOG_IDENTITY_EVENTS,
  ...MAINTENANCE_EVENTS,
  ...BACKUP_TURN_EVENTS,
  ...PARKED_EVENTS,
  ...PERIODS_EVENTS,
};
