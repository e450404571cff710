// The streams `shares-{jobId}` (the public links to a job; one stream holds them all, so that it decides the limit on their
// number) and `share_uses-{shareId}` (the views of a link). A share's id is the SHA-256 of the link's token, in hex; no
// event holds the token itself.

import { type DataOf, type EventsOf, event } from './event-spec.ts';
import { Type } from './schema.ts';

const share_id = Type.String({ pattern: '^[0-9a-f]{64}$' });

export const SHARES_EVENTS = {
  ShareCreated: event({
    share_id,
    job_id: Type.String(),
    user_id: Type.String(),
    /** Null: the link works until its owner revokes it. */
    expires_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  }),
  ShareRevoked: event({ share_id }),
};
export const SHARE_USES_EVENTS = {
  /** Views since the last such event: http processes count them in memory and append them about once a minute. */
  ShareUsed: event({
    count: Type.Integer({ minimum: 1 }),
    last_used_at: Type.String({ format: 'date-time' }),
  }),
};

export type ShareCreated = DataOf<typeof SHARES_EVENTS.ShareCreated>;
export type ShareUsed = DataOf<typeof SHARE_USES_EVENTS.ShareUsed>;
export type SharesEvent = EventsOf<typeof SHARES_EVENTS>;
export type ShareUseEvent = EventsOf<typeof SHARE_USES_EVENTS>;
