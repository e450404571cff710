// The read model of API keys.
import { type CreditsEvent, keyMovesOf } from '../../events/credits.ts';
import { idOf } from '../../events/streams.ts';
import type { LogEvent } from '../../events/vocabulary.ts';
import type { Collection } from '../../readmodels/documents.ts';
import { type ApiKeyDocument, apiKeys } from '../../readmodels/users/api-keys.ts';
import { type Projection, projection } from '../projection.ts';

export const apiKeysProjection: Projection = projection({
  name: 'api_keys',
  version: 4,
  collections: [apiKeys],
  covers: ['api_keys', 'api_key_uses'],
  begin: (open) => open(apiKeys),
  on: {
    ApiKeyCreated: ({ data: { key_id: _id, ...key }, metadata: { at } }, keys) =>
      keys.write([{ replace: { _id, ...key, created_at: at, revoked_at: null, last_used_at: null } }]),
    ApiKeyRevoked: ({ data: { key_id }, metadata: { at } }, keys) =>
      keys.write([{ update: key_id, set: { $set: { revoked_at: at } } }]),
    ApiKeyUsed: ({ data: { used_at }, stream }, keys) =>
      keys.write([{ update: idOf(stream), set: { $set: { last_used_at: used_at } } }]),
    CreditsReserved: moveCredits,
    CreditsRefunded: moveCredits,
    UserErased: removeKeys,
    // A request that had begun before the erasure may have made a key after it.
    UserForgotten: removeKeys,
  },
});

async function moveCredits(event: LogEvent & CreditsEvent, keys: Collection<ApiKeyDocument>): Promise<void> {
  const moves = keyMovesOf(event);
  if (moves.length === 0) return;
  await keys.write(moves.map(({ key_id, amount }) => ({ update: key_id, set: { $inc: { credits_used: amount } } })));
}

function removeKeys({ stream }: LogEvent, keys: Collection<ApiKeyDocument>): Promise<void> {
  return keys.write([{ deleteMany: { user_id: idOf(stream) } }]);
}
