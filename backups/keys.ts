// Where the files of backups are among the stored files. No backup has them in it.
const PREFIX = 'backups/';
const END = '.ndjson.zst';

export const isInBackups = (key: string): boolean => key.startsWith(PREFIX);

/** The beginning of the keys of all backups, or of one. A backup that was begun again may have several files for a while. */
export const backupsPrefix = (backup_id?: string): string => (backup_id ? `${PREFIX}${backup_id}/` : PREFIX);

/** The key of one attempt at a backup. `now`: milliseconds since the epoch; `random`: words of `[A-Za-z0-9]`. */
export const backupKey = (backup_id: string, now: number, random: string): string =>
  `${backupsPrefix(backup_id)}${new Date(now).toISOString().replace(/[:.]/g, '-')}-${random}${END}`;
