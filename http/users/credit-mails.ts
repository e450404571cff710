// The routes by which users say which mails about credits they want.
import { chooseCreditMails } from '../../commands/users/user.ts';
import { Nullable, Type } from '../../events/schema.ts';
import { userStream } from '../../events/streams.ts';
import { USUAL_CREDIT_MAILS } from '../../events/user.ts';
import { users } from '../../readmodels/users/users.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { invalidToken } from '../callers/access.ts';
import { accepted } from '../frame/errors.ts';
import { jsonBody } from '../frame/request-bodies.ts';
import { routeOf } from '../frame/route.ts';
import { Count } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';

const wire = ({ read, credits, config }: Parts) => ({
  expiring_days: config.expiring_credits_days,
  users: credits.users,
  read: read({ users }),
});
const route = routeOf<ReturnType<typeof wire>>(GATEWAY, 'account');

const MOST = 1_000_000_000;
const CHOICE = {
  low_balance: Nullable(
    Type.Integer({
      minimum: 0,
      maximum: MOST,
      description:
        'Write when the balance falls below so many credits, and again only after it has risen above. Null: a tenth of the last credits that you got. 0: never.',
    }),
  ),
  expiring_credits: Type.Boolean({ description: 'Write before credits expire, once for each time of expiry.' }),
};
const View = Type.Object(
  { ...CHOICE, expiring_days: Count('How many days before they expire.') },
  { $id: 'CreditMails' },
);
const example = { low_balance: 500, expiring_credits: true };

const shown = route({
  id: 'getCreditMails',
  method: 'GET',
  path: '/users/me/credit-mails',
  access: 'user',
  summary: 'Show which mails about your credits you get',
  responses: { 200: { description: 'The mails.', schema: View, example: { ...example, expiring_days: 7 } } },
  async handler({ caller: { user_id } }, { read, expiring_days }) {
    const wanted = (await read.users.get(user_id))?.credit_mails ?? USUAL_CREDIT_MAILS;
    return { body: { ...wanted, expiring_days } };
  },
});

const chosen = route({
  id: 'setCreditMails',
  method: 'PUT',
  path: '/users/me/credit-mails',
  access: 'user',
  summary: 'Choose which mails about your credits you get',
  description:
    'A threshold above your balance brings no mail by itself: the next one comes when the balance has risen above it and falls again.',
  body: jsonBody(Type.Object(CHOICE, { $id: 'CreditMailsChoice' }), { example }),
  responses: { 200: { description: 'They are set.', schema: View, example: { ...example, expiring_days: 7 } } },
  async handler({ caller: { user_id }, body, command }, { users, expiring_days }) {
    const done = await users.handle(userStream(user_id), command(), (user) => chooseCreditMails(user, body));
    if (!done.ok && done.refused.code === 'user_erased') throw invalidToken();
    return { body: { ...body, expiring_days }, position: accepted(done, 409).position };
  },
});

export const group = groupOf(wire, [shown, chosen]);
