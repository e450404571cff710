// The read model of API keys.
import type { ApiKeyCreated, ApiKeyUsed } from '../events/api-key.ts';
import { idOf } from '../events/streams.ts';
import { apiKeys } from '../readmodels/api-keys.ts';
import type { Projection } from './projection.ts';

export const apiKeysProjection: Projection = {
  name: 'api_keys',
  version: 2,
  types: ['ApiKeyCreated', 'ApiKeyRevoked', 'ApiKeyUsed'],
  collections: [apiKeys],
  async apply(events, open) {
    const collection = await open(apiKeys);
    for (const event of events) {
      const _id = idOf(event.stream);
      const { at } = event.metadata;
      if (event.type === 'ApiKeyRevoked') {
        await collection.write([{ update: _id, set: { $set: { revoked_at: at } } }]);
        continue;
      }
      if (event.type === 'ApiKeyUsed') {
        const { used_at } = event.data as ApiKeyUsed;
        await collection.write([{ update: _id, set: { $set: { last_used_at: used_at } } }]);
        continue;
      }
      const { key_id: _, ...key } = event.data as ApiKeyCreated;
      await collection.write([{ replace: { _id, ...key, created_at: at, revoked_at: null, last_used_at: null } }]);
    }
  },
};
