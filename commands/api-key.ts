// The aggregate of one API key, and how a key is made: shown once, kept as a hash.
import { hash, randomBytes } from 'node:crypto';
import type { ApiKeyEvent } from '../events/api-key.ts';
import type { EventStore, Position } from '../events/event-store.ts';
import { apiKeyStream } from '../events/streams.ts';
import { type CommandContext, openAggregate, type Refusal } from './aggregate.ts';

export interface ApiKey {
  owner_id: string | null;
  revoked: boolean;
  /** Milliseconds since the epoch, as it was last told. */
  used_at: number;
}

/** A use within this long of the one that was told last is not told. */
export const USE_TOLD_MS = 3_600_000;

const fold = {
  initial: (): ApiKey => ({ owner_id: null, revoked: false, used_at: 0 }),
  evolve(key: ApiKey, event: ApiKeyEvent): ApiKey {
    if (event.type === 'ApiKeyCreated') key.owner_id = event.data.user_id;
    else if (event.type === 'ApiKeyUsed') key.used_at = Date.parse(event.data.used_at);
    else key.revoked = true;
    return key;
  },
};

export const hashOfKey = (plaintext: string) => hash('sha256', plaintext, 'hex');

/** A key's id is a part of its hash: whoever holds the key can name its stream and its document. */
export const idOfKey = (plaintext: string) => hashOfKey(plaintext).slice(0, 32);

export const newApiKey = () => `uc_live_${randomBytes(32).toString('base64url')}`;

export interface ApiKeys {
  create(
    key: { plaintext: string; user_id: string; email: string | null; name: string },
    context: CommandContext,
  ): Promise<{ key_id: string; position: Position }>;
  /** Refused as `key_not_found` when it is not this user's. A revoked key is a success. */
  revoke(
    key: { key_id: string; user_id: string },
    context: CommandContext,
  ): Promise<{ ok: true; position: Position } | { ok: false; refused: Refusal }>;
  /** Tells that it is in use, at most once an hour for all processes together. */
  recordUse(key_id: string, context: CommandContext): Promise<void>;
}

export function openApiKeys(log: EventStore): ApiKeys {
  const aggregate = openAggregate<ApiKey, ApiKeyEvent>(log, fold);
  return {
    async create({ plaintext, user_id, email, name }, context) {
      const key_id = idOfKey(plaintext);
      const data = { key_id, user_id, email, name, prefix: plaintext.slice(0, 12), key_hash: hashOfKey(plaintext) };
      const created = await aggregate.handle(apiKeyStream(key_id), context, (key) => ({
        events: key.owner_id === null ? [{ type: 'ApiKeyCreated', data }] : [],
      }));
      if (!created.ok) throw new Error(created.refused.message);
      return { key_id, position: created.position };
    },
    revoke: ({ key_id, user_id }, context) =>
      aggregate.handle(apiKeyStream(key_id), context, (key) => {
        if (key.owner_id !== user_id) {
          return { refused: { code: 'key_not_found', message: 'There is no such key.' } };
        }
        return { events: key.revoked ? [] : [{ type: 'ApiKeyRevoked', data: {} }] };
      }),
    async recordUse(key_id, context) {
      const used_at = new Date(context.now).toISOString();
      await aggregate.handle(apiKeyStream(key_id), context, (key) => ({
        events: context.now - key.used_at < USE_TOLD_MS ? [] : [{ type: 'ApiKeyUsed', data: { used_at } }],
      }));
    },
  };
}

export const { initial, evolve } = fold;
