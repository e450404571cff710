// Two projectors, and exports at a flip, over documents in SQLite; over MongoDB in `test/servers/mongodb.test.ts`.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import type { Opened } from '../contracts/documents.ts';
import { exportContract } from '../contracts/exports.ts';
import { projectorContract } from '../contracts/projector.ts';

async function open(): Promise<Opened> {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-projector-'));
  const path = join(folder, 'documents.db');
  const documents = await openSqliteDocuments({ path });
  const close = async () => {
    await documents.close();
    await rm(folder, { recursive: true });
  };
  return { documents, reopen: () => openSqliteDocuments({ path }), close };
}

projectorContract(test, 'projectors over SQLite', { open });
exportContract(test, 'exports from SQLite', { open });
