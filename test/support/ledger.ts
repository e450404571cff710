// Holds the data of a service that is stopped to what must be true of it: the ledger adds up and chains, every ended
// job's credits are accounted for, every URL has one result, and the documents are what a fresh replay makes.
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { AUDITED, openLedgerAudit } from '../../audit/ledger-audit.ts';
import { indexesOf } from '../../events/checked-range.ts';
import type { URLChecked } from '../../events/checks.ts';
import type { EventStore } from '../../events/event-store.ts';
import { checksOf } from '../../events/streams.ts';
import { ALL_PROJECTIONS } from '../../projections/all.ts';
import type { CollectionSpec, Document, Documents } from '../../readmodels/documents.ts';
import { jobs } from '../../readmodels/jobs/jobs.ts';
import { openReadModels, type ReadModels } from '../../readmodels/read-models.ts';
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
  await assertSameDocuments(t, documents, empty);
}

/** `other_log`: the documents were made from a copy of the log, whose events have other positions. */
export async function assertSameDocuments(
  t: Asserting,
  documents: Documents,
  others: Documents,
  { other_log = false } = {},
): Promise<void> {
  const [expected, actual] = [openReadModels(others), openReadModels(documents)];
  const comparable = (found: Document[]) => (other_log ? found.map((each) => ({ ...each, position: null })) : found);
  for (const spec of ALL_PROJECTIONS.flatMap(({ collections }) => collections)) {
    const [some, same] = [await contents(actual, spec), await contents(expected, spec)];
    t.deepEqual(comparable(some), comparable(same), spec.name);
  }
}

/** The audit finds nothing. Tests may grant credits without a payment. */
export async function assertLedger(t: Asserting, log: EventStore): Promise<void> {
  const audit = openLedgerAudit({
    found: (violation) => violation.rule === 'payment' || t.fail(JSON.stringify(violation)),
  });
  for await (const event of log.readAll({ filter: { categories: AUDITED } })) audit.take(event);
  audit.finish();
  audit.close();
}

async function assertOneResultEach(t: Asserting, log: EventStore): Promise<void> {
  const seen = new Map<string, Set<number>>();
  for await (const { stream, revision, data } of log.readAll({ filter: { categories: ['checks'] } })) {
    const checked = data as URLChecked;
    t.is(checked.job_id, checksOf(stream).job_id);
    t.is(seen.has(stream), revision > 0, stream);
    const indexes = seen.get(stream) ?? new Set();
    seen.set(stream, indexes);
    for (const index of indexesOf(checked)) {
      t.is(indexes.has(index), false, `${stream}: the URL ${index} is recorded once`);
      indexes.add(index);
    }
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
