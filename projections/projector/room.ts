// The room that builds leave to users: a build that would take the last of a disk is refused, and one that comes to the reserve stops.
import type { Documents, Room } from '../../readmodels/documents.ts';

/** A build would take room that is kept for users. */
export class NoRoom extends Error {
  readonly code = 'no_room';
}

/** Of the size of the disk, where no setting says how much is kept. */
const SHARE = 0.05;
const MOST_BYTES = 2 ** 30;
/** A build may write 100 MB a second. */
const LOOK_MS = 50;
/** A file with so much free within itself does not grow before the next look. */
const REUSED_BYTES = 64 * 2 ** 20;
const MB = 1_000_000;

/**
 * The bytes that are kept for users.
 * @example reserveOf(null, 10_000_000_000) // 500_000_000
 */
export function reserveOf(reserve_mb: number | null, total_bytes: number): number {
  return reserve_mb === null ? Math.min(MOST_BYTES, Math.floor(total_bytes * SHARE)) : reserve_mb * MB;
}

export type RoomKeeper = ReturnType<typeof keepRoom>;

export function keepRoom({ disk }: Pick<Documents, 'disk'>, reserve_mb: number | null, monotonic: () => number) {
  let looked_at = Number.NEGATIVE_INFINITY;
  return {
    /** Throws `NoRoom` where documents like those of `live`, less what `made` has of them, do not fit beside the reserve. */
    async assertFits(live: readonly string[], made: readonly string[]): Promise<void> {
      if (!disk) return;
      const room = await disk.room();
      const kept = reserveOf(reserve_mb, room.total_bytes);
      const fits = (bytes: number) => {
        const growth_bytes = Math.max(0, bytes - room.reusable_bytes);
        return growth_bytes === 0 || room.free_bytes - growth_bytes >= kept;
      };
      // To look at all pages of a large collection takes minutes, and mostly there is room for all that the file has.
      if (fits(room.used_bytes)) return;
      const need_bytes = Math.max(0, (await disk.bytesOf(live)) - (await disk.bytesOf(made)));
      if (fits(need_bytes)) return;
      throw new NoRoom(`it needs about ${mb(need_bytes)} beside the live documents, and ${textOf(room, kept)}`);
    },
    /** Throws `NoRoom` at the reserve. It looks 20 times a second. */
    async assertReserve(): Promise<void> {
      if (!disk || monotonic() - looked_at < LOOK_MS) return;
      looked_at = monotonic();
      const room = await disk.room();
      const kept = reserveOf(reserve_mb, room.total_bytes);
      if (room.free_bytes >= kept || room.reusable_bytes > REUSED_BYTES) return;
      throw new NoRoom(`it has stopped, because ${textOf(room, kept)}`);
    },
  };
}

const textOf = ({ free_bytes }: Room, kept_bytes: number) =>
  `the disk has ${mb(free_bytes)} free, of which ${mb(kept_bytes)} are kept for users (DISK_RESERVE_MB): ` +
  'make room and ask for the rebuild again, which continues, or `projections cancel` it';

/** @example mb(1_234_567_890) // '1,235 MB' */
export const mb = (bytes: number): string => `${Math.round(bytes / MB).toLocaleString('en')} MB`;
