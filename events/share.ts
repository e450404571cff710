// The streams `shares-{jobId}` (the public links to a job; all of them in one stream, because there is a limit on their number) and
// `share_uses-{shareId}` (the views of one). The id of a share is the SHA-256 of the link's token, in hex; the token itself is never
// in an event.
import { type Static, Type } from 'typebox';

const share_id = Type.String({ pattern: '^[0-9a-f]{64}$' });

export const ShareCreated = Type.Object({
  share_id,
  job_id: Type.String(),
  user_id: Type.String(),
  /** Null: it is good until it is revoked. */
  expires_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
});
export const ShareRevoked = Type.Object({ share_id });
/** Views are counted in memory and appended about a minute's worth at a time, however many there are. */
export const ShareUsed = Type.Object({
  count: Type.Integer({ minimum: 1 }),
  last_used_at: Type.String({ format: 'date-time' }),
});

export type ShareCreated = Static<typeof ShareCreated>;
export type ShareUsed = Static<typeof ShareUsed>;
export type SharesEvent =
  | { type: 'ShareCreated'; data: ShareCreated }
  | { type: 'ShareRevoked'; data: Static<typeof ShareRevoked> };
export type ShareUseEvent = { type: 'ShareUsed'; data: ShareUsed };
