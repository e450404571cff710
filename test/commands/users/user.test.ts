import test from 'ava';
import {
  decideBonus,
  erase,
  evolve,
  FINGERPRINTS_A_DAY,
  initial,
  limitUsage,
  recordFingerprint,
  report,
  see,
  setUsage,
  star,
  type User,
  updateNotes,
} from '../../../commands/users/user.ts';
import type { UserEvent } from '../../../events/user.ts';

const NOW = Date.parse('2026-11-22T09:00:00.000Z');
const registered: UserEvent = { type: 'UserRegistered', data: { user_id: 'alice', email: 'old@example.com' } };
const erased: UserEvent = { type: 'UserErased', data: {} };
const given = (...events: UserEvent[]): User => fold(events);
const fold = (events: readonly UserEvent[], user = initial()): User => events.reduce(evolve, user);
const reported = (message_id: string, updated_at: string, email: string): UserEvent => ({
  type: 'IdentityReported',
  data: { message_id, updated_at, email },
});
const LINUX = { os: 'Linux', device_type: 'desktop', screen_size: '1920x1080' };
const message = (message_id: string, updated_at: string, email: string) => ({
  ...{ user_id: 'alice', message_id, updated_at, email, name: null },
});

test("a report of the identity provider's webhook sets the address", (t) => {
  t.deepEqual(report(given(registered), message('m1', '2026-11-22T08:00:00+01:00', 'new@example.com')), {
    events: [reported('m1', '2026-11-22T07:00:00.000Z', 'new@example.com')],
  });
});

test('a report of an unknown user registers them', (t) => {
  t.deepEqual(report(given(), message('m1', '2026-11-22T07:00:00.000Z', 'a@example.com')), {
    events: [
      { type: 'UserRegistered', data: { user_id: 'alice', email: 'a@example.com' } },
      reported('m1', '2026-11-22T07:00:00.000Z', 'a@example.com'),
    ],
  });
});

test('a repeated report and an older one change nothing', (t) => {
  const user = given(registered, reported('m2', '2026-11-22T07:00:00.000Z', 'new@example.com'));
  t.deepEqual(report(user, message('m2', '2026-11-22T07:00:00.000Z', 'new@example.com')), { events: [] });
  t.deepEqual(report(user, message('m1', '2026-11-22T06:59:59.999Z', 'older@example.com')), { events: [] });
});

test('two reports of the same time are both recorded, each once', (t) => {
  const at = '2026-11-22T07:00:00.000Z';
  const user = given(registered, reported('m1', at, 'a@example.com'), reported('m2', at, 'b@example.com'));
  t.deepEqual(report(user, message('m1', at, 'a@example.com')), { events: [] });
  t.deepEqual(report(user, message('m3', at, 'c@example.com')), { events: [reported('m3', at, 'c@example.com')] });
});

test("a token's address gives way to a reported one, and else replaces the last", (t) => {
  const seen = { user_id: 'alice', email: 'token@example.com' };
  t.deepEqual(see(given(registered), seen), { events: [{ type: 'UserUpdated', data: { email: seen.email } }] });
  const user = given(registered, reported('m1', '2026-11-22T07:00:00.000Z', 'new@example.com'));
  t.deepEqual(see(user, seen), { events: [] });
});

test('an erased user stays erased, whatever arrives', (t) => {
  const user = given(registered, erased);
  const refusals = [
    see(user, { user_id: 'alice', email: null }),
    report(user, message('m9', '2026-11-22T07:00:00.000Z', 'a@example.com')),
    recordFingerprint(user, LINUX, NOW),
    decideBonus(user, null),
    limitUsage(user, { limit: 5, reason: '' }),
    setUsage(user, { period_start: '2026-11-01T00:00:00.000Z', usage: 0, counted: 0, reason: '' }),
  ];
  for (const refusal of refusals) t.like(refusal, { refused: { code: 'user_erased' } });
  t.deepEqual(erase(user), { events: [] });
});

test('a user who never came can be erased when the provider says so, and then cannot be registered', (t) => {
  t.like(erase(given()), { refused: { code: 'user_not_found' } });
  t.deepEqual(erase(given(), { unknown_too: true }), { events: [erased] });
  t.like(report(given(erased), message('m1', '2026-11-22T07:00:00.000Z', 'a@example.com')), {
    refused: { code: 'user_erased' },
  });
});

test('a fingerprint is recorded when it differs from the last one', (t) => {
  const data = { ...LINUX, recorded_at: '2026-11-22T09:00:00.000Z' };
  const recorded: UserEvent = { type: 'FingerprintRecorded', data };
  t.deepEqual(recordFingerprint(given(registered), LINUX, NOW), { events: [recorded] });
  t.deepEqual(recordFingerprint(given(registered, recorded), LINUX, NOW), { events: [] });
  t.like(recordFingerprint(given(registered, recorded), { ...LINUX, os: null }, NOW), {
    events: [{ type: 'FingerprintRecorded' }],
  });
});

test('a fingerprint that changes all the time is refused until a day has passed', (t) => {
  const at = (n: number, recorded_at = '2026-11-22T08:00:00.000Z'): UserEvent => ({
    type: 'FingerprintRecorded',
    data: { ...LINUX, os: `os ${n}`, recorded_at },
  });
  const user = given(registered, ...Array.from({ length: FINGERPRINTS_A_DAY }, (_, n) => at(n)));
  t.like(recordFingerprint(user, LINUX, NOW), { refused: { code: 'too_many_fingerprints' } });
  t.like(recordFingerprint(user, LINUX, NOW + 24 * 3_600_000), { events: [{ type: 'FingerprintRecorded' }] });
});

test('the first decision on the bonus stays', (t) => {
  const withheld: UserEvent = { type: 'SignupBonusWithheld', data: { reason: 'address_limit' } };
  t.deepEqual(decideBonus(given(registered), 'address_limit'), { events: [withheld] });
  t.deepEqual(decideBonus(given(registered, withheld), null), { events: [] });
  const approved: UserEvent = { type: 'SignupBonusApproved', data: {} };
  t.deepEqual(decideBonus(given(registered), null), { events: [approved] });
  t.deepEqual(decideBonus(given(registered, approved), 'address_limit'), { events: [] });
});

test('an administrator sets a limit for known users only, and a repeated command changes nothing', (t) => {
  const set = { limit: 5, reason: 'abuse' };
  t.like(limitUsage(given(), set), { refused: { code: 'user_not_found' } });
  const events: UserEvent[] = [{ type: 'UsageLimitSet', data: set }];
  t.deepEqual(limitUsage(given(registered), set), { events });
  t.deepEqual(limitUsage(given(registered, ...events), set), { events: [] });
});

test('a name comes from a token until the provider reports one, and a role from the last token', (t) => {
  const seen = { user_id: 'alice', email: null, name: 'Alice', is_admin: true };
  const first = see(initial(), seen);
  t.deepEqual('events' in first && first.events.map(({ type }) => type), [
    'UserRegistered',
    'UserNamed',
    'UserRoleSeen',
  ]);
  const alice = fold('events' in first ? first.events : []);
  t.like(alice, { name: 'Alice', is_admin: true });
  t.deepEqual(see(alice, seen), { events: [] });
  t.deepEqual(see(alice, { user_id: 'alice', email: null }), { events: [] }, 'an API key says neither');
  t.deepEqual(see(alice, { ...seen, is_admin: false }), {
    events: [{ type: 'UserRoleSeen', data: { is_admin: false } }],
  });
  const updated_at = '2026-11-22T09:00:00.000Z';
  const told = report(alice, { user_id: 'alice', message_id: 'm', email: null, name: 'Alice Arden', updated_at });
  const reported = fold('events' in told ? told.events : [], alice);
  t.is(reported.name, 'Alice Arden');
  t.deepEqual(see(reported, seen), { events: [] }, 'the token may be older');
  const nameless = report(reported, { user_id: 'alice', message_id: 'n', email: null, name: null, updated_at });
  t.is(fold('events' in nameless ? nameless.events : [], reported).name, 'Alice Arden');
});

test('notes and stars change once, and nothing of an unknown or erased user', (t) => {
  const alice = fold([{ type: 'UserRegistered', data: { user_id: 'alice', email: null } }]);
  t.deepEqual(updateNotes(alice, null), { events: [] });
  const noted = fold([{ type: 'NotesUpdated', data: { notes: 'a' } }], alice);
  t.deepEqual(updateNotes(noted, 'a'), { events: [] });
  t.deepEqual(updateNotes(noted, 'a', null), { events: [] }, 'a repeat');
  t.like(updateNotes(noted, 'b', null), { refused: { code: 'notes_changed' } });
  t.deepEqual(updateNotes(noted, null, 'a'), { events: [{ type: 'NotesUpdated', data: { notes: null } }] });
  t.deepEqual(star(alice, false), { events: [] });
  t.deepEqual(star(alice, true), { events: [{ type: 'UserStarred', data: {} }] });
  const starred = fold([{ type: 'UserStarred', data: {} }], alice);
  t.deepEqual(star(starred, true), { events: [] });
  t.deepEqual(star(starred, null), { events: [{ type: 'UserUnstarred', data: {} }] });
  const erased = fold([{ type: 'UserErased', data: {} }], noted);
  t.is(erased.notes, null);
  for (const [user, code] of [
    [initial(), 'user_not_found'],
    [erased, 'user_erased'],
  ] as const) {
    for (const decision of [updateNotes(user, 'b'), star(user, null)]) t.like(decision, { refused: { code } });
  }
});
