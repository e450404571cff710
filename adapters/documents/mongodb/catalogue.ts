// Makes collections and their indexes on the server.
import type { Db } from 'mongodb';
import type { Declared, DeclaredIndex } from '../spec.ts';
import { isNamespaceExists, isNamespaceNotFound } from './errors.ts';

/** Makes the missing collection and indexes; leaves indexes that others declared. The server builds indexes in the background. */
export async function makeCollection(db: Db, spec: Declared): Promise<void> {
  let there = await indexNames(db, spec.name);
  if (there === null) {
    await db.createCollection(spec.name).catch((error: unknown) => {
      if (!isNamespaceExists(error)) throw error;
    });
    there = new Set();
  }
  const missing = spec.indexes.filter((index) => !there.has(nameOf(index)));
  if (missing.length === 0) return;
  await db.collection(spec.name).createIndexes(
    missing.map((index) => ({
      name: nameOf(index),
      key: Object.fromEntries(index.keys.map(({ path, direction }) => [path, direction])),
    })),
  );
}

/** Null when there is no such collection. */
async function indexNames(db: Db, name: string): Promise<Set<string> | null> {
  try {
    const indexes = await db.collection(name).listIndexes().toArray();
    return new Set(indexes.map((index) => String(index.name)));
  } catch (error) {
    if (isNamespaceNotFound(error)) return null;
    throw error;
  }
}

function nameOf(index: DeclaredIndex): string {
  const fields = index.fields.map(({ path, direction }) => `${direction === 1 ? '' : '-'}${encodeURIComponent(path)}`);
  return `index ${fields.join(',')}`;
}
