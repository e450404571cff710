// A backup of a used store, restored into a store of either kind.
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { verifyBackup } from '../../backups/read-backup.ts';
import { restoreBackup } from '../../backups/restore-backup.ts';
import { writeBackup } from '../../backups/write-backup.ts';
import { openBackups } from '../../commands/backups.ts';
import { openGrowthNotes } from '../../commands/growth-notes.ts';
import { personalKeyStream, urlsStream } from '../../events/streams.ts';
import { assertExact, assertSameDocuments } from '../support/ledger.ts';
import { commandContext, project } from '../support/stores.ts';
import { eventsOf, filesOf, type Kind, openWorld, restoredEventsOf, use, type World } from './used-store.ts';

const key = 'backups/b-1/file.ndjson.zst';
const { signal } = new AbortController();
const metadata = { command_id: 'c', causation_id: 'c', actor: 'process:test', at: '2026-01-31T09:00:00.000Z' };
const pathOf = (world: World) => join(world.folder, 'blobs', key);
const openOf = (world: World) => async () => createReadStream(pathOf(world));
const backUp = ({ stored_log: log, blobs }: World) =>
  writeBackup({ backup_id: 'b-1', log, blobs, key, now: Date.now(), signal });
const restore = (from: World, to: World) =>
  restoreBackup({ open: openOf(from), into: async () => ({ log: to.stored_log, blobs: to.blobs }) });

async function assertEqualWorlds(t: ExecutionContext, one: World, other: World): Promise<void> {
  t.deepEqual(await restoredEventsOf(other.stored_log), await eventsOf(one.stored_log));
  const deleted = async ({ stored_log }: World) =>
    [...new Set(await Array.fromAsync(stored_log.deletedStreams()))].sort();
  t.deepEqual(await deleted(other), await deleted(one));
  t.deepEqual(await filesOf(other.blobs), await filesOf(one.blobs));
  await project(one);
  await project(other);
  await assertSameDocuments(t, other.documents, one.documents, { other_log: true });
  const empty = await openSqliteDocuments({ path: join(other.folder, 'replayed.db') });
  await assertExact(t, other.log, other.documents, empty);
  await empty.close();
}

for (const [source, target] of [
  ['sqlite', 'eventstoredb'],
  ['eventstoredb', 'sqlite'],
  ['sqlite', 'sqlite'],
  ['eventstoredb', 'eventstoredb'],
] as const satisfies [Kind, Kind][]) {
  test(`a used store of ${source} is the same in ${target}, and in its own kind again`, async (t) => {
    const [first, second, third] = [await openWorld(t, source), await openWorld(t, target), await openWorld(t, source)];
    await use(first);
    const { missing_files, ...written } = await backUp(first);
    t.is(missing_files, 0);
    t.true(written.events > 20 && written.deleted_streams > 4);
    t.is(written.files, 6);
    const { began_at: _, ...verified } = await verifyBackup(openOf(first));
    t.like(verified, written as object);
    t.is(
      written.sha256,
      createHash('sha256')
        .update(Buffer.concat(await Array.fromAsync(await openOf(first)())))
        .digest('hex'),
    );

    await restore(first, second);
    await assertEqualWorlds(t, first, second);
    for (const stream of [personalKeyStream('user/bob'), urlsStream('gone')]) {
      const event = { id: crypto.randomUUID(), type: 'UrlsListed', data: {}, metadata };
      t.false((await second.stored_log.append(stream, 'no_stream', [event])).ok, `${stream} stays deleted`);
    }

    await backUp(second);
    await restore(second, third);
    await assertEqualWorlds(t, second, third);
  });
}

test('documents that were made before a move to another store are rebuilt', async (t) => {
  const [world, moved] = [await openWorld(t, 'sqlite'), await openWorld(t, 'eventstoredb')];
  await use(world);
  await project(world);
  await backUp(world);
  await restore(world, moved);
  await project({ log: moved.log, documents: world.documents });
  await project(moved);
  await assertSameDocuments(t, world.documents, moved.documents);
});

test('a backup has the log as it was when it began, and neither its own stream nor files of later jobs', async (t) => {
  const world = await openWorld(t, 'sqlite');
  await use(world);
  const backups = openBackups(world.log);
  for (const backup_id of ['b-0', 'b-1']) await backups.run(backup_id, { type: 'start' }, commandContext());
  const before = await eventsOf(world.stored_log);
  const files = await filesOf(world.blobs);
  /** Everything that the service does while the backup is written. */
  async function* listing(prefix: string) {
    await openGrowthNotes(world.log).add({ text: 'Later', date: '2026-01-31' }, commandContext());
    await world.blobs.put('uploads/later', Readable.from(['https://example.com/']));
    await world.log.append(urlsStream('later'), 'no_stream', [
      {
        ...{ id: randomUUID(), type: 'UrlsListed' },
        data: { job_id: 'later', from_index: 0, urls: ['https://a.example/'] },
        metadata,
      },
    ]);
    yield* world.blobs.list(prefix);
  }
  await writeBackup({
    ...{ backup_id: 'b-1', log: world.stored_log, key, now: Date.now(), signal },
    blobs: {
      list: listing,
      get: (name) => world.blobs.get(name),
      put: (name, content) => world.blobs.put(name, content),
    },
  });
  const target = await openWorld(t, 'sqlite');
  await restore(world, target);
  t.deepEqual(
    await restoredEventsOf(target.stored_log),
    before.filter((event) => !event.startsWith('["backup-b-1"')),
  );
  t.deepEqual(await filesOf(target.blobs), files);
});
