// The streams `share-{shareId}`: the life of one public link to a job. The id is the SHA-256 of the link's token, in hex;
// the token itself is never in an event.
import { type Static, Type } from 'typebox';

export const ShareCreated = Type.Object({
  share_id: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  job_id: Type.String(),
  user_id: Type.String(),
  /** Null: it is good until it is revoked. */
  expires_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
});
export const ShareRevoked = Type.Object({});
/** Views are counted in memory and told about a minute at a time, however many there are. */
export const ShareUsed = Type.Object({
  count: Type.Integer({ minimum: 1 }),
  last_used_at: Type.String({ format: 'date-time' }),
});

export type ShareCreated = Static<typeof ShareCreated>;
export type ShareUsed = Static<typeof ShareUsed>;
export type ShareEvent =
  | { type: 'ShareCreated'; data: ShareCreated }
  | { type: 'ShareRevoked'; data: Static<typeof ShareRevoked> }
  | { type: 'ShareUsed'; data: ShareUsed };
