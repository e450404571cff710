// The read model of the blocklist.
import type { BlockedDomainEvent } from '../events/blocked-domain.ts';
import { idOf } from '../events/streams.ts';
import {
  BLOCKLIST,
  type BlockedDomainDocument,
  blockedDomains,
  blocklistVersion,
} from '../readmodels/blocked-domains.ts';
import type { Write } from '../readmodels/documents.ts';
import type { Projection } from './projection.ts';

export const blockedDomainsProjection: Projection = {
  name: 'blocked_domains',
  version: 1,
  types: ['DomainBlocked', 'DomainBlockUpdated', 'DomainUnblocked'],
  collections: [blockedDomains, blocklistVersion],
  async apply(events, open) {
    const writes = events.map((event): Write<BlockedDomainDocument> => {
      const _id = idOf(event.stream);
      const { type, data } = event as unknown as BlockedDomainEvent;
      if (type === 'DomainUnblocked') return { delete: _id };
      if (type === 'DomainBlockUpdated') return { update: _id, set: { $set: data } };
      const { domain: _, ...entry } = data;
      return { replace: { _id, ...entry } };
    });
    await (await open(blockedDomains)).write(writes);
    const { position } = events.at(-1)!;
    await (await open(blocklistVersion)).write([{ replace: { _id: BLOCKLIST, position } }]);
  },
};
