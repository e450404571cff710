// A used store: jobs that ended, one that was purged, a user who was erased, events with sealed fields, stored files.
import { strict as assert } from 'node:assert';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { ExecutionContext } from 'ava';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { openEventStoreDb } from '../../adapters/eventstore/eventstoredb/eventstoredb-event-store.ts';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import type { Blobs } from '../../commands/blobs.ts';
import { openGrowthNotes } from '../../commands/growth-notes.ts';
import { openDeleteJob } from '../../commands/jobs/delete-job.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import { identifyLog } from '../../commands/log-identity.ts';
import { openErasures, openUserAggregate, see } from '../../commands/users/user.ts';
import type { EventStore, RecordedEvent, StoredLog } from '../../events/event-store.ts';
import { LOG_IDENTITY_STREAM, personalKeyStream, userStream } from '../../events/streams.ts';
import { purging } from '../../processes/purge.ts';
import { openRemovals } from '../../processes/removals.ts';
import { settlement } from '../../processes/settlement.ts';
import type { Documents } from '../../readmodels/documents.ts';
import { endedJob, jobs } from '../../readmodels/jobs/jobs.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { startEventStoreDbServer } from '../support/eventstoredb-server/eventstoredb-server.ts';
import { fileBlobs } from '../support/file-blobs.ts';
import { passesOf, passOf } from '../support/manager-pass.ts';
import { coded, commandContext, project, silent } from '../support/stores.ts';
import { submitUpload } from '../support/submitted.ts';

export type Kind = 'sqlite' | 'eventstoredb';

export interface World {
  stored_log: StoredLog;
  /** The same log behind the codec. */
  log: EventStore;
  documents: Documents;
  blobs: Blobs;
  folder: string;
}

/** An empty store of a kind, removed at the test's end. */
export async function openWorld(t: ExecutionContext, kind: Kind): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-backups-'));
  const server = kind === 'eventstoredb' ? await startEventStoreDbServer() : null;
  const stored_log = server
    ? await openEventStoreDb({ url: server.url, log: silent })
    : await openSqliteEventStore({ path: join(folder, 'events.db') });
  const documents = await openSqliteDocuments({ path: join(folder, 'documents.db') });
  t.teardown(async () => {
    await Promise.all([stored_log.close(), documents.close()]);
    await server?.close();
    await rm(folder, { recursive: true, force: true });
  });
  return { stored_log, log: coded(stored_log), documents, blobs: await fileBlobs(join(folder, 'blobs')), folder };
}

const TOTAL = 25;
const BATCH = 10;

/** The jobs `kept`, `gone` (purged) and `running`; the user `bob`, erased; a note; a file of no job. */
export async function use({ log, documents, blobs }: World): Promise<void> {
  await identifyLog(log, 'process:test', Date.now());
  const [job_commands, credits] = [openJobs(log), openCredits(log)];
  const users = openUserAggregate(log);
  for (const user_id of ['alice', 'bob']) {
    const seen = { user_id, email: `${user_id}@example.com` };
    await users.handle(userStream(user_id), commandContext(), (user) => see(user, seen));
  }
  await openErasures(log).erase('bob', commandContext());
  await log.deleteStream(personalKeyStream('user/bob'));
  await openErasures(log).forget('bob', commandContext());
  const grant = { transaction_type: 'purchase', reference_id: 'p', amount: 4 * TOTAL, expires_at: null } as const;
  await credits.run('alice', { type: 'grant', ...grant }, commandContext());
  for (const job_id of ['gone', 'kept', 'running']) {
    const urls = Array.from({ length: TOTAL }, (_, i) => `https://site-${i}.example/${job_id}/"é🙂\u2028`);
    const of = { job_id, owner_id: 'alice', owner_email: null, filename: `${job_id}.csv`, urls, batch_size: BATCH };
    await submitUpload({ log, blobs, job_commands, credits }, { ...of, checked: 2 * BATCH });
    if (job_id !== 'running') await job_commands.run(job_id, { type: 'cancel' }, commandContext());
  }
  await openGrowthNotes(log).add({ text: 'New pricing page', date: '2026-01-30' }, commandContext());
  await blobs.put('notes/large', Readable.from([Buffer.alloc(192 * 1024, 7), Buffer.alloc(300_001, 1)]));
  await blobs.put('notes/empty', Readable.from([]));

  await project({ log, documents });
  const readmodels = openReadModels(documents);
  const ended = async (job_id: string) => endedJob((await readmodels.collection(jobs).get(job_id))!);
  await openDeleteJob(job_commands, credits, ended)('gone', commandContext());
  const context = () => commandContext();
  await passOf(settlement({ job_commands, credits, context }), readmodels);
  const purger = passesOf(purging({ log, blobs, job_commands, removals: openRemovals(), context }), readmodels);
  do await project({ log, documents });
  while ((await purger.pass()) !== null);
}

/** What the streams hold, byte for byte, in the order of the log; without what a store gives to events by itself. */
export async function eventsOf(log: StoredLog): Promise<string[]> {
  const deleted = new Set(await Array.fromAsync(log.deletedStreams()));
  const events: string[] = [];
  for await (const event of log.readAll()) if (!deleted.has(event.stream)) events.push(bytesOf(event));
  return events;
}

/** Those that a restore has brought, without the last one, which forks the log. */
export async function restoredEventsOf(log: StoredLog): Promise<string[]> {
  const events = await eventsOf(log);
  const [stream, , , type] = JSON.parse(events.pop()!);
  assert.deepEqual([stream, type], [LOG_IDENTITY_STREAM, 'LogForked']);
  return events;
}

const bytesOf = ({ stream, revision, id, type, data, metadata }: RecordedEvent) =>
  JSON.stringify([stream, revision, id, type, data, metadata]);

export async function filesOf(blobs: Blobs): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for await (const { key } of blobs.list('')) {
    if (key.startsWith('backups/')) continue;
    files.set(key, Buffer.concat(await Array.fromAsync((await blobs.get(key))!)).toString('base64'));
  }
  return new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)));
}
