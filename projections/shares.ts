// The read model of shares.
import { idOf } from '../events/streams.ts';
import type { Write } from '../readmodels/documents.ts';
import { type ShareDocument, shares } from '../readmodels/shares.ts';
import { type Projection, projection } from './projection.ts';

export const sharesProjection: Projection = projection({
  name: 'shares',
  version: 2,
  collections: [shares],
  covers: ['shares', 'share_uses'],
  begin: () => [] as Write<ShareDocument>[],
  on: {
    ShareCreated({ data: { share_id: _id, job_id, expires_at }, metadata: { at } }, writes) {
      const unused = { revoked_at: null, use_count: 0, last_used_at: null };
      writes.push({ replace: { _id, job_id, created_at: at, expires_at, ...unused } });
    },
    ShareUsed: ({ data: { count, last_used_at }, stream }, writes) =>
      writes.push({ update: idOf(stream), set: { $inc: { use_count: count }, $set: { last_used_at } } }),
    ShareRevoked: ({ data: { share_id }, metadata: { at } }, writes) =>
      writes.push({ update: share_id, set: { $set: { revoked_at: at } } }),
    JobDeleted: ({ stream }, writes) => writes.push({ deleteMany: { job_id: idOf(stream) } }),
  },
  end: async (writes, open) => (await open(shares)).write(writes),
});
