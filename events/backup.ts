// The streams `backup-{backupId}`: one backup of the log and the stored files, from the administrator's request to its deletion.
import { type DataOf, type EventsOf, event } from './event-spec.ts';
import { Type } from './schema.ts';

const Count = Type.Integer({ minimum: 0 });

/** `interrupted`: the process that wrote it was killed again and again; `storage_full`: there was no room for it. */
export const BACKUP_FAILURES = ['interrupted', 'storage_full', 'fault'] as const;

export const BACKUP_EVENTS = {
  /** Somebody asked for a backup, which the processes then write. */
  BackupStarted: event({}),
  BackupCompleted: event({
    key: Type.String({ description: 'Its key among the stored files.' }),
    position: Type.String({ description: 'The position in the log up to which it has the events.' }),
    events: Count,
    files: Count,
    missing_files: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: 'The uploads of jobs that were not among the stored files; none where it is missing.',
      }),
    ),
    deleted_streams: Count,
    size_bytes: Count,
    sha256: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'Of the whole file.' }),
    duration_ms: Count,
  }),
  BackupFailed: event({
    reason: Type.Enum(BACKUP_FAILURES),
    message: Type.String(),
  }),
  /** An operator restored it into an empty folder to try it, and its ledger held there. */
  BackupRehearsed: event({ events: Count, files: Count, duration_ms: Count }),
  /** The retention removed its file. */
  BackupDeleted: event({}),
};

export type BackupCompleted = DataOf<typeof BACKUP_EVENTS.BackupCompleted>;
export type BackupFailed = DataOf<typeof BACKUP_EVENTS.BackupFailed>;
export type BackupRehearsed = DataOf<typeof BACKUP_EVENTS.BackupRehearsed>;
export type BackupEvent = EventsOf<typeof BACKUP_EVENTS>;
