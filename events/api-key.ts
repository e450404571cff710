// The streams `api_keys-{userId}` (the keys of the public API that a user has; all of them in one stream, because there is a limit
// on their number) and `api_key_uses-{keyId}` (when one was used). The key itself is never in an event.
import { Type } from 'typebox';
import { type DataOf, type EventsOf, event } from './event-spec.ts';

export const API_KEYS_EVENTS = {
  ApiKeyCreated: event({
    key_id: Type.String(),
    user_id: Type.String(),
    email: Type.Union([Type.String(), Type.Null()]),
    name: Type.String(),
    /** The first characters, for a person to tell keys apart. */
    prefix: Type.String(),
    /** SHA-256 of the key, hex. */
    key_hash: Type.String(),
  }),
  ApiKeyRevoked: event({ key_id: Type.String() }),
};
export const API_KEY_USES_EVENTS = {
  /** Appended at most once an hour, however often the key is used. */
  ApiKeyUsed: event({ used_at: Type.String({ format: 'date-time' }) }),
};

export type ApiKeyCreated = DataOf<typeof API_KEYS_EVENTS.ApiKeyCreated>;
export type ApiKeyUsed = DataOf<typeof API_KEY_USES_EVENTS.ApiKeyUsed>;
export type ApiKeysEvent = EventsOf<typeof API_KEYS_EVENTS>;
export type ApiKeyUseEvent = EventsOf<typeof API_KEY_USES_EVENTS>;
