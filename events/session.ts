// The streams `session-{sessionId}`: a browser's session in the console. The id comes from what began it, so that a one-time link begins
// one session. Who the user is stands in the browser's cookie, not here.
import { type EventsOf, event } from './event-spec.ts';
import { Type } from './schema.ts';

export const SESSION_EVENTS = {
  SessionBegun: event({
    user_id: Type.String(),
    /** Until when the session lasts unless it is ended. */
    expires_at: Type.String({ format: 'date-time' }),
  }),
  /** The user signed out. */
  SessionEnded: event({}),
};

export type SessionEvent = EventsOf<typeof SESSION_EVENTS>;
