// Entry of a thread that rebuilds projections of a log until they are done, so that a test may bound its memory.
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { ALL_PROJECTIONS } from '../../projections/all.ts';
import { openFolderLog, project } from './stores.ts';

const { folder, names } = workerData as { folder: string; names: readonly string[] };
const log = await openFolderLog(folder);
const documents = await openSqliteDocuments({ path: join(folder, 'documents.db') });
await project(
  { log, documents },
  ALL_PROJECTIONS.filter(({ name }) => names.includes(name)),
);
await Promise.all([log.close(), documents.close()]);
parentPort!.postMessage('done');
