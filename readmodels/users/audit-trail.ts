// The audit trail: what administrators did, to whom and why. A row of `TRAIL` makes each event of a type an entry, when an
// administrator appended it. Decision 65 says why.
import { idOf } from '../../events/streams.ts';
import type { EventType, EventTypeOf, LogEvent } from '../../events/vocabulary.ts';
import { type Collection, type Document, kept, type ReadModelSpec } from '../documents.ts';
import { type Page, type Paging, pageOf } from '../pages.ts';

/** What an entry says besides who did it and when. It holds no personal data but the reason, which goes with the user. */
interface TrailFacts {
  /** The user whom it is about. */
  user_id?: string;
  /** What it was done to, unless it is a user: a domain, or the id of a note or of a job. */
  target?: string;
  /** The administrator's own words. */
  reason?: string;
  details?: Readonly<Record<string, string | number | boolean | null>>;
}

interface TrailRow<Type extends EventType> {
  action: string;
  /** Null for an event that is no action of administration. */
  facts: (event: LogEvent<Type>) => TrailFacts | null;
}

const ofUser = ({ stream }: LogEvent): TrailFacts => ({ user_id: idOf(stream) });
const ofDomain = ({ data: { domain } }: LogEvent<'DomainBlocked' | 'DomainBlockUpdated' | 'DomainUnblocked'>) => ({
  target: domain,
});

/** An event type joins the trail by a row here. Each entry of the ledger has one, or null: an administrator never makes it. */
const TRAIL: { readonly [Type in EventType]?: TrailRow<Type> | null } & Readonly<
  Record<EventTypeOf<'credits'>, unknown>
> = {
  ...{ CreditsGranted: null, CreditsReserved: null, CreditsRefunded: null, CreditsExpired: null },
  ...{ CreditsReversed: null, CreditsRestored: null, CreditsRecovered: null },
  BackupStarted: { action: 'backup_started', facts: ({ stream }) => ({ target: idOf(stream) }) },
  CreditsAdjusted: {
    action: 'credits_adjusted',
    facts: ({ stream, data: { amount, balance_after, reason } }) => ({
      ...{ user_id: idOf(stream), reason, details: { amount, balance_after } },
    }),
  },
  UsageLimitSet: {
    action: 'usage_limit_set',
    facts: ({ stream, data: { limit, reason } }) => ({ user_id: idOf(stream), reason, details: { limit } }),
  },
  UsageSet: {
    action: 'usage_set',
    facts: ({ stream, data: { usage, counted, period_start, reason } }) => ({
      ...{ user_id: idOf(stream), reason, details: { usage, counted, period_start } },
    }),
  },
  NotesUpdated: { action: 'notes_updated', facts: ofUser },
  UserStarred: { action: 'user_starred', facts: ofUser },
  UserUnstarred: { action: 'user_unstarred', facts: ofUser },
  SessionsEnded: { action: 'sessions_ended', facts: ofUser },
  UserErased: { action: 'user_erased', facts: ofUser },
  DomainBlocked: { action: 'domain_blocked', facts: ofDomain },
  DomainBlockUpdated: { action: 'domain_block_updated', facts: ofDomain },
  DomainUnblocked: { action: 'domain_unblocked', facts: ofDomain },
  GrowthNoteAdded: { action: 'growth_note_added', facts: ({ stream }) => ({ target: idOf(stream) }) },
  GrowthNoteDeleted: { action: 'growth_note_deleted', facts: ({ stream }) => ({ target: idOf(stream) }) },
  MaintenanceStarted: { action: 'maintenance_started', facts: ({ data: { message } }) => ({ details: { message } }) },
  MaintenanceEnded: { action: 'maintenance_ended', facts: () => ({}) },
  ProxyListRefreshed: {
    action: 'proxy_list_refreshed',
    facts: ({ data: { proxies, skipped } }) => ({ details: { proxies: proxies.length, skipped } }),
  },
  JobCreated: {
    action: 'job_rerun',
    facts: ({ data: { job_id, owner_id, rerun_of, credits_allocated } }) =>
      rerun_of === undefined ? null : { user_id: owner_id, target: job_id, details: { rerun_of, credits_allocated } },
  },
  ParkedEventDiscarded: {
    action: 'parked_event_discarded',
    facts: ({ data: { projection, type, stream, revision, reason } }) => ({
      ...{ target: projection, reason, details: { type, stream, revision } },
    }),
  },
  PeriodClosed: {
    action: 'period_closed',
    facts: ({ data: { until, entries, credits, reason } }) => ({
      target: until,
      reason,
      details: { entries, credits },
    }),
  },
  LogsDeleted: { action: 'logs_deleted', facts: ({ data }) => ({ details: data }) },
  LogDeleted: {
    action: 'log_deleted',
    facts: ({ data: { job_id, index, attempt } }) => ({ target: job_id, details: { index, attempt } }),
  },
  LogsTruncated: { action: 'logs_truncated', facts: () => ({}) },
  JobDeleted: { action: 'job_deleted', facts: ({ stream }) => ({ target: idOf(stream) }) },
};

const rows = Object.entries(TRAIL).flatMap(([type, row]) => (row ? [{ type, action: row.action }] : []));
export const TRAIL_TYPES: readonly string[] = rows.map(({ type }) => type);
export const TRAIL_ACTIONS: readonly string[] = rows.map(({ action }) => action);

export interface TrailEntry extends Document {
  /** `_id` is the event's id. ISO 8601. */
  at: string;
  action: string;
  /** The administrator's user id. */
  admin: string;
  user_id: string | null;
  target: string | null;
  reason: string | null;
  details: Readonly<Record<string, string | number | boolean | null>>;
}

const NEWEST = { at: -1, _id: -1 } as const;

export const auditTrail: ReadModelSpec<TrailEntry> = {
  name: 'audit_trail',
  ...kept(
    'under 1 kB an entry, beside its reason',
    'never; the reasons about a user with the erasure',
    'administration',
  ),
  fields: { at: 'string', action: 'string', admin: 'string', user_id: 'string' },
  // Each has all fields, so that a page reads no document but its own.
  indexes: [
    { fields: { ...NEWEST, action: 1, admin: 1, user_id: 1 } },
    { fields: { user_id: 1, ...NEWEST, action: 1, admin: 1 } },
    { fields: { admin: 1, ...NEWEST, action: 1, user_id: 1 } },
    { fields: { action: 1, ...NEWEST, admin: 1, user_id: 1 } },
  ],
};

const ADMIN = 'admin:';

/** The entry that an event is; null when no administrator appended it, or when it is none. */
export function trailEntryOf(event: LogEvent): TrailEntry | null {
  const { id: _id, type, metadata } = event;
  const row = TRAIL[type] as TrailRow<EventType> | null | undefined;
  if (!row || !metadata.actor.startsWith(ADMIN)) return null;
  const facts = row.facts(event as never);
  if (!facts) return null;
  const { user_id = null, target = null, reason = null, details = {} } = facts;
  const admin = metadata.actor.slice(ADMIN.length);
  return { _id, at: metadata.at, action: row.action, admin, user_id, target, reason: reason || null, details };
}

export interface TrailQuery {
  user_id?: string;
  admin?: string;
  action?: string;
  /** ISO 8601; `from` inclusive, `to` exclusive. */
  from?: string;
  to?: string;
}

/** A page of the trail, the newest entry first. */
export function trailPage(
  collection: Pick<Collection<TrailEntry>, 'find' | 'count'>,
  { user_id, admin, action, from, to }: TrailQuery,
  paging: Paging,
): Promise<Page<TrailEntry>> {
  const at = { ...(from !== undefined && { $gte: from }), ...(to !== undefined && { $lt: to }) };
  const filter = {
    ...(user_id !== undefined && { user_id }),
    ...(admin !== undefined && { admin }),
    ...(action !== undefined && { action }),
    ...(Object.keys(at).length > 0 && { at }),
  };
  return pageOf(collection, filter, NEWEST, paging);
}
