// The streams `session-{sessionId}`: a browser's session in the console. The id comes from what began it, so that a one-time link begins
// one session. The user's name and address stand in the browser's cookie, not here.
import { type DataOf, type EventsOf, event } from './event-spec.ts';
import { Type } from './schema.ts';

export const SESSION_EVENTS = {
  SessionBegun: event({
    user_id: Type.String(),
    /** Until when the session lasts unless it is ended. */
    expires_at: Type.String({ format: 'date-time' }),
    /** Whether the user signed in as an administrator; absent in older events, whose cookies are taken no more. */
    is_admin: Type.Optional(Type.Boolean()),
    /** How many `SessionsEnded` the user's stream had then; absent for none. The session ends with the next one. */
    endings: Type.Optional(Type.Integer({ minimum: 0 })),
  }),
  /** The user signed out, or ended it from elsewhere, or an administrator did. */
  SessionEnded: event({}),
};

export type SessionBegun = DataOf<typeof SESSION_EVENTS.SessionBegun>;
export type SessionEvent = EventsOf<typeof SESSION_EVENTS>;
