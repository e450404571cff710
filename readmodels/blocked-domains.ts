// The read model of the blocklist: one document for each domain, and one with the list's version, for caches in memory.
import type { Position } from '../events/event-store.ts';
import { type Collection, type Document, kept, type ReadModelSpec } from './documents.ts';
import { type Page, type Paging, pageOf } from './pages.ts';

/** `_id` is the domain. */
export interface BlockedDomainDocument extends Document {
  reason: string;
  block_type: string;
  error_codes: string[];
  /** ISO 8601. */
  added_at: string;
}

export const blockedDomains: ReadModelSpec<BlockedDomainDocument> = {
  name: 'blocked_domains',
  ...kept('under 1 kB an entry', 'when an administrator deletes it', 'none'),
  fields: { added_at: 'string', reason: 'string', block_type: 'string' },
  indexes: [{ fields: { added_at: 1 } }],
};

/** The only document of its collection: the position of the last event in the list. */
export interface BlocklistVersionDocument extends Document {
  position: Position;
}

export const blocklistVersion: ReadModelSpec<BlocklistVersionDocument> = {
  name: 'blocklist_version',
  ...kept('100', 'never', 'none'),
  fields: {},
  indexes: [],
};
export const BLOCKLIST = 'blocklist';

export const BLOCKED_DOMAIN_SORTS = ['added_at', 'domain', 'reason', 'block_type'] as const;
export type BlockedDomainSort = (typeof BLOCKED_DOMAIN_SORTS)[number];

export function blockedDomainsPage(
  collection: Pick<Collection<BlockedDomainDocument>, 'find' | 'count'>,
  page: Paging & { sort_by: BlockedDomainSort; sort_order: 'asc' | 'desc' },
): Promise<Page<BlockedDomainDocument>> {
  const path = page.sort_by === 'domain' ? '_id' : page.sort_by;
  return pageOf(collection, {}, { [path]: page.sort_order === 'asc' ? 1 : -1 }, page);
}
