// The read model of backups, and the progress of the one that is being written.
import type { BackupFailed } from '../../events/backup.ts';
import { type CollectionSpec, type Document, type Documents, kept, type ReadModelSpec } from '../documents.ts';

/** `_id` is the backup's id. */
export interface BackupDocument extends Document {
  status: 'running' | 'completed' | 'failed' | 'deleted';
  started_at: string;
  /** The actor of the command, such as `admin:root`. */
  started_by: string;
  /** When it was completed or failed; null while it runs. */
  ended_at: string | null;
  deleted_at: string | null;
  /** The rest is null unless the backup was completed. */
  key: string | null;
  position: string | null;
  events: number | null;
  files: number | null;
  missing_files: number | null;
  size_bytes: number | null;
  sha256: string | null;
  duration_ms: number | null;
  /** Null unless it failed. */
  failure: BackupFailed | null;
}
export const backups: ReadModelSpec<BackupDocument> = {
  name: 'backups',
  ...kept('under 1 kB a backup', 'never', 'none'),
  fields: { status: 'string', started_at: 'string', ended_at: 'string' },
  indexes: [{ fields: { started_at: -1 } }, { fields: { status: 1, started_at: -1 } }],
};

/** `_id` is the id of a backup, perhaps of another log, that was restored into an empty folder to try it. */
export interface BackupRehearsalDocument extends Document {
  /** When it was last rehearsed. */
  rehearsed_at: string;
  rehearsed_by: string;
  events: number;
  files: number;
}
export const backupRehearsals: ReadModelSpec<BackupRehearsalDocument> = {
  name: 'backup_rehearsals',
  ...kept('200 a rehearsed backup', 'never', 'none'),
  fields: { rehearsed_at: 'string' },
  indexes: [{ fields: { rehearsed_at: -1 } }],
};
/** A restore that nobody has tried for longer may not work any more. */
export const REHEARSED_WITHIN_MS = 90 * 86_400_000;

/** A backup that was asked for. */
export const startedBackup = (_id: string, started_at: string, started_by: string): BackupDocument => ({
  ...{ _id, status: 'running', started_at, started_by, ended_at: null, deleted_at: null },
  ...{ key: null, position: null, events: null, files: null, missing_files: null, size_bytes: null, sha256: null },
  ...{ duration_ms: null, failure: null },
});

/** `_id` is the backup's id. No projection makes it: it is lost with the documents, and harms nobody then. */
export interface BackupProgressDocument extends Document {
  /** How often a process began to write the backup. */
  attempts: number;
  events: number;
  files: number;
  size_bytes: number;
}
const backupProgress: CollectionSpec<BackupProgressDocument> = { name: 'backup_progress', fields: {}, indexes: [] };

export type BackupProgressStore = ReturnType<typeof openBackupProgress>;

export function openBackupProgress(documents: Documents) {
  return {
    read: async (ids: readonly string[]): Promise<BackupProgressDocument[]> =>
      ids.length === 0 ? [] : documents.reading(backupProgress).getMany(ids),
    all: () => documents.reading(backupProgress).find({}),
    write: async (progress: BackupProgressDocument) =>
      (await documents.collection(backupProgress)).write([{ replace: progress }]),
    remove: async (backup_id: string) => (await documents.collection(backupProgress)).write([{ delete: backup_id }]),
  };
}
