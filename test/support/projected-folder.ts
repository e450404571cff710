// A data folder with a filled log and its documents, for tests of the operators' programs.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import type { EventStore } from '../../events/event-store.ts';
import type { CollectionSpec, Document, Documents } from '../../readmodels/documents.ts';
import { inGeneration, projectionStates } from '../../readmodels/projection-state.ts';
import { fillLedger } from './audited-ledger.ts';
import { project } from './stores.ts';

/** Removed when the test is over. */
export async function projectedFolder(
  t: ExecutionContext,
  fill: (log: EventStore) => Promise<unknown> = fillLedger,
): Promise<string> {
  const folder = await makeProjectedFolder(fill);
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Removed by the caller. */
export async function makeProjectedFolder(fill: (log: EventStore) => Promise<unknown>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'projected-'));
  const log = await openSqliteEventStore({ path: join(folder, 'events.db') });
  await fill(log);
  await withDocuments(folder, (documents) => project({ log, documents }));
  await log.close();
  return folder;
}

export async function withDocuments<R>(folder: string, work: (documents: Documents) => Promise<R>): Promise<R> {
  const documents = await openSqliteDocuments({ path: join(folder, 'documents.db') });
  try {
    return await work(documents);
  } finally {
    await documents.close();
  }
}

export const stateIn = (folder: string, projection: string) =>
  withDocuments(folder, (documents) => documents.reading(projectionStates).get(projection));

/** A projection's live collection, to be changed behind its back. */
export async function openLive<T extends Document>(documents: Documents, projection: string, spec: CollectionSpec<T>) {
  const { generation } = (await documents.reading(projectionStates).get(projection))!;
  return documents.collection(inGeneration(spec, generation));
}
