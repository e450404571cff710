// Reads and writes any number of documents, in calls within the port's limits.
import type { Collection, Document, Write } from '../readmodels/documents.ts';

/** The port allows 10,000. */
const AT_ONCE = 5000;

/** Returns the documents that exist, by id, in the order of the ids. */
export async function readAll<T extends Document>(
  collection: Pick<Collection<T>, 'getMany'>,
  ids: Iterable<string>,
): Promise<Map<string, T>> {
  const wanted = [...new Set(ids)];
  const documents = new Map<string, T>();
  for (let from = 0; from < wanted.length; from += AT_ONCE) {
    for (const document of await collection.getMany(wanted.slice(from, from + AT_ONCE))) {
      documents.set(document._id, document);
    }
  }
  return documents;
}

/** Applies the writes in order. The caller's transaction makes them all or none. */
export async function writeAll<T extends Document>(
  collection: Collection<T>,
  writes: readonly Write<T>[],
): Promise<void> {
  for (let from = 0; from < writes.length; from += AT_ONCE) await collection.write(writes.slice(from, from + AT_ONCE));
}

/** Stores the documents, in the place of those that have their ids. */
export const replaceAll = <T extends Document>(collection: Collection<T>, documents: Iterable<T>): Promise<void> =>
  writeAll(
    collection,
    [...documents].map((replace) => ({ replace })),
  );

/** Stores the documents of these ids, and deletes those that there are no more. */
export const writeChanged = <T extends Document>(
  collection: Collection<T>,
  changed: Iterable<string>,
  documents: ReadonlyMap<string, T | null>,
): Promise<void> =>
  writeAll(
    collection,
    [...changed].map((id) => {
      const replace = documents.get(id);
      return replace ? { replace } : { delete: id };
    }),
  );
