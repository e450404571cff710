// The reads of a collection that may not exist: each looks for the table, and none makes it.
import type { CollectionSpec, Document } from '../../../readmodels/documents.ts';
import { StoreUnavailable } from '../unavailable.ts';
import { whenReadable } from './connection.ts';
import type { KnownCollections } from './known-collections.ts';
import type { Access } from './sqlite-collection.ts';

/**
 * An access by which a missing collection has no rows. A collection that was found is read without another look, until a read
 * fails because its table is gone.
 */
export function readingAccess<T extends Document>(
  spec: CollectionSpec<T>,
  known: KnownCollections,
  access: Access,
): Access {
  const isThere = () =>
    whenReadable(() => {
      const found = known.find(spec);
      if (found === 'other') throw new StoreUnavailable(`${spec.name} lacks a field or an index of its declaration`);
      return found === 'there';
    });
  async function read<R>(rows: () => Promise<R>, none: R): Promise<R> {
    if (!(await isThere())) return none;
    try {
      return await rows();
    } catch (error) {
      if (!isMissing(error)) throw error;
      await whenReadable(() => known.refresh());
      return (await isThere()) ? await rows() : none;
    }
  }
  return {
    ...access,
    rows: (plan, signal) => read(() => access.rows(plan, signal), { values: [], is_cut: false }),
    all: (sql, params) => read(() => access.all(sql, params), []),
  };
}

/** SQLite knows the table, a column or the index no more. */
const isMissing = (error: unknown): boolean => error instanceof Error && error.message.startsWith('no such ');
