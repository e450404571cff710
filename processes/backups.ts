// Writes the backups that administrators ask for, one at a time, and removes those that the retention does not keep. A backup whose
// process was killed is begun again by the next one, under another key; what killed attempts have left is removed at the backup's end.
// Decision 75 says why.
import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { backupKey, backupsPrefix } from '../backups/keys.ts';
import { type BackupProgress, writeBackup } from '../backups/write-backup.ts';
import type { CommandContext } from '../commands/aggregate.ts';
import type { BackupCommand, Backups } from '../commands/backups.ts';
import type { Blobs } from '../commands/blobs.ts';
import type { StoredLog } from '../events/event-store.ts';
import { storeFaultOf } from '../events/store-faults.ts';
import {
  type BackupDocument,
  type BackupProgressStore,
  backups as backupDocuments,
} from '../readmodels/operations/backups.ts';
import type { ReadModels } from '../readmodels/read-models.ts';
import { DAY_MS } from '../time/units.ts';
import { passOnMoves } from './passes.ts';
import type { Removals } from './removals.ts';

const SPACING_MS = 500;
const PROGRESS_MS = 1_000;
/** A backup that was begun so often, and each time ended with its process, fails. */
const MAX_ATTEMPTS = 3;
const AT_ONCE = 100;
const MAX_MESSAGE_CHARS = 300;

/** Completed backups beyond these are removed, the oldest first; the newest one always stays. */
export interface Retention {
  /** The number of backups. */
  keep: number;
  /** Days since a backup was started; null: any number. */
  days: number | null;
}

export interface BackupsOptions {
  stored_log: StoredLog;
  blobs: Pick<Blobs, 'put' | 'get' | 'list' | 'delete'>;
  backups: Backups;
  progress: BackupProgressStore;
  removals: Removals;
  logger: Logger;
  context: (backup_id: string) => CommandContext;
  /** Wall time in Unix milliseconds. */
  now: () => number;
  /** Milliseconds that never go back. */
  monotonic: () => number;
}

/** Runs until `signal` aborts; calls `onPass` after each pass. */
export async function runBackups(
  options: BackupsOptions & { readmodels: ReadModels; retention: Retention },
  signal: AbortSignal,
  onPass: () => void,
): Promise<void> {
  const { readmodels, progress } = options;
  // A process that was killed at the end of a backup has left its progress, and perhaps files of other attempts.
  for (const { _id } of await progress.all()) if (!signal.aborted) await performBackup(_id, options, signal);
  await passOnMoves({ readmodels, spacing_ms: SPACING_MS, signal, onPass }, async () => {
    const documents = readmodels.collection(backupDocuments);
    const running = await documents.find({ status: 'running' }, { sort: { started_at: 1 }, limit: AT_ONCE });
    for (const { _id } of running) if (!signal.aborted) await performBackup(_id, options, signal);
    const completed = await documents.find(
      { status: 'completed' },
      { sort: { started_at: -1 }, limit: AT_ONCE + options.retention.keep },
    );
    for (const { _id } of surplus(completed, options)) if (!signal.aborted) await removeBackup(_id, options);
  });
}

/** The completed backups that the retention does not keep. `completed`: the newest first. */
export function surplus(
  completed: readonly BackupDocument[],
  { retention: { keep, days }, now }: { retention: Retention; now: () => number },
): BackupDocument[] {
  const oldest = days === null ? '' : new Date(now() - days * DAY_MS).toISOString();
  return completed.filter(({ started_at }, place) => place > 0 && (place >= keep || started_at < oldest));
}

/**
 * Writes one backup and records its end. Does nothing for a backup that has ended. Throws when a store is away or `signal` aborts:
 * call it again.
 */
export async function performBackup(backup_id: string, options: BackupsOptions, signal: AbortSignal): Promise<void> {
  const { stored_log, blobs, backups, progress, removals, logger, context, now, monotonic } = options;
  if ((await backups.read(backup_id)).status !== 'running') return removeRest();
  const [known] = await progress.read([backup_id]);
  const attempts = known?.attempts ?? 0;
  if (attempts >= MAX_ATTEMPTS) {
    const message = `${attempts} processes ended while they wrote it`;
    return end({ type: 'fail', reason: 'interrupted', message });
  }
  const begun = { _id: backup_id, attempts: attempts + 1, events: 0, files: 0, size_bytes: 0 };
  await progress.write(begun);
  const report = reporter(options, begun);
  const began_at = monotonic();
  try {
    const key = backupKey(backup_id, now(), randomBytes(4).toString('hex'));
    const written = await removals.holdWhile(() =>
      writeBackup({ backup_id, log: stored_log, blobs, key, now: now(), signal, onPart: report.onPart }),
    );
    const duration_ms = Math.round(monotonic() - began_at);
    const level = written.missing_files === 0 ? 'info' : 'warn';
    logger[level]({ backup_id, ...written, duration_ms }, 'a backup is complete');
    await report.end();
    await end({ type: 'complete', key, ...written, duration_ms });
  } catch (error) {
    await report.end();
    const fault = storeFaultOf(error);
    if (signal.aborted || fault === 'unavailable') {
      // This process lives: it is no attempt that ended with its process.
      await progress.write({ ...begun, attempts });
      throw error;
    }
    logger.error({ err: error, backup_id }, 'a backup failed');
    const message = (error instanceof Error ? error.message : String(error)).slice(0, MAX_MESSAGE_CHARS);
    await end({ type: 'fail', reason: fault ?? 'fault', message });
  }

  async function end(command: BackupCommand): Promise<void> {
    const ended = await backups.run(backup_id, command, context(backup_id));
    if (!ended.ok) throw new Error(`${backup_id}: ${ended.refused.message}`);
    await removeRest();
  }

  async function removeRest(): Promise<void> {
    await removeOtherFiles(backup_id, options);
    await progress.remove(backup_id);
  }
}

/** Removes what other attempts at the backup have put, and every file of one that is not complete. */
async function removeOtherFiles(backup_id: string, { backups, blobs }: BackupsOptions): Promise<void> {
  const backup = await backups.read(backup_id);
  // The log was restored from this backup, which has no events of its own.
  if (backup.status === 'unknown') return;
  const kept = backup.status === 'completed' ? backup.key : null;
  for await (const { key } of blobs.list(backupsPrefix(backup_id))) if (key !== kept) await blobs.delete(key);
}

async function removeBackup(backup_id: string, options: BackupsOptions): Promise<void> {
  const { backups, blobs, context } = options;
  for await (const { key } of blobs.list(backupsPrefix(backup_id))) await blobs.delete(key);
  const deleted = await backups.run(backup_id, { type: 'delete' }, context(backup_id));
  if (!deleted.ok) throw new Error(`${backup_id}: ${deleted.refused.message}`);
}

/** Writes the progress at most once a second, one write at a time. A write that fails is missed by nobody. */
function reporter(
  { progress, monotonic }: Pick<BackupsOptions, 'progress' | 'monotonic'>,
  begun: { _id: string; attempts: number },
) {
  let writing: Promise<void> = Promise.resolve();
  let is_writing = false;
  let written_at = monotonic();
  return {
    onPart({ events, files, size_bytes }: BackupProgress) {
      if (is_writing || monotonic() - written_at < PROGRESS_MS) return;
      written_at = monotonic();
      is_writing = true;
      writing = progress
        .write({ ...begun, events, files, size_bytes })
        .catch(() => {})
        .finally(() => {
          is_writing = false;
        });
    },
    end: () => writing,
  };
}
