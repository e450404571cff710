// The read model of the blocklist.
import type { BlocklistEvent } from '../events/blocked-domain.ts';
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
  version: 2,
  types: ['DomainBlocked', 'DomainBlockUpdated', 'DomainUnblocked'],
  collections: [blockedDomains, blocklistVersion],
  async apply(events, open) {
    const writes = events.map((event): Write<BlockedDomainDocument> => {
      const { type, data } = event as unknown as BlocklistEvent;
      if (type === 'DomainUnblocked') return { delete: data.domain };
      if (type === 'DomainBlockUpdated') {
        const { domain, ...said } = data;
        return { update: domain, set: { $set: said } };
      }
      const { domain: _id, ...entry } = data;
      return { replace: { _id, ...entry } };
    });
    await (await open(blockedDomains)).write(writes);
    const { position } = events.at(-1)!;
    await (await open(blocklistVersion)).write([{ replace: { _id: BLOCKLIST, position } }]);
  },
};
