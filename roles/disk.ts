// What a process knows of the disk of its DATA_DIR: how much is free, and for how long that lasts.
import { statfs } from 'node:fs/promises';
import { HOUR_MS, MINUTE_MS } from '../time/units.ts';

export interface DiskSign {
  free_bytes: number;
  size_bytes: number;
  /** When it is full at the rate of the last hours; null while its room does not shrink, or is not known for long enough. Missing in heartbeats of an earlier version. */
  hours_left?: number | null;
}

/** Null for no folder, or one that cannot be read. */
export async function diskOf(folder: string | undefined): Promise<DiskSign | null> {
  if (folder === undefined) return null;
  return statfs(folder).then(
    ({ bavail, blocks, bsize }) => ({ free_bytes: bavail * bsize, size_bytes: blocks * bsize }),
    () => null,
  );
}

/** As far back as the alert looks. */
const REMEMBERED_MS = 6 * HOUR_MS;
/** What a job, a checkpoint or a backup takes for a moment says nothing of the hours to come. */
const LEAST_MS = 30 * MINUTE_MS;

/** Makes a look at the disk of a folder that also says how many hours are left, from what it saw before. */
export function watchDisk(
  look: () => Promise<DiskSign | null>,
  monotonic: () => number = () => performance.now(),
): () => Promise<DiskSign | null> {
  const seen: { at: number; free_bytes: number }[] = [];
  return async () => {
    const disk = await look();
    if (disk === null) return null;
    const at = monotonic();
    const { free_bytes } = disk;
    if (seen.length === 0 || at - seen.at(-1)!.at >= MINUTE_MS) seen.push({ at, free_bytes });
    while (at - seen[0]!.at > REMEMBERED_MS) seen.shift();
    const first = seen[0]!;
    const [passed_ms, lost_bytes] = [at - first.at, first.free_bytes - free_bytes];
    const is_shrinking = passed_ms >= LEAST_MS && lost_bytes > 0;
    return { ...disk, hours_left: is_shrinking ? (free_bytes / lost_bytes) * (passed_ms / HOUR_MS) : null };
  };
}
