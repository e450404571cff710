// Opens the documents that the settings of the service name, for reading, and changes nothing.
import { join, resolve } from 'node:path';
import { pino } from 'pino';
import { readSqliteDocuments } from '../../adapters/documents/sqlite/read-sqlite-documents.ts';
import type { CollectionSpec, Document, Documents, Reading } from '../../readmodels/documents.ts';
import { inGeneration, projectionState, projectionStates } from '../../readmodels/projection-state.ts';
import { tlsFilesOf } from '../../service/store-tls.ts';
import { readConfig } from '../../settings/config.ts';
import { type Run, UsageError } from './command.ts';

export type ReadDocuments = Pick<Documents, 'reading' | 'names' | 'close'>;

export async function openDocumentsToRead({ env }: Pick<Run, 'env'>): Promise<ReadDocuments> {
  const config = readConfig(env);
  const { data_dir, mongodb_url: url } = config;
  if (url === null) return readSqliteDocuments(resolve(join(data_dir, 'documents.db')));
  const { openMongoDocuments } = await import('../../adapters/documents/mongodb/mongodb-documents.ts');
  const documents = await openMongoDocuments({
    url,
    tls: tlsFilesOf(config, 'MONGODB'),
    log: pino({ level: 'silent' }),
  });
  if ((await documents.names()).length > 0) return documents;
  await documents.close();
  throw new UsageError('there are no documents in the database of MONGODB_URL: the service makes them when it starts');
}

/** The documents of a read model that clients read now. */
export async function liveReading<T extends Document>(
  documents: ReadDocuments,
  spec: CollectionSpec<T>,
): Promise<Reading<T>> {
  const states = (await documents.reading(projectionStates).find({})).map((one) => projectionState(one._id, one));
  const generation = states.find(({ collections }) => collections.includes(spec.name))?.generation ?? 0;
  return documents.reading(inGeneration(spec, generation));
}
