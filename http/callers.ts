// Finds the user of an API key, and creates the account of a user at the first request.
import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { hashOfKey, idOfKey, openApiKeys } from '../commands/api-keys.ts';
import { apiKeys } from '../readmodels/api-keys.ts';
import { invalidToken } from './access.ts';
import { openApiKeyUses } from './api-key-uses.ts';
import type { AppOptions } from './app.ts';
import { retryLater } from './errors.ts';
import type { Parts } from './group.ts';

const MAX_KNOWN = 100_000;
/** An erased user's token is refused after this long. */
const KNOWN_MS = 60_000;

export function openCallers(parts: Parts): Pick<AppOptions, 'api_key' | 'seen'> {
  const { log, logger, accounts, passed, now, atEnd } = parts;
  const read = parts.read({ apiKeys });
  const uses = openApiKeyUses(openApiKeys(log), logger, now);
  atEnd(uses.close);
  /** The e-mail address of each user whose account this process knows to exist, so that it does not read the log again. */
  const known = new LRUCache<string, string>({ max: MAX_KNOWN, ttl: KNOWN_MS });
  return {
    async api_key(plaintext) {
      const id = idOfKey(plaintext);
      let key = await read.apiKeys.get(id);
      if (!key) {
        // The read model may not have a new key yet. Until it has caught up with the log, a missing key proves nothing.
        if (!(await passed(await log.head()))) {
          throw retryLater(503, 'unavailable', 'The read models are behind the log.');
        }
        key = await read.apiKeys.get(id);
      }
      if (!key || key.revoked_at !== null) return null;
      if (!timingSafeEqual(Buffer.from(key.key_hash), Buffer.from(hashOfKey(plaintext)))) return null;
      uses.used(key);
      return { user_id: key.user_id, email: key.email, is_admin: false, kind: 'key', key_id: key._id };
    },
    async seen(caller, command) {
      const { user_id, email } = caller;
      if (known.get(user_id) === (email ?? '')) return;
      const position = await accounts.see({ user_id, email }, command());
      if (position === 'erased') throw invalidToken();
      if (position !== null) await passed(position);
      known.set(user_id, email ?? '');
    },
  };
}
