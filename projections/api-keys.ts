// The read model of API keys.
import type { ApiKeysEvent, ApiKeyUsed } from '../events/api-key.ts';
import { idOf } from '../events/streams.ts';
import { apiKeys } from '../readmodels/api-keys.ts';
import type { Projection } from './projection.ts';

export const apiKeysProjection: Projection = {
  name: 'api_keys',
  version: 3,
  types: ['ApiKeyCreated', 'ApiKeyRevoked', 'ApiKeyUsed'],
  collections: [apiKeys],
  async apply(events, open) {
    const collection = await open(apiKeys);
    for (const event of events) {
      if (event.type === 'ApiKeyUsed') {
        const { used_at } = event.data as ApiKeyUsed;
        await collection.write([{ update: idOf(event.stream), set: { $set: { last_used_at: used_at } } }]);
        continue;
      }
      const { at } = event.metadata;
      const { type, data } = event as unknown as ApiKeysEvent;
      if (type === 'ApiKeyRevoked') {
        await collection.write([{ update: data.key_id, set: { $set: { revoked_at: at } } }]);
        continue;
      }
      const { key_id: _id, ...key } = data;
      await collection.write([{ replace: { _id, ...key, created_at: at, revoked_at: null, last_used_at: null } }]);
    }
  },
};
