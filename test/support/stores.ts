// Embedded stores of a test's own in a temporary folder, and what tests of commands, processes and projections need.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { pino } from 'pino';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import type { CommandContext } from '../../commands/aggregate.ts';
import { identifyLog } from '../../commands/log-identity.ts';
import type { EventStore } from '../../events/event-store.ts';
import { ALL_PROJECTIONS } from '../../projections/all.ts';
import type { Projection } from '../../projections/projection.ts';
import { runProjector } from '../../projections/projector.ts';
import type { Documents } from '../../readmodels/documents.ts';
import { openLeases } from '../../roles/leases.ts';

export interface TestStores {
  log: EventStore;
  documents: Documents;
}

export const silent = pino({ level: 'silent' });

export const commandContext = (now = Date.now()): CommandContext => ({
  command_id: randomUUID(),
  causation_id: 'test',
  actor: 'process:test',
  now,
});

/** Closed and removed when the test is over. */
export async function openTestStores(t: ExecutionContext): Promise<TestStores> {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-stores-'));
  const log = await openSqliteEventStore({ path: join(folder, 'events.db') });
  const documents = await openSqliteDocuments({ path: join(folder, 'documents.db') });
  t.teardown(async () => {
    await Promise.all([log.close(), documents.close()]);
    await rm(folder, { recursive: true, force: true });
  });
  return { log, documents };
}

/** Runs the projections to the end of the log. */
export async function project(
  { log, documents }: TestStores,
  projections: readonly Projection[] = ALL_PROJECTIONS,
): Promise<void> {
  const end = await log.head();
  const done = new AbortController();
  await runProjector({
    log,
    documents,
    projections,
    leases: await openLeases(documents),
    log_id: () => identifyLog(log, 'process:test', Date.now()),
    logger: silent,
    signal: done.signal,
    advanced: (position, is_building) => position >= end && !is_building && done.abort(),
  });
}
