// The aggregate of one user: the identity, the fingerprint, the decision on the signup bonus, what administrators set and wrote, and the
// erasure.
import type { EventStore } from '../../events/event-store.ts';
import { userStream } from '../../events/streams.ts';
import type { UsageCorrection } from '../../events/usage.ts';
import {
  type CreditMails,
  type Fingerprint,
  USUAL_CREDIT_MAILS,
  type UserEvent,
  type WithheldReason,
} from '../../events/user.ts';
import { DAY_MS } from '../../time/units.ts';
import { type Aggregate, type CommandContext, type Decision, evolveBy, openAggregate } from '../aggregate.ts';

export interface User {
  /** `erased`: the erasure is asked for; `forgotten`: it is done. */
  status: 'unknown' | 'registered' | 'erased' | 'forgotten';
  email: string | null;
  name: string | null;
  /** As the last token said. */
  is_admin: boolean;
  /** The newest description by the identity provider's webhook, with the ids of the messages of that time; null before the first. */
  reported: { updated_at: string; message_ids: readonly string[] } | null;
  fingerprint: Fingerprint | null;
  /** The times of the newest fingerprints, in ISO 8601. */
  fingerprints_at: readonly string[];
  bonus: 'pending' | 'approved' | WithheldReason;
  /** The most credits that the user's jobs may use in a period, by administrators and by the user; null for no limit. */
  usage_limit: number | null;
  spending_limit: number | null;
  credit_mails: CreditMails;
  /** An administrator's correction of the usage that the ledger counts in one period. */
  usage_correction: UsageCorrection | null;
  /** What administrators wrote of the user. */
  notes: string | null;
  is_starred: boolean;
  /** How often all sessions were ended. */
  endings: number;
}

export const initial = (): User => ({
  status: 'unknown',
  email: null,
  name: null,
  is_admin: false,
  reported: null,
  fingerprint: null,
  fingerprints_at: [],
  bonus: 'pending',
  usage_limit: null,
  spending_limit: null,
  credit_mails: USUAL_CREDIT_MAILS,
  usage_correction: null,
  notes: null,
  is_starred: false,
  endings: 0,
});

const GONE = { email: null, name: null, fingerprint: null, fingerprints_at: [], notes: null };

export const evolve = evolveBy<User, UserEvent>({
  UserRegistered: (user, { email }) => ({ ...user, status: 'registered', email }),
  UserUpdated: (user, { email }) => ({ ...user, email }),
  UserNamed: (user, { name }) => ({ ...user, name }),
  UserRoleSeen: (user, { is_admin }) => ({ ...user, is_admin }),
  IdentityReported(user, { email, updated_at, message_id }) {
    const before = user.reported?.updated_at === updated_at ? user.reported.message_ids : [];
    return { ...user, email, reported: { updated_at, message_ids: [...before, message_id] } };
  },
  FingerprintRecorded(user, { recorded_at, ...fingerprint }) {
    const fingerprints_at = [...user.fingerprints_at, recorded_at].slice(-FINGERPRINTS_A_DAY);
    return { ...user, fingerprint, fingerprints_at };
  },
  SignupBonusApproved: (user) => ({ ...user, bonus: 'approved' }),
  SignupBonusWithheld: (user, { reason }) => ({ ...user, bonus: reason }),
  UsageLimitSet: (user, { limit }) => ({ ...user, usage_limit: limit }),
  SpendingLimitSet: (user, { limit }) => ({ ...user, spending_limit: limit }),
  CreditMailsSet: (user, credit_mails) => ({ ...user, credit_mails }),
  UsageSet: (user, { period_start, usage, counted }) => ({
    ...user,
    usage_correction: { period_start, added: usage - counted },
  }),
  NotesUpdated: (user, { notes }) => ({ ...user, notes }),
  UserStarred: (user) => ({ ...user, is_starred: true }),
  UserUnstarred: (user) => ({ ...user, is_starred: false }),
  SessionsEnded: (user) => ({ ...user, endings: user.endings + 1 }),
  UserErased: (user) => ({ ...user, ...GONE, status: 'erased' }),
  UserForgotten: (user) => ({ ...user, ...GONE, status: 'forgotten' }),
});

export const isErased = ({ status }: Readonly<User>) => status === 'erased' || status === 'forgotten';
const ERASED = { refused: { code: 'user_erased', message: 'The account was erased.' } } as const;
const NOT_FOUND = { refused: { code: 'user_not_found', message: 'There is no such user.' } } as const;

/** Why administrators cannot change the user; null when they can. */
export function notAUser(user: Readonly<User>) {
  if (isErased(user)) return ERASED.refused;
  return user.status === 'unknown' ? NOT_FOUND.refused : null;
}

/** Who a token or an API key says that its bearer is. An API key says neither name nor role. */
export interface SeenUser {
  user_id: string;
  email: string | null;
  name?: string;
  is_admin?: boolean;
}

/**
 * Records the identity that a token carries; makes no event when it has not changed. An address and a name that the identity
 * provider's webhook reported stay: the token may be older. An erased user stays erased.
 */
export function see(
  user: Readonly<User>,
  { user_id, email, name, is_admin = user.is_admin }: SeenUser,
): Decision<UserEvent> {
  if (isErased(user)) return ERASED;
  const events: UserEvent[] = [];
  if (user.status === 'unknown') events.push({ type: 'UserRegistered', data: { user_id, email } });
  else if (email !== null && email !== user.email && !user.reported)
    events.push({ type: 'UserUpdated', data: { email } });
  const is_news = name !== undefined && name !== user.name && (user.name === null || !user.reported);
  if (is_news) events.push({ type: 'UserNamed', data: { name } });
  if (is_admin !== user.is_admin) events.push({ type: 'UserRoleSeen', data: { is_admin } });
  return { events };
}

/** A description of a user by the identity provider's webhook. */
export interface IdentityReport {
  message_id: string;
  user_id: string;
  email: string | null;
  /** Null where the provider reports none: a known name then stays. */
  name: string | null;
  /** The provider's time of the change, in ISO 8601. */
  updated_at: string;
}

/** Records a report once, and only when none of a later time is recorded. */
export function report(user: Readonly<User>, given: IdentityReport): Decision<UserEvent> {
  if (isErased(user)) return ERASED;
  const { user_id, email, name, message_id } = given;
  const updated_at = new Date(given.updated_at).toISOString();
  const { reported } = user;
  if (reported && updated_at < reported.updated_at) return { events: [] };
  if (reported?.updated_at === updated_at && reported.message_ids.includes(message_id)) return { events: [] };
  const registered: UserEvent[] =
    user.status === 'unknown' ? [{ type: 'UserRegistered', data: { user_id, email } }] : [];
  const named: UserEvent[] = name === null || name === user.name ? [] : [{ type: 'UserNamed', data: { name } }];
  return { events: [...registered, { type: 'IdentityReported', data: { message_id, updated_at, email } }, ...named] };
}

/** The log takes this many changes of a user's fingerprint in 24 hours. */
export const FINGERPRINTS_A_DAY = 20;

/** Records a fingerprint that differs from the last one. `now`: milliseconds since the epoch. */
export function recordFingerprint(user: Readonly<User>, given: Fingerprint, now: number): Decision<UserEvent> {
  if (isErased(user)) return ERASED;
  const known = user.fingerprint;
  const { os, device_type, screen_size } = given;
  if (known && known.os === os && known.device_type === device_type && known.screen_size === screen_size) {
    return { events: [] };
  }
  if (user.fingerprints_at.filter((at) => Math.abs(now - Date.parse(at)) < DAY_MS).length >= FINGERPRINTS_A_DAY) {
    const message = `The fingerprint changed ${FINGERPRINTS_A_DAY} times within 24 hours; it is not recorded again.`;
    return { refused: { code: 'too_many_fingerprints', message } };
  }
  const recorded_at = new Date(now).toISOString();
  return { events: [{ type: 'FingerprintRecorded', data: { os, device_type, screen_size, recorded_at } }] };
}

/** Decides on the signup bonus; the first decision stays. */
export function decideBonus(user: Readonly<User>, withheld: WithheldReason | null): Decision<UserEvent> {
  if (isErased(user)) return ERASED;
  if (user.bonus !== 'pending') return { events: [] };
  if (withheld === null) return { events: [{ type: 'SignupBonusApproved', data: {} }] };
  return { events: [{ type: 'SignupBonusWithheld', data: { reason: withheld } }] };
}

/** Sets or removes the limit of a user's usage in a period. */
export function limitUsage(
  user: Readonly<User>,
  { limit, reason }: { limit: number | null; reason: string },
): Decision<UserEvent> {
  const refused = notAUser(user);
  if (refused) return { refused };
  return { events: user.usage_limit === limit ? [] : [{ type: 'UsageLimitSet', data: { limit, reason } }] };
}

/** Sets or removes the user's own limit. */
export function limitSpending(user: Readonly<User>, limit: number | null): Decision<UserEvent> {
  if (isErased(user)) return ERASED;
  return { events: user.spending_limit === limit ? [] : [{ type: 'SpendingLimitSet', data: { limit } }] };
}

/** Sets which mails about credits the user wants. */
export function chooseCreditMails(user: Readonly<User>, chosen: CreditMails): Decision<UserEvent> {
  if (isErased(user)) return ERASED;
  const { low_balance, expiring_credits } = user.credit_mails;
  const is_so = chosen.low_balance === low_balance && chosen.expiring_credits === expiring_credits;
  return { events: is_so ? [] : [{ type: 'CreditMailsSet', data: chosen }] };
}

/** Sets a user's usage in the period; `counted` is what the ledger has counted in it. */
export function setUsage(
  user: Readonly<User>,
  set: { period_start: string; usage: number; counted: number; reason: string },
): Decision<UserEvent> {
  const refused = notAUser(user);
  if (refused) return { refused };
  return { events: [{ type: 'UsageSet', data: set }] };
}

/** Replaces what administrators wrote of a user: with `replaces` only these notes. */
export function updateNotes(user: Readonly<User>, notes: string | null, replaces = user.notes): Decision<UserEvent> {
  const refused = notAUser(user);
  if (refused) return { refused };
  if (user.notes === notes) return { events: [] };
  if (user.notes !== replaces) return { refused: { code: 'notes_changed', message: NOTES_CHANGED } };
  return { events: [{ type: 'NotesUpdated', data: { notes } }] };
}
export const NOTES_CHANGED = 'Somebody else has changed the notes. Load them again.';

/** Stars a user, or takes the star away; null turns what is so into the other. */
export function star(user: Readonly<User>, is_starred: boolean | null): Decision<UserEvent> {
  const refused = notAUser(user);
  if (refused) return { refused };
  if (is_starred === user.is_starred) return { events: [] };
  return { events: [{ type: user.is_starred ? 'UserUnstarred' : 'UserStarred', data: {} }] };
}

/** Ends all sessions that the user has. Without an account there are none, and an erased user has none. */
export const endSessions = ({ status }: Readonly<User>): Decision<UserEvent> => ({
  events: status === 'registered' ? [{ type: 'SessionsEnded', data: {} }] : [],
});

/** Asks for the erasure of a user, which the processes carry out. `unknown_too`: also for a user who never came. */
export function erase({ status }: Readonly<User>, { unknown_too = false } = {}): Decision<UserEvent> {
  if (status === 'unknown' && !unknown_too) return NOT_FOUND;
  const is_done = status === 'erased' || status === 'forgotten';
  return { events: is_done ? [] : [{ type: 'UserErased', data: {} }] };
}

/** Records that nothing of an erased user is left. */
const forget = ({ status }: Readonly<User>): Decision<UserEvent> => ({
  events: status === 'erased' ? [{ type: 'UserForgotten', data: {} }] : [],
});

export type UserAggregate = Aggregate<User, UserEvent>;

export const openUserAggregate = (log: EventStore): UserAggregate =>
  openAggregate<User, UserEvent>(log, { initial, evolve });

/** The commands on erased users. */
export type Erasures = ReturnType<typeof openErasures>;

/** `aggregate`: that of the process; default: one of its own. */
export function openErasures(log: EventStore, aggregate = openUserAggregate(log)) {
  return {
    /** Refused as `user_not_found`. Erasing an erased user succeeds. */
    erase: (user_id: string, context: CommandContext) =>
      aggregate.handle(userStream(user_id), context, (user) => erase(user)),
    forget: (user_id: string, context: CommandContext) => aggregate.handle(userStream(user_id), context, forget),
  };
}
