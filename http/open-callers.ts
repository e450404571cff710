// Finds the user of an API key, and creates the account of a user at the first request.
import { randomUUID, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { type ApiKeys, hashOfKey, idOfKey, openApiKeys, USE_INTERVAL_MS } from '../commands/users/api-keys.ts';
import { apiKeysStream, userStream } from '../events/streams.ts';
import { accountOf, isTestUser, testUserOf } from '../events/test-user.ts';
import { type ApiKeyDocument, apiKeys } from '../readmodels/users/api-keys.ts';
import type { AppOptions } from './app.ts';
import { invalidApiKey, invalidToken } from './callers/access.ts';
import { BEHIND, retryLater } from './frame/errors.ts';
import type { Caller } from './frame/route.ts';
import type { Parts } from './group.ts';

const MAX_KNOWN = 10_000;
const KNOWN_MS = 60_000;

type Callers = Pick<AppOptions, 'api_key' | 'seen'> & {
  /** Tells whether the caller's credentials are good without another look at them, and the log has no more of the user than now. */
  isStill: NonNullable<AppOptions['unchanged']>['caller'];
};

export function openCallers(parts: Parts): Callers {
  const { log, logger, identity, accounts, passed, now, atEnd } = parts;
  const read = parts.read({ apiKeys });
  const keys = openApiKeys(log);
  const uses = openApiKeyUses(keys, logger, now);
  atEnd(uses.close);
  /**
   * Users as their tokens describe them, whose account this process knows to exist, so that it does not read the log again. Tokens
   * with different descriptions that a user presents in turn change the account at most once a minute each.
   */
  const known = new LRUCache<string, true>({ max: MAX_KNOWN, ttl: KNOWN_MS });
  /** What never changes of a key. Whether it is valid still, the log says at each request. */
  const made = new LRUCache<string, ApiKeyDocument>({ max: MAX_KNOWN, ttl: KNOWN_MS });

  async function findKey(id: string): Promise<ApiKeyDocument | null> {
    let key = made.get(id) ?? (await read.apiKeys.get(id));
    if (!key) {
      // The read model may not have a new key yet. Until it has caught up with the log, a missing key proves nothing.
      if (!(await passed(await log.head()))) {
        throw retryLater(503, 'unavailable', BEHIND);
      }
      key = await read.apiKeys.get(id);
    }
    if (key) made.set(id, key, { noUpdateTTL: true });
    return key;
  }

  /** Until when the credentials are good as far as this process knows without another look, in Unix milliseconds. */
  function goodUntil({ kind }: Caller, credentials: string): number {
    if (kind === 'user') return identity.verifiedUntil?.(credentials) ?? 0;
    const id = idOfKey(credentials);
    const { expires_at } = made.peek(id) ?? { expires_at: '' };
    const known_until_ms = now() + made.getRemainingTTL(id);
    return expires_at === undefined ? known_until_ms : Math.min(known_until_ms, Date.parse(expires_at) || 0);
  }

  return {
    async api_key(plaintext) {
      const key = await findKey(idOfKey(plaintext));
      if (!key || key.revoked_at !== null) return null;
      if (key.expires_at !== undefined && Date.parse(key.expires_at) <= now()) return null;
      if (!timingSafeEqual(Buffer.from(key.key_hash), Buffer.from(hashOfKey(plaintext)))) return null;
      // The read model may lack the end of the key.
      if (!(await keys.isValid(key.user_id, key._id))) return null;
      uses.used(key);
      const of_key = {
        is_admin: false,
        kind: 'key' as const,
        key_id: key._id,
        ...(key.scopes && { scopes: key.scopes }),
      };
      if (key.is_test === true) return { user_id: testUserOf(key.user_id), email: null, ...of_key };
      return {
        user_id: key.user_id,
        email: key.email,
        ...of_key,
        ...(key.credit_limit !== undefined && { credit_limit: key.credit_limit }),
      };
    },
    async seen(caller, command) {
      const { kind, user_id, email, name, is_admin } = caller;
      if (isTestUser(user_id)) {
        if ((await accounts.find(accountOf(user_id))).is_erased) throw invalidApiKey();
        return;
      }
      const seen = { user_id, email, ...(name !== undefined && { name }), ...(kind === 'user' && { is_admin }) };
      const bearer = JSON.stringify(seen);
      const gone = () => (kind === 'key' ? invalidApiKey() : invalidToken());
      if (known.has(bearer)) {
        if ((await accounts.find(user_id)).is_erased) throw gone();
        return;
      }
      const position = await accounts.see(seen, command());
      if (position === 'erased') throw gone();
      if (position !== null) await passed(position);
      known.set(bearer, true);
    },
    isStill(caller, authorization) {
      const until_ms = goodUntil(caller, authorization.trimEnd().split(' ').at(-1)!);
      const streams = [userStream(caller.user_id), ...(caller.kind === 'key' ? [apiKeysStream(caller.user_id)] : [])];
      const last_ids = streams.map((stream) => log.lastIdNow?.(stream));
      if (last_ids.includes(undefined) || isTestUser(caller.user_id)) return null;
      return () => now() < until_ms && streams.every((stream, n) => log.lastIdNow!(stream) === last_ids[n]);
    },
  };
}

const MAX_KEYS = 10_000;

/** Appends to the log that an API key is in use: at most once an hour for each key, while the request goes on without waiting. */
function openApiKeyUses(keys: Pick<ApiKeys, 'recordUse'>, log: Logger, now: () => number) {
  /** The time of this process's last append for each key, in Unix milliseconds. A failed append counts. */
  const recorded_at = new LRUCache<string, number>({ max: MAX_KEYS });
  const appending = new Set<Promise<void>>();
  return {
    /** Notes that the service admitted a request with the key. */
    used({ _id, last_used_at }: Pick<ApiKeyDocument, '_id' | 'last_used_at'>): void {
      const at = now();
      const last = Math.max(recorded_at.get(_id) ?? 0, last_used_at === null ? 0 : Date.parse(last_used_at));
      if (at - last < USE_INTERVAL_MS) return;
      recorded_at.set(_id, at);
      const context = { command_id: randomUUID(), causation_id: _id, actor: 'process:api-key-uses', now: at };
      const one = keys
        .recordUse(_id, context)
        .catch((error: unknown) => log.warn({ err: error, key_id: _id }, 'http could not record the use of an API key'))
        .finally(() => appending.delete(one));
      appending.add(one);
    },
    /** Waits for the appends in flight. */
    close: async (): Promise<void> => void (await Promise.all(appending)),
  };
}
