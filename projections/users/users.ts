// The read model of users.
import { idOf } from '../../events/streams.ts';
import { isTestUser } from '../../events/test-user.ts';
import type { LogEvent } from '../../events/vocabulary.ts';
import type { Update, Write } from '../../readmodels/documents.ts';
import { type UserDocument, users } from '../../readmodels/users/users.ts';
import { type Projection, projection } from '../projection.ts';
import { writeAll } from '../slices.ts';

/** Written at once in the end, in order. */
type Page = Write<UserDocument>[];

/** Makes a handler that sets fields of the stream's user. */
const setOf = <Event extends LogEvent>(changes: (event: Event) => Partial<UserDocument>) => {
  return (event: Event, page: Page) => update(page, idOf(event.stream), { $set: changes(event) });
};
const update = (page: Page, user_id: string, set: Update) => void page.push({ update: user_id, set });

export const usersProjection: Projection = projection({
  name: 'users',
  version: 2,
  collections: [users],
  covers: ['user'],
  ignores: [
    ...(['UserRoleSeen', 'SignupBonusApproved', 'UsageSet', 'UserStarred', 'UserUnstarred', 'SessionsEnded'] as const),
  ],
  begin: (): Page => [],
  on: {
    UserRegistered: ({ data: { user_id, email }, metadata: { at } }, page) =>
      void page.push({ replace: newUser(user_id, email, at) }),
    UserUpdated: setOf(({ data: { email } }) => ({ email })),
    UserNamed: setOf(({ data: { name } }) => ({ name })),
    IdentityReported: setOf(({ data: { email } }) => ({ email })),
    FingerprintRecorded: setOf(({ data: fingerprint }) => ({ fingerprint })),
    SignupBonusWithheld: setOf(({ data: { reason }, metadata: { at } }) => ({
      bonus: { status: 'withheld', reason, at },
    })),
    UsageLimitSet: setOf(({ data: { limit } }) => ({ custom_limit: limit })),
    SpendingLimitSet: setOf(({ data: { limit } }) => ({ spending_limit: limit })),
    CreditMailsSet: setOf(({ data: credit_mails }) => ({ credit_mails })),
    NotesUpdated: setOf(({ data: { notes } }) => ({ notes })),
    UserErased: setOf(({ metadata: { at } }) => ({ ...GONE, erased_at: at })),
    // A request that had begun before the erasure may have recorded something after it.
    UserForgotten: setOf(() => GONE),
    CreditsGranted({ stream, data: { transaction_type }, metadata: { at } }, page) {
      if (transaction_type !== 'signup_bonus') return;
      update(page, idOf(stream), { $set: { bonus: { status: 'granted', reason: null, at } } });
    },
    JobCreated({ data: { owner_id }, metadata: { at } }, page) {
      if (isTestUser(owner_id)) return;
      update(page, owner_id, { $set: { last_job_at: at }, $inc: { jobs_created: 1 } });
    },
  },
  async end(page, open) {
    await writeAll(await open(users), page);
  },
});

const GONE = { email: null, name: null, fingerprint: null, notes: null };

const newUser = (user_id: string, email: string | null, at: string): UserDocument => ({
  _id: user_id,
  email,
  name: null,
  registered_at: at,
  fingerprint: null,
  bonus: { status: 'pending', reason: null, at: null },
  custom_limit: null,
  notes: null,
  jobs_created: 0,
  last_job_at: null,
  erased_at: null,
});
