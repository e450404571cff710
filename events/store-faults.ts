// Transient faults of stores, recognised by the codes of their errors.
import { EventFromLater } from './unreadable.ts';

export type StoreFault = 'storage_full' | 'unavailable';

/** Codes of stores and of the file system: a full disk, a quota, a limit on the size of files. */
const NO_ROOM: ReadonlySet<unknown> = new Set(['storage_full', 'ENOSPC', 'EDQUOT', 'EFBIG']);
/** Codes of a store that is away or locked for too long, of a process without file descriptors, and of a disk that fails. */
const UNAVAILABLE: ReadonlySet<unknown> = new Set([
  'unavailable',
  'log_busy',
  'write_conflict',
  'transaction_too_large',
  'EMFILE',
  'ENFILE',
  'EIO',
  'EROFS',
]);

/** SQLITE_BUSY and SQLITE_PROTOCOL: another thread or process has the file. Stores wait for it; this is for an error that none met. */
const LOCKED: ReadonlySet<number> = new Set([5, 15]);

/**
 * The transient fault that an error stands for: a later retry may succeed. Null for every other error.
 * @example storeFaultOf({ code: 'ENOSPC' }) // 'storage_full'
 */
export function storeFaultOf(error: unknown): StoreFault | null {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown };
  if (NO_ROOM.has(code)) return 'storage_full';
  return UNAVAILABLE.has(code) || LOCKED.has(Number(errcode) & 0xff) ? 'unavailable' : null;
}

const DEPENDENCIES = ['event log', 'read models', 'queue', 'store of files', 'identity provider'] as const;
/** What an adapter reaches, in the words that users read. */
type Dependency = (typeof DEPENDENCIES)[number];

/**
 * The dependency that an error names as the one that does not answer; null where it names none.
 * @example dependencyOf({ code: 'unavailable', dependency: 'identity provider' }) // 'identity provider'
 */
export const dependencyOf = (error: unknown): Dependency | null =>
  DEPENDENCIES.find((name) => name === (error as { dependency?: unknown } | null)?.dependency) ?? null;

/** Whether a store is away or full, so that work on anything else would fail too. An event of a later version stops the work on its stream alone. */
export const isOfStore = (error: unknown): boolean =>
  error instanceof AggregateError
    ? error.errors.some(isOfStore)
    : storeFaultOf(error) !== null && !(error instanceof EventFromLater);
