// Checks DATA_DIR before the stores are opened: it must be writable, and the embedded stores intact. A damaged store that can be
// rebuilt from the log is set aside; a damaged log stops the start.
import { existsSync, statSync } from 'node:fs';
import { access, constants, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Logger } from 'pino';
import { diskError, isBusy, openFile, sqliteCode, whenFree } from '../adapters/sqlite.ts';
import { storeFaultOf } from '../events/store-faults.ts';
import type { Config } from '../settings/config.ts';

/** Keeps the service from starting until an operator mends it; the message is one sentence on one line. */
export class StartError extends Error {
  readonly code = 'start';
}

/** Files up to this size are read whole, in about a second. Larger files have their header, schema and size checked. */
const CHECKED_WHOLE_BYTES = 256 * 1024 * 1024;
/** A start waits this long for other processes that check the same files. */
const LOCK_LIMIT_MS = 60_000;
const [SQLITE_CORRUPT, SQLITE_NOTADB] = [11, 26];
const LOOK_MS = 2_000;
/** A process that met damage leaves this file; the next start then checks files of any size whole. */
const MARK = 'check-stores';

type Embedded = Pick<Config, 'data_dir' | 'eventstore_url' | 'mongodb_url' | 'nats_url'>;

/**
 * Checks DATA_DIR and its stores, and sets damaged ones aside. Throws `StartError`, or the stores' `storage_full`. When
 * several processes start at once, one checks and the others wait for it.
 */
export async function prepareDataDir(config: Embedded, logger: Logger): Promise<void> {
  const { data_dir, eventstore_url, mongodb_url, nats_url } = config;
  await assertWritable(data_dir);
  for (const path of embeddedStores(config)) await assertStoreWritable(path);
  const lock = await takeLock(data_dir);
  try {
    const mark = join(data_dir, MARK);
    const whole = existsSync(mark);
    const events = join(data_dir, 'events.db');
    const damage = eventstore_url === null ? await damageOf(events, whole) : null;
    if (damage !== null) {
      throw new StartError(
        `The event log ${events} is damaged (${damage}). Stop every process that uses it and put its backup in its place, ` +
          'with events.db-wal where the backup has one; documents.db and queue.db are rebuilt from it.',
      );
    }
    if (mongodb_url === null) await setAsideIfDamaged(join(data_dir, 'documents.db'), whole, logger);
    if (nats_url === null) await setAsideIfDamaged(join(data_dir, 'queue.db'), whole, logger);
    await rm(mark, { force: true });
  } finally {
    lock.close();
  }
}

/** Makes the next start check all files whole. */
export async function markForCheck(data_dir: string): Promise<void> {
  await (await open(join(data_dir, MARK), 'a')).close();
}

/**
 * Whether an error of any thread, or one of its causes, says that a store's file is damaged.
 * @example isDamage(new Error('read', { cause: new Error('database disk image is malformed') })) // true
 */
export function isDamage(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof StartError) return false;
  return /database disk image is malformed|file is not a database/.test(error.message) || isDamage(error.cause);
}

/** Names the damaged store in a sentence, when a check of about a second finds it. Call it after `isDamage`. */
export async function damageSentence(config: Embedded): Promise<string> {
  for (const path of embeddedStores(config)) {
    const damage = await damageOf(path, false).catch((error: Error) => error.message);
    if (damage !== null) return `the store ${path} is damaged (${damage}): the next start checks it`;
  }
  return `a store in ${config.data_dir} is damaged: the next start checks each whole`;
}

/** The paths of the stores that are files in DATA_DIR. */
export function embeddedStores({ data_dir, eventstore_url, mongodb_url, nats_url }: Embedded): string[] {
  const names = [
    eventstore_url === null && 'events.db',
    mongodb_url === null && 'documents.db',
    nats_url === null && 'queue.db',
  ];
  return names.filter((name) => name !== false).map((name) => join(data_dir, name));
}

/**
 * Calls `ended` when a store's file was replaced or removed: another process has set it aside, or an operator has restored a backup
 * or deleted the folder. This process has the old file open, and what it would still write there is lost with its end. Returns a
 * function that ends the watch.
 */
export function onReplacement(config: Embedded, ended: (error: Error) => void, look_ms = LOOK_MS): () => void {
  const seen = new Map<string, bigint>();
  const look = () => {
    for (const path of embeddedStores(config)) {
      const ino = inodeOf(path);
      const before = seen.get(path);
      if (before === undefined && ino) seen.set(path, ino);
      if (before === undefined || ino === undefined || before === ino) continue;
      ended(new Error(`another file is in the place of ${path}, or none: the next start opens what is there`));
    }
  };
  look();
  const timer = setInterval(look, look_ms).unref();
  return () => clearInterval(timer);
}

/** Null where there is no file; undefined when the disk fails, and does not say. */
function inodeOf(path: string): bigint | null | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino ?? null;
  } catch {
    return undefined;
  }
}

async function assertWritable(data_dir: string): Promise<void> {
  try {
    // The stores have users' URLs and addresses.
    await mkdir(data_dir, { recursive: true, mode: 0o700 });
    const probe = join(data_dir, `.writable-${process.pid}-${Math.random().toString(36).slice(2)}`);
    await (await open(probe, 'wx')).close();
    await rm(probe, { force: true });
  } catch (error) {
    // A folder that was mounted read-only stays so.
    if (storeFaultOf(error) !== null && (error as NodeJS.ErrnoException).code !== 'EROFS') throw error;
    throw new StartError(`DATA_DIR ${data_dir} is not a folder that can be written: ${(error as Error).message}`);
  }
}

/** Throws for a read-only file, which SQLite would open without an error, and for a folder, which no wait makes a file. */
async function assertStoreWritable(path: string): Promise<void> {
  if (await isFolder(path)) throw new StartError(`The store ${path} cannot be written: it is a folder`);
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    await access(file, constants.W_OK).catch(({ code, message }: NodeJS.ErrnoException) => {
      if (code !== 'ENOENT') throw new StartError(`The store ${file} cannot be written: ${message}`);
    });
  }
}

const isFolder = async (path: string) => (await stat(path).catch(() => null))?.isDirectory() ?? false;

/** Takes a lock of SQLite's, which ends with its process even when that is killed. It writes nothing, so it works on a full disk. */
async function takeLock(data_dir: string): Promise<DatabaseSync> {
  const path = join(data_dir, 'start.lock');
  const stuck = (error: unknown) => new StartError(`${path} cannot be locked: ${(error as Error).message}`);
  let lock: DatabaseSync | null = null;
  try {
    lock = openFile(path, { timeout: 0 });
    const held = lock;
    const lockIt = () => held.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    await whenFree(lockIt, { limit_ms: LOCK_LIMIT_MS, stuck });
    return held;
  } catch (error) {
    lock?.close();
    throw storeFaultOf(error) === null ? stuck(error) : error;
  }
}

async function setAsideIfDamaged(path: string, whole: boolean, logger: Logger): Promise<void> {
  const damage = await damageOf(path, whole);
  if (damage === null) return;
  const aside = `${path}.damaged-${new Date().toISOString().replace(/[:.]/g, '-')}`;
  // The store moves before its write-ahead log: after a crash between the two, SQLite discards a log without its store.
  for (const ending of ['', '-wal', '-shm']) {
    if (existsSync(path + ending)) await rename(path + ending, aside + ending);
  }
  logger.warn({ path, aside, damage }, 'a damaged store was set aside; the service rebuilds it from the log');
}

/** Returns the damage of the file; null when it is intact, empty or missing. */
async function damageOf(path: string, whole: boolean): Promise<string | null> {
  const found = await stat(path).catch(() => null);
  if (found === null || found.size === 0) return null;
  let db: DatabaseSync | null = null;
  try {
    db = new DatabaseSync(path, { timeout: 5_000 });
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    if (!whole && found.size > CHECKED_WHOLE_BYTES) return await truncation(path, found.size);
    const { quick_check } = db.prepare('PRAGMA quick_check(1)').get() as { quick_check: string };
    return quick_check === 'ok' ? null : quick_check.split('\n')[0]!.slice(0, 200);
  } catch (error) {
    const code = sqliteCode(error) & 0xff;
    if (code === SQLITE_CORRUPT || code === SQLITE_NOTADB) return (error as Error).message;
    // The process that holds the file could read it.
    if (isBusy(error)) return null;
    const fault = diskError(error);
    throw storeFaultOf(fault) === null
      ? new StartError(`${path} cannot be opened: ${(error as Error).message}`)
      : fault;
  } finally {
    db?.close();
  }
}

/** Compares the file's size with the number of pages in its header. With a write-ahead log the file may rightly be shorter. */
async function truncation(path: string, size: number): Promise<string | null> {
  const wal = await stat(`${path}-wal`).catch(() => null);
  if (wal !== null && wal.size > 0) return null;
  const header = Buffer.alloc(100);
  await using file = await open(path);
  await file.read(header, 0, header.length, 0);
  const page_bytes = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
  const stated = page_bytes * header.readUInt32BE(28);
  return stated > size ? `it has ${size} bytes of ${stated}` : null;
}
