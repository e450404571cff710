// The faults of stores that pass by themselves, by the codes of their errors.

export type StoreFault = 'storage_full' | 'unavailable';

/** Of stores, and of the file system's own errors: a full disk, a quota, a limit on the size of files. */
const NO_ROOM: ReadonlySet<unknown> = new Set(['storage_full', 'ENOSPC', 'EDQUOT', 'EFBIG']);
/** Stores that are away, or that others hold for too long. */
const UNAVAILABLE: ReadonlySet<unknown> = new Set(['unavailable', 'log_busy', 'write_conflict']);

/** Why a store failed, where the same may be tried again without a change to this process; null for every other error. */
export function storeFaultOf(error: unknown): StoreFault | null {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  if (NO_ROOM.has(code)) return 'storage_full';
  return UNAVAILABLE.has(code) ? 'unavailable' : null;
}
