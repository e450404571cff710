// The aggregate of one user's API keys, and how a key is made: shown once, kept as a hash.
import { hash, randomBytes } from 'node:crypto';
import type { ApiKeyCreated, ApiKeysEvent, ApiKeyUseEvent } from '../events/api-key.ts';
import type { EventStore } from '../events/event-store.ts';
import { apiKeysStream, apiKeyUsesStream } from '../events/streams.ts';
import { type CommandContext, type Decision, type Done, evolveBy, fromLastEvent, openAggregate } from './aggregate.ts';

export const MAX_KEYS = 50;

/** By id, whether it works. */
export type ApiKeysState = Map<string, 'valid' | 'revoked'>;

export const initial = (): ApiKeysState => new Map();
export const evolve = evolveBy<ApiKeysState, ApiKeysEvent>({
  ApiKeyCreated: (keys, { key_id }) => keys.set(key_id, 'valid'),
  ApiKeyRevoked: (keys, { key_id }) => keys.set(key_id, 'revoked'),
});

export type ApiKeysCommand = { type: 'create'; key: ApiKeyCreated } | { type: 'revoke'; key_id: string };

export function decide(keys: Readonly<ApiKeysState>, command: ApiKeysCommand): Decision<ApiKeysEvent> {
  if (command.type === 'revoke') {
    const { key_id } = command;
    const found = keys.get(key_id);
    if (found === undefined) return { refused: { code: 'key_not_found', message: 'There is no such API key.' } };
    return { events: found === 'revoked' ? [] : [{ type: 'ApiKeyRevoked', data: { key_id } }] };
  }
  if (keys.has(command.key.key_id)) return { events: [] };
  if ([...keys.values()].filter((state) => state === 'valid').length >= MAX_KEYS) {
    return { refused: { code: 'too_many_keys', message: `There are ${MAX_KEYS} keys already; revoke one.` } };
  }
  return { events: [{ type: 'ApiKeyCreated', data: command.key }] };
}

/** A use within this long of the one that was recorded last is not recorded. */
export const USE_TOLD_MS = 3_600_000;

/** When a key was used, as it was recorded last, in milliseconds since the epoch. */
const uses = {
  initial: () => 0,
  evolve: evolveBy<number, ApiKeyUseEvent>({ ApiKeyUsed: (_, { used_at }) => Date.parse(used_at) }),
};

export function decideUse(last_used_at: number, now: number): Decision<ApiKeyUseEvent> {
  if (now - last_used_at < USE_TOLD_MS) return { events: [] };
  return { events: [{ type: 'ApiKeyUsed', data: { used_at: new Date(now).toISOString() } }] };
}

export const hashOfKey = (plaintext: string) => hash('sha256', plaintext, 'hex');

/** A key's id is a part of its hash: whoever holds the key can name its document. */
export const idOfKey = (plaintext: string) => hashOfKey(plaintext).slice(0, 32);

export const newApiKey = () => `uc_live_${randomBytes(32).toString('base64url')}`;

export interface ApiKeys {
  /** Refused as `too_many_keys`. */
  create(
    key: { plaintext: string; user_id: string; email: string | null; name: string },
    context: CommandContext,
  ): Promise<Done>;
  /** Refused as `key_not_found` when it is not this user's. A revoked key is a success. */
  revoke(key: { key_id: string; user_id: string }, context: CommandContext): Promise<Done>;
  /** Records that it is in use, at most once an hour for all processes together. */
  recordUse(key_id: string, context: CommandContext): Promise<void>;
}

export function openApiKeys(log: EventStore): ApiKeys {
  const keys = openAggregate<ApiKeysState, ApiKeysEvent>(log, { initial, evolve });
  const used = openAggregate<number, ApiKeyUseEvent>(log, uses, { begin: fromLastEvent(log, uses) });
  const run = (user_id: string, command: ApiKeysCommand, context: CommandContext) =>
    keys.handle(apiKeysStream(user_id), context, (held) => decide(held, command));
  return {
    create({ plaintext, ...of }, context) {
      const made = { key_id: idOfKey(plaintext), prefix: plaintext.slice(0, 12), key_hash: hashOfKey(plaintext) };
      return run(of.user_id, { type: 'create', key: { ...made, ...of } }, context);
    },
    revoke: ({ key_id, user_id }, context) => run(user_id, { type: 'revoke', key_id }, context),
    async recordUse(key_id, context) {
      await used.handle(apiKeyUsesStream(key_id), context, (last_used_at) => decideUse(last_used_at, context.now));
    },
  };
}
