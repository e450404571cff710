// Holds the data of a service that is stopped to what must be true of it: the ledger adds up and chains, every ended
// job's credits are accounted for, every URL has one result, and the documents are what a fresh replay makes.
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { type CreditsEvent, entryHash } from '../../events/credits.ts';
import type { EventStore } from '../../events/event-store.ts';
import { categoryOf, checksOf } from '../../events/streams.ts';
import { ALL_PROJECTIONS } from '../../projections/all.ts';
import type { CollectionSpec, Document, Documents } from '../../readmodels/documents.ts';
import { jobs } from '../../readmodels/jobs.ts';
import { openReadModels } from '../../readmodels/projection-state.ts';
import { project } from './stores.ts';

/** Of the embedded stores of a data folder. */
export async function assertExactFolder(t: ExecutionContext, data_dir: string): Promise<void> {
  const log = await openSqliteEventStore({ path: join(data_dir, 'events.db') });
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
  t: ExecutionContext,
  log: EventStore,
  documents: Documents,
  empty: Documents,
): Promise<void> {
  await assertLedger(t, log);
  await assertOneResultEach(t, log);
  await project({ log, documents });
  await assertSettled(t, documents);
  await project({ log, documents: empty });
  for (const projection of ALL_PROJECTIONS) {
    for (const spec of projection.collections) {
      t.deepEqual(await contents(empty, spec), await contents(documents, spec), spec.name);
    }
  }
}

async function assertLedger(t: ExecutionContext, log: EventStore): Promise<void> {
  const ledgers = new Map<string, { balance: number; hash: string }>();
  for await (const event of log.readAll({ filter: { categories: ['credits'] } })) {
    const ledger = ledgers.get(event.stream) ?? { balance: 0, hash: '' };
    const { data } = event as unknown as CreditsEvent;
    ledger.balance += data.amount;
    ledger.hash = entryHash(ledger.hash, data);
    t.true(ledger.balance >= 0, `${event.stream} is negative at ${event.revision}`);
    t.is(data.balance_after, ledger.balance);
    t.is(data.hash, ledger.hash);
    ledgers.set(event.stream, ledger);
  }
}

async function assertOneResultEach(t: ExecutionContext, log: EventStore): Promise<void> {
  const seen = new Set<string>();
  for await (const event of log.readAll({ filter: { categories: ['checks'] } })) {
    t.is(categoryOf(event.stream), 'checks');
    const { index } = event.data as { index: number };
    const key = `${checksOf(event.stream).job_id}:${index}`;
    if (seen.has(key)) t.fail(`URL ${key} was checked twice in the log`);
    seen.add(key);
  }
}

async function assertSettled(t: ExecutionContext, documents: Documents): Promise<void> {
  const readmodels = await openReadModels(documents);
  for await (const job of readmodels.collection(jobs).stream({})) {
    if (job.status !== 'completed' && job.status !== 'cancelled') continue;
    t.is(job.credits_allocated, job.completed_urls + job.credits_refunded, job._id);
  }
}

async function contents<T extends Document>(documents: Documents, spec: CollectionSpec<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const document of (await openReadModels(documents)).collection(spec).stream({})) all.push(document);
  return all;
}
