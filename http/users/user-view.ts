// A user as administrators see them: in the list, and alone.
import { Nullable, Type } from '../../events/schema.ts';
import { subscriptionAt } from '../../events/subscription-state.ts';
import { TRAIL_ACTIONS, type TrailEntry } from '../../readmodels/users/audit-trail.ts';
import type { ListedUserDocument } from '../../readmodels/users/user-list.ts';
import { Count, pick, Time } from '../frame/schemas.ts';
import { PlanName } from './profile-view.ts';

const FLAGS = ['signup_bonus_withheld', 'credits_owed'] as const;

export const UserRow = Type.Object(
  {
    user_id: Type.String({ description: "The identity provider's id." }),
    email: Nullable(Type.String()),
    name: Nullable(Type.String()),
    registered_at: Time(),
    is_admin: Type.Boolean({ description: 'As the last token of the user said.' }),
    is_starred: Type.Boolean(),
    has_notes: Type.Boolean(),
    deleted_at: Nullable(Time("When the user's erasure was asked for. Null: the user is not deleted.")),
    plan: PlanName,
    is_trial: Type.Boolean({ description: 'The plan is being tried.' }),
    credit_balance: Count('Credits that the user can spend now.'),
    credits_owed: Count('Credits of a refunded payment that were spent before.'),
    custom_limit: Nullable(Count('The most credits that jobs may use in a period.')),
    jobs_created: Count('Jobs created, deleted ones included.'),
    last_job_at: Nullable(Time('When the user created the last job.')),
    flags: Type.Array(Type.Enum(FLAGS), {
      description:
        '`signup_bonus_withheld`: too many new accounts came from one address or machine, so this one gets neither the bonus nor a trial. `credits_owed`: a payment was refunded or ' +
        'disputed after its credits were spent.',
    }),
  },
  { $id: 'AdminUser' },
);

export const userExample = {
  ...{ user_id: 'alice', email: 'alice@example.com', name: 'Alice Arden', registered_at: '2026-01-17T08:00:00.000Z' },
  ...{ is_admin: false, is_starred: true, has_notes: true, deleted_at: null, plan: 'pro', is_trial: false },
  ...{ credit_balance: 280, credits_owed: 0, custom_limit: null, jobs_created: 3 },
  ...{ last_job_at: '2026-01-31T09:00:00.000Z', flags: [] },
};

const SHOWN = [
  ...([
    'email',
    'name',
    'registered_at',
    'is_admin',
    'is_starred',
    'has_notes',
    'custom_limit',
    'jobs_created',
  ] as const),
  'last_job_at',
] as const;

/** `now`: Unix milliseconds. */
export function userRow(user: ListedUserDocument, now: number) {
  const subscription = subscriptionAt(user.subscription, now);
  return {
    user_id: user._id,
    ...pick(user, SHOWN),
    deleted_at: user.erased_at,
    ...{ plan: subscription?.plan ?? ('free' as const), is_trial: isTrial(subscription) },
    ...{ credit_balance: user.balance, credits_owed: user.owed },
    flags: FLAGS.filter((flag) => (flag === 'credits_owed' ? user.owed > 0 : user.is_bonus_withheld)),
  };
}

const isTrial = (subscription: ReturnType<typeof subscriptionAt>) =>
  subscription !== null && (subscription.is_trial || subscription.status === 'trialing');

export const AuditAction = Type.Enum(TRAIL_ACTIONS, { $id: 'AuditAction', description: 'What was done.' });
export const AuditEntry = Type.Object(
  {
    entry_id: Type.String(),
    at: Time(),
    action: AuditAction,
    admin_id: Type.String({ description: 'The user id of the administrator; `erase` for the command of operators.' }),
    user_id: Nullable(Type.String({ description: 'The user whom it was about.' })),
    target: Nullable(Type.String({ description: 'What else it was about: a domain, or the id of a note or a job.' })),
    reason: Nullable(Type.String({ description: "The administrator's words. They go when the user is erased." })),
    details: Type.Object({}, { additionalProperties: true, description: 'What it was set to.' }),
  },
  { $id: 'AuditEntry' },
);
export const auditExample = {
  ...{ entry_id: '5b2e6f4c-93a0-5d1c-b7c4-1d0f4b6a9e55', at: '2026-01-31T09:00:00.000Z', action: 'credits_adjusted' },
  ...{ admin_id: 'root', user_id: 'alice', target: null, reason: 'The job of Friday failed through our fault.' },
  details: { amount: 500, balance_after: 780 },
};
export const auditView = ({ _id: entry_id, admin: admin_id, ...entry }: TrailEntry) => ({
  ...{ entry_id, at: entry.at, action: entry.action, admin_id },
  ...pick(entry, ['user_id', 'target', 'reason', 'details']),
});
