// The streams `user-{userId}`: a user as the identity provider describes them, what they told of their machine, the decision on
// their signup bonus, and what administrators set and wrote.

import { type DataOf, type EventsOf, event } from './event-spec.ts';
import { personal } from './personal.ts';
import { Nullable, Type } from './schema.ts';

const email = personal(Nullable(Type.String()), 'user');
const detail = personal(Nullable(Type.String()), 'user');
const Time = Type.String({ format: 'date-time' });
const Count = Type.Integer({ minimum: 0 });
const reason = personal(Type.String(), 'user');

export const MAX_USER_NOTES_CHARS = 10_000;

/** `address_limit`: the client's address had its bonuses of the day. `fingerprint_repeated`: one of them had the same fingerprint. */
const WITHHELD_REASONS = ['address_limit', 'fingerprint_repeated'] as const;
export type WithheldReason = (typeof WITHHELD_REASONS)[number];

export const USER_EVENTS = {
  UserRegistered: event({ user_id: Type.String(), email }),
  /** A token had another address. */
  UserUpdated: event({ email }),
  /** A token, or the identity provider's webhook, had another name. */
  UserNamed: event({ name: personal(Nullable(Type.String()), 'user') }),
  /** A token made the user an administrator, or no longer does. */
  UserRoleSeen: event({ is_admin: Type.Boolean() }),
  /** The identity provider's webhook described the user as of `updated_at`. */
  IdentityReported: event({ message_id: Type.String(), updated_at: Time, email }),
  /** Null where the browser could not tell. */
  FingerprintRecorded: event({ os: detail, device_type: detail, screen_size: detail, recorded_at: Time }),
  /** The ledger's `CreditsGranted` of the signup bonus follows, where new accounts get credits. It also opens the way to the trial. */
  SignupBonusApproved: event({}),
  SignupBonusWithheld: event({ reason: Type.Enum(WITHHELD_REASONS) }),
  /** An administrator set the most credits that the user's jobs may use in a period, or removed the limit (null). */
  UsageLimitSet: event({ limit: Nullable(Count), reason }),
  /** The same, by the user. The lower one of both holds. */
  SpendingLimitSet: event({ limit: Nullable(Count) }),
  /** Which mails about credits the user wants: below which balance (null: a tenth of the last grant; 0: never), and before credits expire. */
  CreditMailsSet: event({ low_balance: Nullable(Count), expiring_credits: Type.Boolean() }),
  /** An administrator set the user's usage in a period to `usage`; the ledger had counted `counted` in it. */
  UsageSet: event({ period_start: Time, usage: Count, counted: Count, reason }),
  /** What administrators write of the user for each other; null for nothing. */
  NotesUpdated: event({ notes: personal(Nullable(Type.String({ maxLength: MAX_USER_NOTES_CHARS })), 'user') }),
  /** Administrators see starred users first. */
  UserStarred: event({}),
  UserUnstarred: event({}),
  /** The user, or an administrator, ended all sessions of browsers that had begun. */
  SessionsEnded: event({}),
  /** The user's erasure is asked for. The service refuses the user from now on, and removes all that it keeps of them. */
  UserErased: event({}),
  /** The erasure is done: everything is removed, and the user's key is destroyed. */
  UserForgotten: event({}),
};

export type FingerprintRecorded = DataOf<typeof USER_EVENTS.FingerprintRecorded>;
export type Fingerprint = Omit<FingerprintRecorded, 'recorded_at'>;
export type CreditMails = DataOf<typeof USER_EVENTS.CreditMailsSet>;
/** Of a user who has set nothing. */
export const USUAL_CREDIT_MAILS: CreditMails = { low_balance: null, expiring_credits: true };
export type UserEvent = EventsOf<typeof USER_EVENTS>;
