// Removes the files that a crash left behind.
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** No write or read of a file takes so long. */
const ABANDONED_MS = 24 * 60 * 60_000;

/** Removes the files of the folder itself that nobody has written for a day, if their names begin with `start`. */
export async function removeAbandoned(folder: string, start = ''): Promise<void> {
  const old_before = Date.now() - ABANDONED_MS;
  for (const name of await readdir(folder)) {
    if (!name.startsWith(start)) continue;
    const path = join(folder, name);
    // Another process may have removed it.
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
    if (mtimeMs < old_before) await rm(path, { force: true });
  }
}
