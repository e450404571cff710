// The streams `api_keys-{userId}` (the keys of the public API that a user has; all of them in one stream, because there is a limit
// on their number) and `api_key_uses-{keyId}` (when one was used). The key itself is never in an event.
import { type Static, Type } from 'typebox';

export const ApiKeyCreated = Type.Object({
  key_id: Type.String(),
  user_id: Type.String(),
  email: Type.Union([Type.String(), Type.Null()]),
  name: Type.String(),
  /** The first characters, for a person to tell keys apart. */
  prefix: Type.String(),
  /** SHA-256 of the key, hex. */
  key_hash: Type.String(),
});
export const ApiKeyRevoked = Type.Object({ key_id: Type.String() });
/** Appended at most once an hour, however often the key is used. */
export const ApiKeyUsed = Type.Object({ used_at: Type.String({ format: 'date-time' }) });

export type ApiKeyCreated = Static<typeof ApiKeyCreated>;
export type ApiKeyUsed = Static<typeof ApiKeyUsed>;
export type ApiKeysEvent =
  | { type: 'ApiKeyCreated'; data: ApiKeyCreated }
  | { type: 'ApiKeyRevoked'; data: Static<typeof ApiKeyRevoked> };
export type ApiKeyUseEvent = { type: 'ApiKeyUsed'; data: ApiKeyUsed };
