// A page of a collection by offset.
import type { Collection, Document, Filter, Sort } from './documents.ts';

export interface Paging {
  limit: number;
  offset: number;
}

export interface Page<Item> {
  items: Item[];
  /** How many match the filter, on all pages. */
  total: number;
}

export const NEWEST_FIRST: Sort = { created_at: -1 };

/** @example await pageOf(read.shares, { job_id }, NEWEST_FIRST, { limit: 50, offset: 0 }) */
export async function pageOf<Item extends Document>(
  collection: Pick<Collection<Item>, 'find' | 'count'>,
  filter: Filter,
  sort: Sort,
  { limit, offset }: Paging,
): Promise<Page<Item>> {
  const [items, total] = await Promise.all([
    collection.find(filter, { sort, skip: offset, limit }),
    collection.count(filter),
  ]);
  return { items, total };
}
