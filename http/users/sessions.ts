// The sessions of browsers: users list and end theirs, administrators those of a user.
import { type CommandContext, notRefused } from '../../commands/aggregate.ts';
import { NO_SUCH_SESSION, openSessions } from '../../commands/users/sessions.ts';
import { Type } from '../../events/schema.ts';
import { NEWEST_FIRST, type Page, pageOf } from '../../readmodels/pages.ts';
import { type SessionDocument, sessions as sessionDocuments } from '../../readmodels/users/sessions.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { accepted } from '../frame/errors.ts';
import { asThrown, routeOf } from '../frame/route.ts';
import { Time } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { params as userParams } from './admin-users.ts';

const wire = ({ log, accounts, sessions, read, passed, now }: Parts) => ({
  ...{ log, accounts, passed, now, browser: sessions, commands: openSessions(log) },
  read: read({ sessions: sessionDocuments }),
});
type Deps = ReturnType<typeof wire>;
const mine = routeOf<Deps>(GATEWAY, 'account');
const administration = routeOf<Deps>(GATEWAY, 'administration');

/** The most sessions that a list shows. */
const MOST = 1000;

const SessionView = Type.Object(
  {
    id: Type.String(),
    created_at: Time(),
    expires_at: Time('When it ends by itself.'),
    is_admin: Type.Boolean({
      description: 'Whether it began with the role of an administrator. It ends with the role.',
    }),
    is_current: Type.Boolean({ description: 'Whether it is the session of this request.' }),
  },
  { $id: 'Session' },
);
const example = {
  id: '0b9f7f0e-5d0c-4b7b-9a43-0c5c5f4b7d11',
  created_at: '2026-01-31T09:00:00.000Z',
  expires_at: '2026-02-01T09:00:00.000Z',
  is_admin: false,
  is_current: true,
};
const page = {
  200: {
    description: `The newest ${MOST} sessions, without ended ones, and how many there are.`,
    schema: Type.Object({ items: Type.Array(SessionView), total: Type.Integer() }),
    example: { items: [example], total: 1 },
  },
};

function openOnes(user_id: string, limit: number, { read, now }: Deps): Promise<Page<SessionDocument>> {
  const filter = { user_id, expires_at: { $gt: new Date(now()).toISOString() } };
  return pageOf(read.sessions, filter, NEWEST_FIRST, { limit, offset: 0 });
}

/** Waits for the read model to have what the log has now; false when it stays behind. */
const caughtUp = async ({ log, passed }: Deps): Promise<boolean> => passed(await log.head());

async function listOf(user_id: string, cookies: string, deps: Deps) {
  // A browser that has just signed in knows no position to wait for.
  await caughtUp(deps);
  const current = await deps.browser.idOf(cookies);
  const { items, total } = await openOnes(user_id, MOST, deps);
  const views = items.map(({ _id: id, created_at, expires_at, is_admin }) => ({
    ...{ id, created_at, expires_at, is_admin, is_current: id === current },
  }));
  return { body: { items: views, total } };
}

/** Ends every session that began before now, by one event of the user, which counts also while no projector is there. */
async function endAll(user_id: string, context: CommandContext, deps: Deps) {
  if ((await caughtUp(deps)) && (await openOnes(user_id, 1, deps)).total === 0) return { status: 204 };
  const { position } = notRefused(await deps.accounts.endSessions(user_id, context));
  return { status: 204, position };
}

const list = mine({
  id: 'listSessions',
  method: 'GET',
  path: '/users/me/sessions',
  access: 'user',
  summary: 'List the browsers that are signed in as you, the newest first',
  responses: page,
  handler: ({ caller, ctx }, deps) => listOf(caller.user_id, ctx.get('cookie'), deps),
});

const end = mine({
  id: 'endOneSession',
  method: 'DELETE',
  path: '/users/me/sessions/{id}',
  access: 'user',
  is_always_open: true,
  params: Type.Object({
    id: Type.String({ minLength: 1, maxLength: 100, description: 'The id in the list.', examples: [example.id] }),
  }),
  summary: 'Sign a browser out from elsewhere',
  description: 'It counts on every machine at once. Ending an ended session changes nothing.',
  responses: { 204: { description: 'The session has ended.' } },
  errors: { 404: asThrown('You have no such session.', NO_SUCH_SESSION) },
  async handler({ caller: { user_id }, params: { id: session_id }, command }, { commands }) {
    const ended = accepted(await commands.end({ session_id, user_id }, command()), 404);
    return { status: 204, position: ended.position };
  },
});

const endMine = mine({
  id: 'endSessions',
  method: 'DELETE',
  path: '/users/me/sessions',
  access: 'user',
  is_always_open: true,
  summary: 'Sign all your browsers out',
  description: 'Also the one that asks. Tokens and API keys are not affected.',
  responses: { 204: { description: 'All sessions have ended.' } },
  handler: ({ caller, command }, deps) => endAll(caller.user_id, command(), deps),
});

const listOfUser = administration({
  id: 'listSessionsOfUser',
  method: 'GET',
  path: '/admin/users/{user_id}/sessions',
  access: 'admin',
  params: userParams,
  summary: 'List the browsers that are signed in as a user, the newest first',
  responses: page,
  handler: ({ params, ctx }, deps) => listOf(params.user_id, ctx.get('cookie'), deps),
});

const endOfUser = administration({
  id: 'endSessionsOfUser',
  method: 'DELETE',
  path: '/admin/users/{user_id}/sessions',
  access: 'admin',
  params: userParams,
  is_always_open: true,
  summary: "Sign all of a user's browsers out",
  responses: { 204: { description: 'All sessions have ended.' } },
  handler: ({ params, command }, deps) => endAll(params.user_id, command(), deps),
});

export const group = groupOf(wire, [list, end, endMine, listOfUser, endOfUser]);
