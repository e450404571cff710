// The administrators' routes that change a user: limit, credits, usage, notes and star.

import type { Refusal } from '../../commands/aggregate.ts';
import { ADJUSTMENT_MISMATCH } from '../../commands/ledger/credits.ts';
import { openUserAdministration } from '../../commands/users/administer-users.ts';
import { openUsageLimits } from '../../commands/users/usage-limits.ts';
import { NOTES_CHANGED } from '../../commands/users/user.ts';
import { Nullable, Type } from '../../events/schema.ts';
import { MAX_USER_NOTES_CHARS } from '../../events/user.ts';
import { balances } from '../../readmodels/billing/credits.ts';
import { users } from '../../readmodels/users/users.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { BEHIND, HttpError, retryLater, ValidationError } from '../frame/errors.ts';
import { idempotencyKey, KEY } from '../frame/idempotency-key.ts';
import { jsonBody } from '../frame/request-bodies.ts';
import { routeOf } from '../frame/route.ts';
import { Count } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { notFound, params } from './admin-users.ts';
import { UsageView, usageExample, usageView } from './profile-view.ts';

const wire = ({ credits, read, now, passed }: Parts) => ({
  ...{ now, passed, limits: openUsageLimits(credits), administration: openUserAdministration(credits) },
  read: read({ users, balances }),
});
const route = routeOf<ReturnType<typeof wire>>(GATEWAY, 'administration');

const erased = { user_erased: { message: 'The account was erased.' } };
const ERASED = { description: 'The user was erased.', examples: erased };

const refusal = ({ code, message }: Refusal, details?: object) =>
  new HttpError(code === 'user_not_found' ? 404 : 409, code, message, details);

function done<Outcome extends { ok: true }>(outcome: Outcome | { ok: false; refused: Refusal }): Outcome {
  if (outcome.ok) return outcome;
  throw refusal(outcome.refused);
}

const MAX_REASON_CHARS = 500;
const reason = Type.String({
  maxLength: MAX_REASON_CHARS,
  default: '',
  description: 'Why, for the audit trail. Write nothing personal: the ledger keeps it.',
});

const setLimit = route({
  id: 'setUserLimit',
  method: 'PATCH',
  path: '/admin/users/{user_id}',
  access: 'admin',
  params,
  summary: "Set or remove a limit on a user's usage",
  description:
    'Jobs of the user use at most so many credits in a period, whatever the plan and the balance allow. It counts from the next job on.',
  body: jsonBody(
    Type.Object({
      custom_limit: Nullable(
        Type.Integer({ minimum: 0, maximum: 1_000_000_000, description: 'Null removes the limit.' }),
      ),
      reason,
    }),
    { example: { custom_limit: 1000, reason: 'A trial of the agency' } },
  ),
  responses: {
    200: {
      description: 'The limit from now on.',
      schema: Type.Object({ user_id: Type.String(), custom_limit: Nullable(Count('Credits in a period.')) }),
      example: { user_id: 'alice', custom_limit: 1000 },
    },
  },
  errors: { 404: notFound, 409: ERASED },
  async handler({ params: { user_id }, body, command }, { limits }) {
    const { custom_limit, reason } = body;
    const { position } = done(await limits.setLimit(user_id, { limit: custom_limit, reason }, command()));
    return { body: { user_id, custom_limit }, position };
  },
});

const MOST = 1_000_000_000;

const adjustCredits = route({
  id: 'adjustCredits',
  method: 'POST',
  path: '/admin/users/{user_id}/adjust-credits',
  access: 'admin',
  params,
  summary: "Add or remove a user's credits",
  description: 'Added credits never expire. The balance never goes below zero: 409 says how many can be removed.',
  query: Type.Object({
    amount: Type.Integer({
      ...{ minimum: -MOST, maximum: MOST },
      description: 'Credits to add, or to remove when it is negative; not 0.',
      examples: [500],
    }),
    reason,
  }),
  headers: idempotencyKey('Your own key for this one adjustment of this user. The service never makes it twice.'),
  responses: {
    200: {
      description: 'The adjustment is made.',
      schema: Type.Object({
        user_id: Type.String(),
        amount: Type.Integer({ description: 'Credits added; negative for credits removed.' }),
        credit_balance: Count('The balance now.'),
      }),
      example: { user_id: 'alice', amount: 500, credit_balance: 780 },
      headers: { 'Idempotency-Replayed': '`true` when an earlier request with the key made the adjustment.' },
    },
  },
  errors: {
    404: notFound,
    409: {
      description:
        'More would be removed than there is, with the balance in `details`; or the key was sent with another amount or reason; or the ' +
        'user was erased.',
      examples: {
        insufficient_credits: {
          message: 'The balance is 280: 300 cannot be removed, at most 280.',
          details: { credit_balance: 280 },
        },
        idempotency_key_mismatch: { message: ADJUSTMENT_MISMATCH.message },
        ...erased,
      },
    },
  },
  async handler({ params: { user_id }, query: { amount, reason }, headers, command }, { administration }) {
    if (amount === 0) throw new ValidationError([{ loc: ['query', 'amount'], msg: 'must not be 0', type: 'zero' }]);
    const idempotency_key = headers[KEY] ?? null;
    const adjusted = await administration.adjustCredits(user_id, { amount, reason, idempotency_key }, command());
    if (!adjusted.ok) {
      const { refused } = adjusted;
      throw refusal(refused, 'balance' in refused ? { credit_balance: refused.balance } : undefined);
    }
    const { balance: credit_balance, position, is_repeated } = adjusted;
    const replayed = { headers: { 'Idempotency-Replayed': 'true' } };
    return { body: { user_id, amount, credit_balance }, position, ...(is_repeated && replayed) };
  },
});

const setUsage = route({
  id: 'setUserUsage',
  method: 'POST',
  path: '/admin/users/{user_id}/set-usage',
  access: 'admin',
  params,
  summary: "Set a user's usage of the current period",
  description: "It is what the user's limit is held against. The ledger and the balance stay as they are.",
  query: Type.Object({
    new_usage: Type.Integer({
      minimum: 0,
      maximum: MOST,
      description: 'The credits used in the period.',
      examples: [0],
    }),
    reason: Type.Optional(
      Type.String({
        maxLength: MAX_REASON_CHARS,
        description: 'Why, for the audit trail.',
        examples: ['The first import was a test of ours'],
      }),
    ),
  }),
  responses: { 200: { description: 'The usage from now on.', schema: UsageView, example: usageExample } },
  errors: { 404: notFound, 409: ERASED },
  async handler(
    { params: { user_id }, query: { new_usage: usage, reason = '' }, command },
    { limits, passed, read, now },
  ) {
    const { position } = done(await limits.setUsage(user_id, { usage, reason }, command()));
    if (!(await passed(position))) throw retryLater(503, 'unavailable', BEHIND);
    const [balance, user] = await Promise.all([read.balances.get(user_id), read.users.get(user_id)]);
    return { body: usageView(balance, user, now()), position };
  },
});

const updateNotes = route({
  id: 'updateUserNotes',
  method: 'PATCH',
  path: '/admin/users/{user_id}/notes',
  access: 'admin',
  params,
  summary: 'Replace what administrators wrote of a user',
  description:
    'Users do not see the notes, but get them when they ask for all that the service keeps of them (`GET /users/me/export`).',
  body: jsonBody(
    Type.Object({
      notes: Nullable(Type.String({ maxLength: MAX_USER_NOTES_CHARS, description: 'Null or empty for none.' })),
      replaces: Type.Optional(
        Nullable(
          Type.String({
            maxLength: MAX_USER_NOTES_CHARS,
            description: 'The notes that you have read: others, which somebody wrote since, are not replaced.',
          }),
        ),
      ),
    }),
    { example: { notes: 'Asked for an invoice in euro.' } },
  ),
  responses: {
    200: {
      description: 'The notes from now on.',
      schema: Type.Object({ user_id: Type.String(), notes: Nullable(Type.String()) }),
      example: { user_id: 'alice', notes: 'Asked for an invoice in euro.' },
    },
  },
  errors: {
    404: notFound,
    409: {
      description: 'Other notes are there than `replaces`, or the user was erased.',
      examples: { notes_changed: { message: NOTES_CHANGED }, ...erased },
    },
  },
  async handler({ params: { user_id }, body, command }, { administration }) {
    const notes = body.notes || null;
    const replaces = body.replaces === '' ? null : body.replaces;
    const { position } = done(await administration.updateNotes(user_id, { notes, replaces }, command()));
    return { body: { user_id, notes }, position };
  },
});

const star = route({
  id: 'starUser',
  method: 'PATCH',
  path: '/admin/users/{user_id}/star',
  access: 'admin',
  params,
  summary: 'Star a user, or take the star away',
  description:
    'All administrators share the stars. Without `is_starred` it turns what is so into the other; with it a repeat changes nothing.',
  body: jsonBody(Type.Object({ is_starred: Type.Optional(Type.Boolean()) }), {
    ...{ optional: true, example: { is_starred: true } },
  }),
  responses: {
    200: {
      description: 'What is so from now on.',
      schema: Type.Object({ user_id: Type.String(), is_starred: Type.Boolean() }),
      example: { user_id: 'alice', is_starred: true },
    },
  },
  errors: { 404: notFound, 409: ERASED },
  async handler({ params: { user_id }, body, command }, { administration }) {
    const { is_starred, position } = done(await administration.star(user_id, body.is_starred ?? null, command()));
    return { body: { user_id, is_starred }, position };
  },
});

export const group = groupOf(wire, [setLimit, adjustCredits, setUsage, updateNotes, star]);
