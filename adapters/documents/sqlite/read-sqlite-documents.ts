// Reads the documents in a SQLite file that other processes may be writing, and changes nothing.
import type { Documents } from '../../../readmodels/documents.ts';
import { isThere } from '../../sqlite.ts';
import { checkSpec } from '../spec.ts';
import { collectionNames } from './catalogue.ts';
import { Connection, whenReadable } from './connection.ts';
import { KnownCollections } from './known-collections.ts';
import { runPlan } from './read-plan.ts';
import { type Access, SqliteCollection } from './sqlite-collection.ts';
import { readingAccess } from './sqlite-reading.ts';

/** There is no file of documents. */
class NoDocuments extends Error {
  readonly code = 'no_documents';
}

/** Throws `NoDocuments`. Calls run on the calling thread, and throw `StoreUnavailable`. */
export async function readSqliteDocuments(path: string): Promise<Pick<Documents, 'reading' | 'names' | 'close'>> {
  if (!isThere(path)) throw new NoDocuments(`there are no documents at ${path}: the service makes them when it starts`);
  const connection = await Connection.reader(path, { read_only: true });
  const known = new KnownCollections(connection);
  const access: Access = {
    async rows(plan, signal) {
      signal?.throwIfAborted();
      return whenReadable(() => runPlan(connection, plan));
    },
    all: (sql, params) => whenReadable(() => connection.all(sql, params)),
    write: async () => {
      throw new Error('these documents are open for reading only');
    },
  };
  return {
    reading: (spec) => new SqliteCollection(checkSpec(spec), readingAccess(spec, known, access)),
    names: () => whenReadable(() => collectionNames(connection)),
    close: async () => connection.close(),
  };
}
