// Appends to the log that an API key is in use: at most once an hour for each key, while the request goes on without waiting.
import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { type ApiKeys, USE_INTERVAL_MS } from '../commands/api-keys.ts';
import type { ApiKeyDocument } from '../readmodels/api-keys.ts';

export interface ApiKeyUses {
  /** Notes that the service admitted a request with the key. */
  used(key: Pick<ApiKeyDocument, '_id' | 'last_used_at'>): void;
  /** Waits for the appends in flight. */
  close(): Promise<void>;
}

const MAX_KEYS = 100_000;

export function openApiKeyUses(keys: Pick<ApiKeys, 'recordUse'>, log: Logger, now: () => number): ApiKeyUses {
  /** The time of this process's last append for each key, in Unix milliseconds. A failed append counts. */
  const recorded_at = new LRUCache<string, number>({ max: MAX_KEYS });
  const appending = new Set<Promise<void>>();
  return {
    used({ _id, last_used_at }) {
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
    close: async () => void (await Promise.all(appending)),
  };
}
