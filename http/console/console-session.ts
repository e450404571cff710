// The sessions of the console: a one-time link of the local issuer begins one, and signing out ends it.
import { ALREADY_USED } from '../../commands/users/sessions.ts';
import { Type } from '../../events/schema.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { HttpError } from '../frame/errors.ts';
import { openRequestLimit, overLimit } from '../frame/limits/request-limit.ts';
import { jsonBody } from '../frame/request-bodies.ts';
import { routeOf } from '../frame/route.ts';
import { groupOf, type Parts } from '../group.ts';

const SUBJECT = 'An address';
const MOST_A_MINUTE = 30;

const wire = ({ identity, sessions, rates }: Parts) => ({
  identity,
  sessions,
  limit: openRequestLimit(rates, { name: 'sign-ins', subject: SUBJECT, most: MOST_A_MINUTE }),
});
const route = routeOf<ReturnType<typeof wire>>(GATEWAY, 'console');

const MAX_CODE_CHARS = 4096;
const wrongCode = () =>
  new HttpError(401, 'invalid_code', 'This link is not valid, or has expired. Ask for a new one.');

const begin = route({
  id: 'beginSession',
  method: 'POST',
  path: '/console/session',
  access: 'none',
  is_always_open: true,
  summary: 'Sign a browser in by the code of a one-time link',
  description:
    'The answer sets a cookie that no script can read. Requests that carry it need no token; those that change something need the header ' +
    '`X-Console: 1` beside it, which pages of other sites cannot send. A code works once.',
  body: jsonBody(Type.Object({ code: Type.String({ minLength: 1, maxLength: MAX_CODE_CHARS }) }), {
    example: { code: 'eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl' },
  }),
  responses: { 204: { description: 'Signed in.', headers: { 'Set-Cookie': 'The session.' } } },
  errors: {
    401: {
      description: 'The code is not valid, has expired, or was used before.',
      examples: {
        invalid_code: { message: wrongCode().message },
        already_used: { message: ALREADY_USED.message },
      },
    },
    429: overLimit(SUBJECT, MOST_A_MINUTE),
  },
  async handler({ body, ip, command }, { identity, sessions, limit }) {
    await limit.admitAddress(ip);
    const sign_in = await identity.signInBy?.(body.code);
    if (!sign_in) throw wrongCode();
    return { status: 204, headers: { 'set-cookie': await sessions.begin(sign_in, command()) } };
  },
});

const end = route({
  id: 'endSession',
  method: 'DELETE',
  path: '/console/session',
  access: 'user',
  is_always_open: true,
  summary: 'Sign the browser out',
  description: 'The session ends on every machine at once. A token that the request carries is not affected.',
  responses: { 204: { description: 'Signed out.', headers: { 'Set-Cookie': 'Without the session.' } } },
  async handler({ ctx, command }, { sessions }) {
    return { status: 204, headers: { 'set-cookie': await sessions.end(ctx.get('cookie'), command()) } };
  },
});

export const group = groupOf(wire, [begin, end]);
