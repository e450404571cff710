// The streams `api_keys-{userId}` (a user's keys of the public API; one stream holds them all, so that it decides the limit
// on their number) and `api_key_uses-{keyId}` (when a key was used). No event holds the key itself.

import { type DataOf, type EventsOf, event } from './event-spec.ts';
import { personal } from './personal.ts';
import { Nullable, Type } from './schema.ts';

/** What a key may do. */
export const KEY_SCOPES = {
  read: 'see jobs, results and usage',
  check: 'submit, resume and cancel jobs',
  webhooks: 'see and change webhook endpoints',
  billing: 'see usage and credits',
};
export type KeyScopeName = keyof typeof KEY_SCOPES;
export const KEY_SCOPE_NAMES = Object.keys(KEY_SCOPES) as readonly KeyScopeName[];

export const API_KEYS_EVENTS = {
  ApiKeyCreated: event({
    key_id: Type.String(),
    user_id: Type.String(),
    email: personal(Nullable(Type.String()), 'user'),
    name: personal(Type.String(), 'user'),
    /** The first characters of the key, by which a person tells keys apart. */
    prefix: Type.String(),
    /** SHA-256 of the key, hex. */
    key_hash: Type.String(),
    /** Absent: the key may do everything. */
    scopes: Type.Optional(Type.Array(Type.Enum(KEY_SCOPE_NAMES))),
    /** From then on the key is not valid. */
    expires_at: Type.Optional(Type.String({ format: 'date-time' })),
    /** The most credits that all jobs of the key together may use. */
    credit_limit: Type.Optional(Type.Integer({ minimum: 1 })),
    /** The key checks the sandbox alone, at no cost. */
    is_test: Type.Optional(Type.Boolean()),
  }),
  ApiKeyRevoked: event({ key_id: Type.String() }),
};
export const API_KEY_USES_EVENTS = {
  /** Appended at most once an hour, however often the key is used. */
  ApiKeyUsed: event({ used_at: Type.String({ format: 'date-time' }) }),
};

export type ApiKeyCreated = DataOf<typeof API_KEYS_EVENTS.ApiKeyCreated>;
export type ApiKeysEvent = EventsOf<typeof API_KEYS_EVENTS>;
export type ApiKeyUseEvent = EventsOf<typeof API_KEY_USES_EVENTS>;
