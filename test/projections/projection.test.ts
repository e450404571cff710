import test from 'ava';
import { stamp } from '../../commands/aggregate.ts';
import { type Projection, projection } from '../../projections/projection.ts';
import { commandContext } from '../support/stores.ts';

const OTHERS = [
  ...(['IdentityReported', 'FingerprintRecorded', 'SignupBonusApproved', 'SignupBonusWithheld'] as const),
  ...(['UsageLimitSet', 'SpendingLimitSet', 'CreditMailsSet', 'UsageSet', 'UserErased', 'UserForgotten'] as const),
  ...(['UserNamed', 'UserRoleSeen', 'NotesUpdated', 'UserStarred', 'UserUnstarred', 'SessionsEnded'] as const),
] as const;

const SPEC = { name: 'emails', version: 1, collections: [] };

test('handlers get their events in the order of the log, between begin and end of a page', async (t) => {
  const emails: Projection = projection({
    ...SPEC,
    covers: ['user'],
    ignores: OTHERS,
    begin: (_open, events) => [`${events.length} events`],
    on: {
      UserRegistered: ({ data }, page) => void page.push(`registered ${data.email}`),
      UserUpdated: async ({ data }, page) => void page.push(`updated ${data.email}`),
    },
    end: async (page) => void t.deepEqual(page, ['3 events', 'registered a@b.c', 'updated d@e.f', 'updated null']),
  });
  t.deepEqual(emails.types, ['UserRegistered', 'UserUpdated']);
  const events = stamp(
    [
      { type: 'UserRegistered', data: { user_id: 'alice', email: 'a@b.c' } },
      { type: 'UserUpdated', data: { email: 'd@e.f' } },
      { type: 'UserUpdated', data: { email: null } },
    ],
    commandContext(),
    'user-alice',
    0,
  ).map((event, revision) => ({ ...event, stream: 'user-alice', revision, position: String(revision) }));
  t.plan(2);
  await emails.apply(events, () => t.fail('it opens nothing'));
});

test('a projection that forgets an event type of a category that it covers does not compile', (t) => {
  const begin = () => null;
  const UserRegistered = () => {};
  // @ts-expect-error UserUpdated has no handler
  const forgetful: Projection = projection({ ...SPEC, covers: ['user'], begin, on: { UserRegistered } });
  // This one declares that it ignores the other type.
  const all: Projection = projection({
    ...SPEC,
    covers: ['user'],
    ignores: ['UserUpdated', ...OTHERS],
    begin,
    on: { UserRegistered },
  });
  // @ts-expect-error no event has this type
  projection({ ...SPEC, begin, on: { UserRenamed: UserRegistered } });
  t.deepEqual([forgetful.types, all.types], [['UserRegistered'], ['UserRegistered']]);
});
