// The aggregate of one user's API keys. The service shows a key once and stores its hash.
import { hash } from 'node:crypto';
import type { ApiKeyCreated, ApiKeysEvent, ApiKeyUseEvent } from '../../events/api-key.ts';
import type { EventStore } from '../../events/event-store.ts';
import { apiKeysStream, apiKeyUsesStream } from '../../events/streams.ts';
import { type CommandContext, type Decision, type Done, evolveBy, openAggregate } from '../aggregate.ts';
import { fromLastEvent } from '../stream-states.ts';

export const MAX_KEYS = 50;

/** Whether a key is valid, by key id. */
export type ApiKeysState = Map<string, 'valid' | 'revoked'>;

export const initial = (): ApiKeysState => new Map();
export const evolve = evolveBy<ApiKeysState, ApiKeysEvent>({
  ApiKeyCreated: (keys, { key_id }) => keys.set(key_id, 'valid'),
  ApiKeyRevoked: (keys, { key_id }) => keys.set(key_id, 'revoked'),
});

export type ApiKeysCommand = { type: 'create'; key: ApiKeyCreated } | { type: 'revoke'; key_id: string };

export const TOO_MANY_KEYS = { code: 'too_many_keys', message: `There are ${MAX_KEYS} keys already; revoke one.` };
export const NO_SUCH_KEY = { code: 'key_not_found', message: 'There is no such API key.' };

export function decide(keys: Readonly<ApiKeysState>, command: ApiKeysCommand): Decision<ApiKeysEvent> {
  if (command.type === 'revoke') {
    const { key_id } = command;
    const found = keys.get(key_id);
    if (found === undefined) return { refused: NO_SUCH_KEY };
    return { events: found === 'revoked' ? [] : [{ type: 'ApiKeyRevoked', data: { key_id } }] };
  }
  if (keys.has(command.key.key_id)) return { events: [] };
  if ([...keys.values()].filter((state) => state === 'valid').length >= MAX_KEYS) {
    return { refused: TOO_MANY_KEYS };
  }
  return { events: [{ type: 'ApiKeyCreated', data: command.key }] };
}

/** A key's next use is recorded this long after its last recorded one. */
export const USE_INTERVAL_MS = 3_600_000;

/** The state is the time of the last recorded use, in milliseconds since the epoch. */
const uses = {
  initial: () => 0,
  evolve: evolveBy<number, ApiKeyUseEvent>({ ApiKeyUsed: (_, { used_at }) => Date.parse(used_at) }),
};

export function decideUse(last_used_at: number, now: number): Decision<ApiKeyUseEvent> {
  if (now - last_used_at < USE_INTERVAL_MS) return { events: [] };
  return { events: [{ type: 'ApiKeyUsed', data: { used_at: new Date(now).toISOString() } }] };
}

export const hashOfKey = (plaintext: string) => hash('sha256', plaintext, 'hex');

/** A key's id is a prefix of its hash, so a request's key leads to its document. */
export const idOfKey = (plaintext: string) => hashOfKey(plaintext).slice(0, 32);

/** `secret`: 32 bytes that nobody can guess. */
export const newApiKey = (secret: Buffer, is_test = false) =>
  `uc_${is_test ? 'test' : 'live'}_${secret.toString('base64url')}`;

export interface ApiKeys {
  /** Refused as `too_many_keys`. */
  create(
    key: { plaintext: string } & Pick<
      ApiKeyCreated,
      'user_id' | 'email' | 'name' | 'scopes' | 'expires_at' | 'credit_limit' | 'is_test'
    >,
    context: CommandContext,
  ): Promise<Done>;
  /** Refused as `key_not_found` when the user has no such key. Revoking a revoked key succeeds. */
  revoke(key: { key_id: string; user_id: string }, context: CommandContext): Promise<Done>;
  /** Whether the user has the key and has not revoked it, as the log has it now. */
  isValid(user_id: string, key_id: string): Promise<boolean>;
  /** Records a use of the key, at most once an hour over all processes. */
  recordUse(key_id: string, context: CommandContext): Promise<void>;
}

export function openApiKeys(log: EventStore): ApiKeys {
  const keys = openAggregate<ApiKeysState, ApiKeysEvent>(log, { initial, evolve });
  const used = openAggregate<number, ApiKeyUseEvent>(log, uses, { begin: fromLastEvent(log, uses) });
  const run = (user_id: string, command: ApiKeysCommand, context: CommandContext) =>
    keys.handle(apiKeysStream(user_id), context, (held) => decide(held, command));
  return {
    create({ plaintext, ...key }, context) {
      const derived = { key_id: idOfKey(plaintext), prefix: plaintext.slice(0, 12), key_hash: hashOfKey(plaintext) };
      return run(key.user_id, { type: 'create', key: { ...derived, ...key } }, context);
    },
    revoke: ({ key_id, user_id }, context) => run(user_id, { type: 'revoke', key_id }, context),
    isValid: async (user_id, key_id) => (await keys.read(apiKeysStream(user_id))).state.get(key_id) === 'valid',
    async recordUse(key_id, context) {
      await used.handle(apiKeyUsesStream(key_id), context, (last_used_at) => decideUse(last_used_at, context.now));
    },
  };
}
