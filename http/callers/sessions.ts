// Sessions of browsers. A signed cookie says who the user is and until when; the log says whether the session was ended. So a session
// survives restarts and works on every machine, and signing out ends it everywhere at once.
import type { CommandContext } from '../../commands/aggregate.ts';
import type { Sessions } from '../../commands/sessions.ts';
import { accepted } from '../errors.ts';
import type { Caller } from '../route.ts';
import type { SignIn } from './identity.ts';
import type { SignedCookie } from './signed-cookie.ts';

export interface BrowserSessions {
  /** Returns the cookie, for `Set-Cookie`. Throws 401 when the sign-in has begun a session before. */
  begin(sign_in: SignIn, context: CommandContext): Promise<string>;
  /** `cookies`: the header of a request. Null without a session that is open. */
  callerOf(cookies: string): Promise<Caller | null>;
  /** Ends the session of these cookies, if they have one. Returns the value that removes the cookie. */
  end(cookies: string, context: CommandContext): Promise<string>;
}

/** What the cookie says besides its end. */
interface Kept {
  jti: string;
  sub: string;
  email: string | null;
  name?: string;
  is_admin: boolean;
}

export function openBrowserSessions(sessions: Sessions, cookie: SignedCookie): BrowserSessions {
  const read = async (cookies: string) => (await cookie.read(cookies)) as Kept | null;
  return {
    async begin({ id, user: { user_id, ...of }, lasts_s }, context) {
      const expires_at = new Date(context.now + lasts_s * 1000).toISOString();
      accepted(await sessions.begin({ session_id: id, user_id, expires_at }, context), 401);
      return await cookie.made({ jti: id, sub: user_id, ...of } satisfies Kept, lasts_s, context.now);
    },
    async callerOf(cookies) {
      const kept = await read(cookies);
      if (kept === null || !(await sessions.isOpen(kept.jti))) return null;
      const { sub: user_id, email, name, is_admin } = kept;
      return { user_id, email, ...(name !== undefined && { name }), is_admin, kind: 'user' };
    },
    async end(cookies, context) {
      const kept = await read(cookies);
      if (kept !== null) accepted(await sessions.end(kept.jti, context), 409);
      return cookie.removed;
    },
  };
}
