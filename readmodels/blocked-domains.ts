// The read model of the blocklist: one document for each domain, and one with the list's version, for caches in memory.
import type { Position } from '../events/event-store.ts';
import type { Collection, CollectionSpec, Document } from './documents.ts';

/** `_id` is the domain. */
export interface BlockedDomainDocument extends Document {
  reason: string;
  block_type: string;
  error_codes: string[];
  /** ISO 8601. */
  added_at: string;
}

export const blockedDomains: CollectionSpec<BlockedDomainDocument> = {
  name: 'blocked_domains',
  fields: { added_at: 'string', reason: 'string', block_type: 'string' },
  indexes: [{ fields: { added_at: 1 } }],
};

/** The only document of its collection: the position of the last event in the list. */
export interface BlocklistVersionDocument extends Document {
  position: Position;
}

export const blocklistVersion: CollectionSpec<BlocklistVersionDocument> = {
  name: 'blocklist_version',
  fields: {},
  indexes: [],
};
export const BLOCKLIST = 'blocklist';

export const BLOCKED_DOMAIN_SORTS = ['added_at', 'domain', 'reason', 'block_type'] as const;
export type BlockedDomainSort = (typeof BLOCKED_DOMAIN_SORTS)[number];

export async function blockedDomainsPage(
  collection: Pick<Collection<BlockedDomainDocument>, 'find' | 'count'>,
  page: { sort_by: BlockedDomainSort; sort_order: 'asc' | 'desc'; limit: number; offset: number },
): Promise<{ items: BlockedDomainDocument[]; total: number }> {
  const path = page.sort_by === 'domain' ? '_id' : page.sort_by;
  const sort = { [path]: page.sort_order === 'asc' ? 1 : -1 } as const;
  const [items, total] = await Promise.all([
    collection.find({}, { sort, skip: page.offset, limit: page.limit }),
    collection.count({}),
  ]);
  return { items, total };
}
