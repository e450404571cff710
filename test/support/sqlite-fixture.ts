// The fixture of documents in SQLite, for the contract suites.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import type { Fixture } from '../contracts/documents/fixture.ts';

export const IN_SQLITE: Fixture = {
  async open() {
    const folder = await mkdtemp(join(tmpdir(), 'url-checker-fixture-'));
    const path = join(folder, 'documents.db');
    const documents = await openSqliteDocuments({ path });
    const close = async () => {
      await documents.close();
      await rm(folder, { recursive: true });
    };
    return { documents, reopen: () => openSqliteDocuments({ path }), close };
  },
};
