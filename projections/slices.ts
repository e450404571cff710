// Reads and writes any number of documents, in calls within the port's limits.
import type { Collection, Document, Write } from '../readmodels/documents.ts';

/** The port allows 10,000. */
const AT_ONCE = 5000;

/** Returns the documents that exist, in the order of the ids. */
export async function readAll<T extends Document>(
  collection: Pick<Collection<T>, 'getMany'>,
  ids: readonly string[],
): Promise<T[]> {
  const documents: T[] = [];
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    for (const document of await collection.getMany(ids.slice(from, from + AT_ONCE))) documents.push(document);
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
