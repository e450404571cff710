// Opens the documents that the settings of the service name, for reading, and changes nothing.
import { join, resolve } from 'node:path';
import { pino } from 'pino';
import { readSqliteDocuments } from '../../adapters/documents/sqlite/read-sqlite-documents.ts';
import type { Documents } from '../../readmodels/documents.ts';
import { readConfig } from '../../settings/config.ts';
import { type Run, UsageError } from './command.ts';

export type ReadDocuments = Pick<Documents, 'reading' | 'names' | 'close'>;

export async function openDocumentsToRead({ env }: Pick<Run, 'env'>): Promise<ReadDocuments> {
  const { data_dir, mongodb_url: url } = readConfig(env);
  if (url === null) return readSqliteDocuments(resolve(join(data_dir, 'documents.db')));
  const { openMongoDocuments } = await import('../../adapters/documents/mongodb/mongodb-documents.ts');
  const documents = await openMongoDocuments({ url, log: pino({ level: 'silent' }) });
  if ((await documents.names()).length > 0) return documents;
  await documents.close();
  throw new UsageError('there are no documents in the database of MONGODB_URL: the service makes them when it starts');
}
