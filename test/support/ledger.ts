// Holds the data of a service that is stopped to what must be true of it: the ledger adds up and chains, every ended
// job's credits are accounted for, every URL has one result, and the documents are what a fresh replay makes.
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { endOf } from '../../events/checked-range.ts';
import type { URLChecked } from '../../events/checks.ts';
import { type CreditsEvent, entryHash } from '../../events/credits.ts';
import type { EventStore } from '../../events/event-store.ts';
import { checksOf } from '../../events/streams.ts';
import { ALL_PROJECTIONS } from '../../projections/all.ts';
import type { CollectionSpec, Document, Documents } from '../../readmodels/documents.ts';
import { jobs } from '../../readmodels/jobs.ts';
import { openReadModels, type ReadModels } from '../../readmodels/read-models.ts';
import { assertLots } from './lots.ts';
import { openFolderLog, project } from './stores.ts';

/** AVA's, or any that throw. */
export interface Asserting {
  true(holds: boolean, message?: string): unknown;
  is(actual: unknown, expected: unknown, message?: string): unknown;
  deepEqual(actual: unknown, expected: unknown, message?: string): unknown;
  fail(message?: string): unknown;
}

/** Of the embedded stores of a data folder. */
export async function assertExactFolder(t: ExecutionContext, data_dir: string): Promise<void> {
  const log = await openFolderLog(data_dir);
  const documents = await openSqliteDocuments({ path: join(data_dir, 'documents.db') });
  const replayed = await openSqliteDocuments({ path: join(data_dir, 'replayed.db') });
  try {
    await assertExact(t, log, documents, replayed);
  } finally {
    await Promise.all([log.close(), documents.close(), replayed.close()]);
  }
}

/** `empty` takes the documents of a fresh replay. */
export async function assertExact(
  t: Asserting,
  log: EventStore,
  documents: Documents,
  empty: Documents,
): Promise<void> {
  await assertLedger(t, log);
  await assertOneResultEach(t, log);
  await project({ log, documents });
  await assertSettled(t, documents);
  await project({ log, documents: empty });
  const [expected, actual] = [openReadModels(empty), openReadModels(documents)];
  for (const spec of ALL_PROJECTIONS.flatMap(({ collections }) => collections)) {
    t.deepEqual(await contents(actual, spec), await contents(expected, spec), spec.name);
  }
}

/** Every balance is the sum of the entries before it and never negative, and every entry is chained to the one before. */
export async function assertLedger(t: Asserting, log: EventStore): Promise<void> {
  const ledgers = new Map<string, { balance: number; hash: string }>();
  for await (const event of log.readAll({ filter: { categories: ['credits'] } })) {
    const ledger = ledgers.get(event.stream) ?? { balance: 0, hash: '' };
    const { data } = event as unknown as CreditsEvent;
    ledger.balance += data.amount;
    ledger.hash = entryHash(ledger.hash, event);
    t.true(ledger.balance >= 0, `${event.stream} is negative at ${event.revision}`);
    t.is(data.balance_after, ledger.balance);
    t.is(data.hash, ledger.hash);
    ledgers.set(event.stream, ledger);
  }
  await assertLots(log);
}

async function assertOneResultEach(t: Asserting, log: EventStore): Promise<void> {
  const ends = new Map<string, number>();
  for await (const { stream, revision, data } of log.readAll({ filter: { categories: ['checks'] } })) {
    const checked = data as URLChecked;
    t.is(checked.job_id, checksOf(stream).job_id);
    const end = ends.get(stream);
    t.is(end === undefined, revision === 0, stream);
    if (end !== undefined) t.is(checked.from_index, end, `${stream}: each range begins where the one before it ends`);
    ends.set(stream, endOf(checked));
  }
}

async function assertSettled(t: Asserting, documents: Documents): Promise<void> {
  const readmodels = openReadModels(documents);
  for await (const job of readmodels.collection(jobs).stream({})) {
    if (job.status !== 'completed' && job.status !== 'cancelled') continue;
    t.is(job.credits_allocated, job.completed_urls + job.credits_refunded, job._id);
  }
}

async function contents<T extends Document>(readmodels: ReadModels, spec: CollectionSpec<T>): Promise<T[]> {
  return Array.fromAsync(readmodels.collection(spec).stream({}));
}
