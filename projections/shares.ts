// The read model of shares.
import type { RecordedEvent } from '../events/event-store.ts';
import type { ShareCreated, SharesEvent, ShareUsed } from '../events/share.ts';
import { idOf } from '../events/streams.ts';
import type { Write } from '../readmodels/documents.ts';
import { type ShareDocument, shares } from '../readmodels/shares.ts';
import type { Projection } from './projection.ts';

export const sharesProjection: Projection = {
  name: 'shares',
  version: 2,
  types: ['ShareCreated', 'ShareRevoked', 'ShareUsed', 'JobDeleted'],
  collections: [shares],
  async apply(events, open) {
    const collection = await open(shares);
    await collection.write(events.map(writeOf));
  },
};

function writeOf(event: RecordedEvent): Write<ShareDocument> {
  const { at } = event.metadata;
  switch (event.type) {
    case 'ShareCreated': {
      const { share_id: _id, job_id, expires_at } = event.data as ShareCreated;
      const unused = { revoked_at: null, use_count: 0, last_used_at: null };
      return { replace: { _id, job_id, created_at: at, expires_at, ...unused } };
    }
    case 'ShareUsed': {
      const { count, last_used_at } = event.data as ShareUsed;
      return { update: idOf(event.stream), set: { $inc: { use_count: count }, $set: { last_used_at } } };
    }
    case 'ShareRevoked':
      return { update: (event.data as SharesEvent['data']).share_id, set: { $set: { revoked_at: at } } };
    default:
      return { deleteMany: { job_id: idOf(event.stream) } };
  }
}
