// The streams `shares-{jobId}` (the public links to a job; all of them in one stream, because there is a limit on their number) and
// `share_uses-{shareId}` (the views of one). The id of a share is the SHA-256 of the link's token, in hex; the token itself is never
// in an event.
import { Type } from 'typebox';
import { type DataOf, type EventsOf, event } from './event-spec.ts';

const share_id = Type.String({ pattern: '^[0-9a-f]{64}$' });

export const SHARES_EVENTS = {
  ShareCreated: event({
    share_id,
    job_id: Type.String(),
    user_id: Type.String(),
    /** Null: it is good until it is revoked. */
    expires_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  }),
  ShareRevoked: event({ share_id }),
};
export const SHARE_USES_EVENTS = {
  /** Views are counted in memory and appended about a minute's worth at a time, however many there are. */
  ShareUsed: event({
    count: Type.Integer({ minimum: 1 }),
    last_used_at: Type.String({ format: 'date-time' }),
  }),
};

export type ShareCreated = DataOf<typeof SHARES_EVENTS.ShareCreated>;
export type ShareUsed = DataOf<typeof SHARE_USES_EVENTS.ShareUsed>;
export type SharesEvent = EventsOf<typeof SHARES_EVENTS>;
export type ShareUseEvent = EventsOf<typeof SHARE_USES_EVENTS>;
