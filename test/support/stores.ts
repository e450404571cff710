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
import { withCodec } from '../../events/codec.ts';
import type { EventStore } from '../../events/event-store.ts';
import { openPersonalKeys } from '../../events/personal-keys.ts';
import { ALL_PROJECTIONS } from '../../projections/all.ts';
import type { Projection } from '../../projections/projection.ts';
import { runProjector } from '../../projections/projector/projector.ts';
import type { Documents } from '../../readmodels/documents.ts';
import { openLeases } from '../../roles/leases.ts';
import { readLocalKey } from '../../service/local-key.ts';
import { undeclaredWork } from './spanning-commands.ts';

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

/** The log behind the codec, as the service opens it. */
export const coded = (log: EventStore, types?: Parameters<typeof withCodec>[2]): EventStore =>
  withCodec(log, openPersonalKeys(log, Buffer.from('the key of tests')), types);

/** The embedded log of a data folder, behind the codec with the folder's own key. */
export async function openFolderLog(data_dir: string): Promise<EventStore> {
  const log = await openSqliteEventStore({ path: join(data_dir, 'events.db') });
  return codedOf(log, data_dir);
}

/** A log of a service that keeps its keys in `data_dir`. */
export const codedOf = async (log: EventStore, data_dir: string): Promise<EventStore> =>
  withCodec(log, openPersonalKeys(log, await readLocalKey(data_dir, 'personal-data-key')));

/** Closed and removed when the test is over. */
export async function openTestStores(t: ExecutionContext): Promise<TestStores> {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-stores-'));
  const log = await openSqliteEventStore({ path: join(folder, 'events.db') });
  const documents = await openSqliteDocuments({ path: join(folder, 'documents.db') });
  t.teardown(async () => {
    const undeclared = await undeclaredWork(log);
    await Promise.all([log.close(), documents.close()]);
    await rm(folder, { recursive: true, force: true });
    if (undeclared.length > 0)
      throw new Error(`work over two streams that two-streams.ts lacks: ${undeclared.join('; ')}`);
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
