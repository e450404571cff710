// What is written in bulk, such as uploads, backups, exports and copies, leaves the last room of a disk to users. Decision 167 says why.
import { statfsSync } from 'node:fs';
import { mb, reserveOf } from '../projections/projector/room.ts';

/** The disk of a folder has no room but what is kept for users. */
class ReserveReached extends Error {
  readonly code = 'storage_full';
}

const LOOK_MS = 250;

/**
 * Returns a function that throws `ReserveReached` at the reserve of a folder's disk. It looks four times a second at most.
 * @example guardReserve('/', 0)() // undefined
 */
export function guardReserve(folder: string, reserve_mb: number | null): () => void {
  let looked_at = Number.NEGATIVE_INFINITY;
  return () => {
    const now = performance.now();
    if (now - looked_at < LOOK_MS) return;
    looked_at = now;
    const { bsize, bavail, blocks } = statfsSync(folder);
    const [free, kept] = [bavail * bsize, reserveOf(reserve_mb, blocks * bsize)];
    if (free >= kept) return;
    throw new ReserveReached(
      `the disk of ${folder} has ${mb(free)} free, and ${mb(kept)} are kept for users (DISK_RESERVE_MB)`,
    );
  };
}
