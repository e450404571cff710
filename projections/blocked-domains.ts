// The read model of the blocklist.
import {
  BLOCKLIST,
  type BlockedDomainDocument,
  blockedDomains,
  blocklistVersion,
} from '../readmodels/blocked-domains.ts';
import type { Write } from '../readmodels/documents.ts';
import { type Projection, projection } from './projection.ts';

export const blockedDomainsProjection: Projection = projection({
  name: 'blocked_domains',
  version: 2,
  collections: [blockedDomains, blocklistVersion],
  covers: ['blocklist'],
  begin: (_open, events) => ({ writes: [] as Write<BlockedDomainDocument>[], position: events.at(-1)!.position }),
  on: {
    DomainBlocked: ({ data: { domain: _id, ...entry } }, { writes }) => writes.push({ replace: { _id, ...entry } }),
    DomainBlockUpdated: ({ data: { domain, ...entry } }, { writes }) =>
      writes.push({ update: domain, set: { $set: entry } }),
    DomainUnblocked: ({ data: { domain } }, { writes }) => writes.push({ delete: domain }),
  },
  async end({ writes, position }, open) {
    await (await open(blockedDomains)).write(writes);
    await (await open(blocklistVersion)).write([{ replace: { _id: BLOCKLIST, position } }]);
  },
});
