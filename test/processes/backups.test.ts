// The process that writes backups: kills, outages, full stores, two writers, the retention, deletions meanwhile.
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import { verifyBackup } from '../../backups/read-backup.ts';
import { openBackups } from '../../commands/backups.ts';
import type { Blobs } from '../../commands/blobs.ts';
import type { BackupEvent } from '../../events/backup.ts';
import type { StoredLog } from '../../events/event-store.ts';
import { backupStream } from '../../events/streams.ts';
import { type BackupsOptions, performBackup, runBackups, surplus } from '../../processes/backups.ts';
import { openRemovals } from '../../processes/removals.ts';
import {
  type BackupDocument,
  backups as backupDocuments,
  openBackupProgress,
} from '../../readmodels/operations/backups.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { openWorld, use, type World } from '../backups/used-store.ts';
import { commandContext, project, silent } from '../support/stores.ts';

const DAY_MS = 24 * 3_600_000;
const never = new AbortController().signal;

async function openProcess(t: ExecutionContext) {
  const world = await openWorld(t, 'sqlite');
  await use(world);
  const commands = openBackups(world.log);
  const progress = openBackupProgress(world.documents);
  let wall_ms = Date.parse('2026-01-31T09:00:00Z');
  const options = (more: Partial<BackupsOptions> = {}): BackupsOptions => ({
    ...{ stored_log: world.stored_log, blobs: world.blobs, backups: openBackups(world.log), progress, logger: silent },
    ...{ removals: openRemovals(), context: () => commandContext(wall_ms), now: () => wall_ms, monotonic: () => 0 },
    ...more,
  });
  return {
    world,
    progress,
    options,
    pass_days: (days: number) => (wall_ms += days * DAY_MS),
    async start(): Promise<string> {
      const backup_id = randomUUID();
      await commands.run(backup_id, { type: 'start' }, commandContext(wall_ms));
      return backup_id;
    },
    perform: (backup_id: string, more?: Partial<BackupsOptions>) => performBackup(backup_id, options(more), never),
    last: async (backup_id: string) =>
      (await Array.fromAsync(world.log.readStream(backupStream(backup_id)))).at(-1) as unknown as BackupEvent,
    files: () => backupsOf(world),
    /** Runs passes until the condition holds for the documents. */
    async run(retention: { keep: number; days: number | null }, until: (found: BackupDocument[]) => boolean) {
      const readmodels = openReadModels(world.documents);
      const done = new AbortController();
      await runBackups({ ...options(), readmodels, retention }, done.signal, () => {
        void (async () => {
          await project(world);
          if (until(await readmodels.collection(backupDocuments).find({}))) done.abort();
        })();
      });
    },
  };
}

/** The log with one event whose JSON is cut. */
function damaged(log: StoredLog): StoredLog {
  async function* readAll() {
    yield Object.defineProperty(event, 'data', { get: () => JSON.parse('{') });
  }
  const event = { stream: 'job-a', revision: 0, id: 'a', type: 'JobCreated', position: '', metadata: {} };
  return new Proxy(log, {
    get(target, name) {
      const value = name === 'readAll' ? readAll : Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

const backupsOf = async ({ blobs }: World) =>
  (await Array.fromAsync(blobs.list('backups/'))).map(({ key }) => key).sort();

test('a backup that is asked for is written, and says what it is', async (t) => {
  const { world, start, perform, last, files, progress } = await openProcess(t);
  const head = await world.log.head();
  const backup_id = await start();
  await perform(backup_id);
  const { type, data } = await last(backup_id);
  t.is(type, 'BackupCompleted');
  const [key] = await files();
  t.like(data, { key });
  const verified = await verifyBackup(async () => (await world.blobs.get(key!))!);
  t.like(data, { sha256: verified.sha256, size_bytes: verified.size_bytes, events: verified.events, files: 6 });
  t.true(verified.position > head);
  t.deepEqual(await progress.read([backup_id]), []);
  await perform(backup_id);
  t.deepEqual(await files(), [key], 'a second pass changes nothing');
});

test('a backup whose process was killed is begun again, and fails after three attempts', async (t) => {
  const { start, perform, last, files, progress } = await openProcess(t);
  const backup_id = await start();
  // A killed process leaves its count, and at the worst its file.
  await progress.write({ _id: backup_id, attempts: 2, events: 9, files: 0, size_bytes: 0 });
  await perform(backup_id);
  t.is((await last(backup_id)).type, 'BackupCompleted');

  const other_id = await start();
  await progress.write({ _id: other_id, attempts: 3, events: 9, files: 0, size_bytes: 0 });
  await perform(other_id);
  t.like(await last(other_id), { type: 'BackupFailed', data: { reason: 'interrupted' } });
  t.deepEqual(await progress.read([other_id]), []);
  t.is((await files()).length, 1);
});

test('a process that is killed after it has put the file leaves nothing behind', async (t) => {
  const { world, start, perform, last, files } = await openProcess(t);
  const backup_id = await start();
  await world.blobs.put(`backups/${backup_id}/killed.ndjson.zst`, Readable.from(['whole or not']));
  await perform(backup_id);
  const { data } = await last(backup_id);
  t.deepEqual(await files(), [(data as { key: string }).key]);
});

test('what a process leaves that is killed after the end of a backup is removed at the next start', async (t) => {
  const { world, start, perform, last, files, progress, run } = await openProcess(t);
  const [failed, complete, restored] = [await start(), await start(), randomUUID()];
  const count = (_id: string, attempts: number) =>
    progress.write({ _id, attempts, events: 9, files: 0, size_bytes: 0 });
  await count(failed, 3);
  for (const backup_id of [failed, complete]) await perform(backup_id);
  const { key } = (await last(complete)).data as { key: string };
  const source = `backups/${restored}/file.ndjson.zst`;
  for (const backup_id of [failed, complete, restored]) {
    await count(backup_id, 3);
    await world.blobs.put(`backups/${backup_id}/file.ndjson.zst`, Readable.from(['whole or not']));
  }
  await project(world);
  await run({ keep: 9, days: null }, () => true);
  t.deepEqual(await files(), [key, source].sort(), 'the backup stays that the log was restored from');
  t.deepEqual(await progress.all(), []);
});

test('of two processes that write one backup, the log names one, and the other removes its file', async (t) => {
  const { start, perform, last, files } = await openProcess(t);
  const backup_id = await start();
  await Promise.all([perform(backup_id), perform(backup_id)]);
  const { data } = await last(backup_id);
  t.deepEqual(await files(), [(data as { key: string }).key]);
});

test('a backup waits for a store that is away, as often as it takes', async (t) => {
  const { world, start, perform, last, progress } = await openProcess(t);
  const backup_id = await start();
  const away: Blobs = {
    ...world.blobs,
    put: async (_, content) => {
      for await (const _piece of content) throw Object.assign(new Error('away'), { code: 'unavailable' });
      throw new Error('there is a piece');
    },
  };
  for (let tries = 0; tries < 5; tries += 1) {
    await t.throwsAsync(perform(backup_id, { blobs: away }), { code: 'unavailable' });
    t.like(await progress.read([backup_id]), [{ attempts: 0 }]);
  }
  await perform(backup_id);
  t.is((await last(backup_id)).type, 'BackupCompleted');
});

test('a backup fails when there is no room for it, or when a file cannot be read', async (t) => {
  const { world, start, perform, last, files } = await openProcess(t);
  const full: Blobs = {
    ...world.blobs,
    put: async () => {
      throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    },
  };
  const backup_id = await start();
  await perform(backup_id, { blobs: full });
  t.like(await last(backup_id), { type: 'BackupFailed', data: { reason: 'storage_full', message: 'no space left' } });
  const broken: Blobs = {
    ...world.blobs,
    get: async () => {
      throw new Error('EIO');
    },
  };
  const other_id = await start();
  await perform(other_id, { blobs: broken });
  t.like(await last(other_id), { type: 'BackupFailed', data: { reason: 'fault', message: 'EIO' } });
  const third_id = await start();
  await perform(third_id, { stored_log: damaged(world.stored_log) });
  t.regex(JSON.stringify((await last(third_id)).data), /"message":"event 0 of job-a is damaged: /);
  t.deepEqual(await files(), []);
});

test('a backup says how many uploads of jobs it lacks', async (t) => {
  const { world, start, perform, last } = await openProcess(t);
  await world.blobs.delete('uploads/kept');
  const warned: unknown[] = [];
  const logger = { ...silent, warn: (of: unknown) => warned.push(of) } as unknown as typeof silent;
  const backup_id = await start();
  await perform(backup_id, { logger });
  t.like(await last(backup_id), { type: 'BackupCompleted', data: { missing_files: 1 } });
  t.like(warned, [{ backup_id, missing_files: 1 }]);
});

test('a backup fails when the stored files have no upload of any job, as after a change of BLOB_URL', async (t) => {
  const { world, start, perform, last, files } = await openProcess(t);
  for (const job_id of ['kept', 'running']) await world.blobs.delete(`uploads/${job_id}`);
  const backup_id = await start();
  await perform(backup_id);
  const message = 'the stored files have no upload of any job of the log: does BLOB_URL name another store?';
  t.like(await last(backup_id), { type: 'BackupFailed', data: { reason: 'fault', message } });
  t.deepEqual(await files(), []);
});

test('a backup that is asked to stop stops, and resumes in the next process', async (t) => {
  const { start, options, last, files } = await openProcess(t);
  const backup_id = await start();
  const ending = AbortSignal.abort(new Error('the process ends'));
  await t.throwsAsync(performBackup(backup_id, options(), ending), { message: 'the process ends' });
  t.deepEqual(await files(), []);
  await performBackup(backup_id, options(), never);
  t.is((await last(backup_id)).type, 'BackupCompleted');
});

test('nothing is removed while a backup is written, and a removal under way ends first', async (t) => {
  const removals = openRemovals();
  const steps: string[] = [];
  const removed = Promise.withResolvers<void>();
  const removing = removals.run(async () => {
    await removed.promise;
    steps.push('removed');
  });
  const holding = removals.holdWhile(async () => {
    t.true(removals.are_held);
    steps.push('written');
  });
  t.true(removals.are_held);
  removed.resolve();
  await Promise.all([removing, holding]);
  t.deepEqual(steps, ['removed', 'written']);
  t.false(removals.are_held);
  await t.throwsAsync(
    removals.holdWhile(async () => Promise.reject(new Error('failed'))),
    { message: 'failed' },
  );
  t.false(removals.are_held);
});

test('the retention keeps so many backups of so many days, and always the newest', (t) => {
  const now = () => Date.parse('2026-01-31T09:00:00Z');
  const of = (...days: number[]) =>
    days.map((n) => ({ _id: `${n}`, started_at: new Date(now() - n * DAY_MS).toISOString() }) as BackupDocument);
  const removed = (found: BackupDocument[], keep: number, days: number | null) =>
    surplus(found, { retention: { keep, days }, now }).map(({ _id }) => _id);
  t.deepEqual(removed(of(1, 2, 3), 2, null), ['3']);
  t.deepEqual(removed(of(1, 2, 3), 9, 2), ['3']);
  t.deepEqual(removed(of(40, 41), 9, 30), ['41']);
  t.deepEqual(removed(of(40), 1, 30), []);
  t.deepEqual(removed(of(), 1, 30), []);
});

test('the backups that the retention does not keep are deleted, with their files', async (t) => {
  const { world, start, run, files, pass_days } = await openProcess(t);
  const ids: string[] = [];
  for (let n = 0; n < 4; n += 1) {
    ids.push(await start());
    pass_days(1);
  }
  await project(world);
  await run({ keep: 2, days: null }, (found) => found.filter(({ status }) => status === 'deleted').length === 2);
  const found = await openReadModels(world.documents)
    .collection(backupDocuments)
    .find({}, { sort: { started_at: 1 } });
  t.deepEqual(
    found.map(({ _id, status }) => [_id, status]),
    ids.map((id, n) => [id, n < 2 ? 'deleted' : 'completed']),
  );
  t.deepEqual(
    await files(),
    found
      .slice(2)
      .map(({ key }) => key)
      .sort() as string[],
  );
});
