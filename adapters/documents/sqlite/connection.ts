// One connection to the file of documents, with its prepared statements.
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { LRUCache } from 'lru-cache';
import { WriteConflict } from '../../../readmodels/documents.ts';
import { openFile, whenFree } from '../../sqlite.ts';
import { OVERWRITE_DELETED, truncateWal, WalTruncation } from '../../sqlite-erasure.ts';
import { StoreUnavailable } from '../unavailable.ts';

/** LRU cache of prepared statements: each shape of filter, sort or write needs one. */
const MAX_STATEMENTS = 500;
const MAX_PATTERNS = 100;
/** How long a read waits while SQLite locks the file exclusively, which takes moments. */
const READER_BUSY_MS = 5_000;
/** Page size of a new file. A commit writes whole pages, and few rows of a transaction share one. */
const PAGE_BYTES = 4 * 1024;
/** Length of the write-ahead log at which SQLite runs a checkpoint: rarer, longer checkpoints are faster. */
const CHECKPOINT_PAGES = 10_000;
/** The page cache of each connection. It is small because the system caches the pages that are read often. */
const CACHE_KIB = 16 * 1024;
/** How long a call waits for writers in other threads and processes. */
const LOCK_LIMIT_MS = 30_000;

export interface ReaderOptions {
  /** Returns false once nobody waits for the running read, which then stops. */
  wanted?: () => boolean;
  /** The file must exist, and stays as it is. */
  read_only?: boolean;
}

export interface WriterOptions {
  max_pages?: number | undefined;
  /** Nobody opens the file after this process: it waits for no disk. */
  is_temporary?: boolean | undefined;
}

export class Connection {
  readonly #db: DatabaseSync;
  readonly #statements = new LRUCache<string, StatementSync>({ max: MAX_STATEMENTS });
  readonly #truncation: WalTruncation | null;

  private constructor(db: DatabaseSync, truncation: WalTruncation | null, wanted: () => boolean = () => true) {
    this.#db = db;
    this.#truncation = truncation;
    // See `WANTED` in read-plan.ts. Only an error ends a running statement from inside.
    db.function('wanted', () => {
      if (!wanted()) throw new Error('the read was cancelled');
      return 1;
    });
    const patterns = new LRUCache<string, RegExp>({ max: MAX_PATTERNS });
    db.function('matches', { deterministic: true }, (value, pattern) => {
      if (typeof value !== 'string') return 0;
      const source = String(pattern);
      let regex = patterns.get(source);
      if (!regex) patterns.set(source, (regex = new RegExp(source, 'u')));
      return regex.test(value) ? 1 : 0;
    });
  }

  /** Opens a connection for writes and for reads inside a transaction. Its caller waits for locks by `whenWritable`. */
  static async writer(path: string, { max_pages, is_temporary }: WriterOptions = {}): Promise<Connection> {
    const db = openFile(path, { timeout: 0 });
    try {
      // `synchronous = NORMAL`: a power cut may lose the last transactions but keeps the file consistent. Projections
      // replay the lost ones from the event log.
      await whenWritable(() =>
        db.exec(`
          PRAGMA page_size = ${PAGE_BYTES};
          PRAGMA journal_mode = WAL;
          PRAGMA synchronous = ${is_temporary ? 'OFF' : 'NORMAL'};
          ${OVERWRITE_DELETED};
          PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES};
          PRAGMA journal_size_limit = ${CHECKPOINT_PAGES * PAGE_BYTES};
          PRAGMA cache_size = -${CACHE_KIB};
          ${max_pages === undefined ? '' : `PRAGMA max_page_count = ${max_pages};`}
        `),
      );
      return new Connection(db, new WalTruncation(() => truncateWal(db)));
    } catch (error) {
      db.close();
      throw error;
    }
  }

  /** Opens a connection for reads, which its caller runs by `whenReadable`. Each statement sees the commits before its start. */
  static async reader(path: string, options: ReaderOptions = {}): Promise<Connection> {
    const { wanted, read_only: readOnly = false } = options;
    const db = openFile(path, { timeout: 0, readOnly });
    try {
      // The size of the cache belongs to the schema, which SQLite reads here: another connection may be recovering the file.
      await whenReadable(() => db.exec(`PRAGMA query_only = 1; PRAGMA cache_size = -${CACHE_KIB}`));
      return new Connection(db, null, wanted);
    } catch (error) {
      db.close();
      throw error;
    }
  }

  get inTransaction(): boolean {
    return this.#db.isTransaction;
  }

  exec(sql: string): void {
    this.#db.exec(sql);
  }

  /** Runs reads that all see the same commits. */
  snapshot<R>(reads: () => R): R {
    this.#db.exec('BEGIN');
    try {
      return reads();
    } finally {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
    }
  }

  all(sql: string, params: readonly SQLInputValue[] = []): SQLInputValue[][] {
    // Node's types know rows as objects only; `setReturnArrays` below makes them arrays.
    return this.#statement(sql).all(...params) as unknown as SQLInputValue[][];
  }

  /** Yields rows lazily, one at a time. */
  rows(sql: string, params: readonly SQLInputValue[] = []): Iterable<SQLInputValue[]> {
    return this.#statement(sql).iterate(...params) as unknown as Iterable<SQLInputValue[]>;
  }

  run(sql: string, params: readonly SQLInputValue[]): number {
    return Number(this.#statement(sql).run(...params).changes);
  }

  /** Runs the statement for each `width` of the parameters. */
  runEach(sql: string, params: readonly SQLInputValue[], width: number): void {
    const statement = this.#statement(sql);
    for (let from = 0; from < params.length; from += width) statement.run(...params.slice(from, from + width));
  }

  /** Runs a statement that deletes content, which the files soon hold nowhere. */
  delete(sql: string, params: readonly SQLInputValue[] = []): void {
    if (this.run(sql, params) > 0) this.#truncation?.afterDeletion();
  }

  /** Drops a table and all it holds. */
  drop(sql: string): void {
    this.#db.exec(sql);
    this.#truncation?.afterDeletion();
  }

  /** Prepares all statements anew. After a function has thrown in one, Node 24 fails its next use with an error without a message. */
  forget(): void {
    this.#statements.clear();
  }

  close(): void {
    this.#truncation?.close();
    if (this.#db.isOpen) this.#db.close();
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#db.prepare(sql);
      statement.setReturnArrays(true);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** Runs `work` once no other connection writes. Throws `WriteConflict` after 30 s. */
export function whenWritable<R>(work: () => R): Promise<R> {
  const stuck = (cause: unknown) =>
    new WriteConflict(`another writer locked the file for ${LOCK_LIMIT_MS} ms`, { cause });
  return whenFree(work, { limit_ms: LOCK_LIMIT_MS, stuck });
}

/** Runs `work` once SQLite holds no exclusive lock; the event loop runs meanwhile. Throws `StoreUnavailable` after 5 s. */
export function whenReadable<R>(work: () => R): Promise<R> {
  const stuck = (cause: unknown) => new StoreUnavailable(`the file was locked for ${READER_BUSY_MS} ms`, { cause });
  return whenFree(work, { limit_ms: READER_BUSY_MS, stuck });
}
