// Sessions of browsers. A signed cookie says who the user is and until when; the log says what the session began as, and whether it was
// ended. So a session survives restarts and works on every machine, and ending it counts everywhere at once.

import type { CommandContext } from '../../commands/aggregate.ts';
import type { Accounts } from '../../commands/users/accounts.ts';
import type { Sessions } from '../../commands/users/sessions.ts';
import { accepted } from '../frame/errors.ts';
import type { Caller } from '../frame/route.ts';
import { invalidToken } from './access.ts';
import type { SignIn } from './identity.ts';
import type { SignedCookie } from './signed-cookie.ts';

export type BrowserSessions = ReturnType<typeof openBrowserSessions>;

/** What the cookie says. */
interface Kept {
  jti: string;
  sub: string;
  email: string | null;
  name?: string;
  is_admin: boolean;
  /** Its end, in seconds since 1970. */
  exp: number;
}

export function openBrowserSessions(
  sessions: Sessions,
  accounts: Pick<Accounts, 'see' | 'find'>,
  cookie: SignedCookie,
) {
  const read = async (cookies: string) => (await cookie.read(cookies)) as Kept | null;

  /** Whether the session is open and began as the cookie says, and its user still has the role that it was given for. */
  async function isOpen({ jti, sub: user_id, is_admin, exp }: Kept): Promise<boolean> {
    const [begun, user] = await Promise.all([sessions.find(jti), accounts.find(user_id)]);
    return (
      begun !== null &&
      begun.user_id === user_id &&
      begun.is_admin === is_admin &&
      begun.endings === user.endings &&
      Math.floor(Date.parse(begun.expires_at) / 1000) === exp &&
      (!is_admin || user.is_admin)
    );
  }

  return {
    /** Returns the cookie, for `Set-Cookie`. Throws 401 when the sign-in has begun a session before, and for an erased user. */
    async begin({ id, user, lasts_s }: SignIn, context: CommandContext): Promise<string> {
      const { user_id, email, name, is_admin } = user;
      if ((await accounts.see(user, context)) === 'erased') throw invalidToken();
      const expires_at = new Date(context.now + lasts_s * 1000).toISOString();
      // Whoever ends all sessions from here on ends this one too.
      const { endings } = await accounts.find(user_id);
      accepted(await sessions.begin(id, { user_id, expires_at, is_admin, endings }, context), 401);
      const kept = { jti: id, sub: user_id, email, ...(name !== undefined && { name }), is_admin };
      return await cookie.made(kept satisfies Omit<Kept, 'exp'>, lasts_s, context.now);
    },
    /** `cookies`: the header of a request. Null without a session that is open. */
    async callerOf(cookies: string): Promise<Caller | null> {
      const kept = await read(cookies);
      if (kept === null || !(await isOpen(kept))) return null;
      const { sub: user_id, email, name, is_admin } = kept;
      return { user_id, email, ...(name !== undefined && { name }), is_admin, kind: 'user' };
    },
    /** The id of the session that these cookies name; null when they name none. It may have ended. */
    idOf: async (cookies: string): Promise<string | null> => (await read(cookies))?.jti ?? null,
    /** Ends the session of these cookies, if they have one. Returns the value that removes the cookie. */
    async end(cookies: string, context: CommandContext): Promise<string> {
      const kept = await read(cookies);
      if (kept !== null) accepted(await sessions.end({ session_id: kept.jti, user_id: kept.sub }, context), 409);
      return cookie.removed;
    },
  };
}
