// One connection to the file of documents, with its prepared statements.
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { LRUCache } from 'lru-cache';
import { WriteConflict } from '../../../readmodels/documents.ts';
import { whenFree } from '../../sqlite.ts';
import { StoreUnavailable } from '../unavailable.ts';

/** Statements are as many as the shapes of filters, sorts and writes; those used last are kept. */
const MAX_STATEMENTS = 500;
const MAX_PATTERNS = 100;
/** How long a reader waits for the few moments in which SQLite needs the file alone. */
const READER_BUSY_MS = 5_000;
/** Of a new file. Rows come in the order of their keys: with larger pages fewer are written, and less of each. */
const PAGE_BYTES = 16 * 1024;
/** The write-ahead log is copied into the file when it has so many pages: rarer and longer is faster. */
const CHECKPOINT_PAGES = 2500;
const CACHE_KIB = 64 * 1024;
/** How long anyone waits for the writers of other threads and processes. */
const LOCK_LIMIT_MS = 30_000;

export interface ReaderOptions {
  cache_kib?: number;
  /** Whether the read that runs is to go on. */
  wanted?: () => boolean;
  /** Whether its thread may stand still while the file is held. Elsewhere reads go through `whenReadable`. */
  own_thread?: boolean;
}

export class Connection {
  readonly #db: DatabaseSync;
  readonly #statements = new LRUCache<string, StatementSync>({ max: MAX_STATEMENTS });

  private constructor(db: DatabaseSync, wanted: () => boolean = () => true) {
    this.#db = db;
    // See `WANTED` in read-plan.ts. An error is the only way to end a statement from inside.
    db.function('wanted', () => {
      if (!wanted()) throw new Error('the read was given up');
      return 1;
    });
    const patterns = new LRUCache<string, RegExp>({ max: MAX_PATTERNS });
    db.function('matches', { deterministic: true }, (value, pattern, flags) => {
      if (typeof value !== 'string') return 0;
      const key = `${flags}/${pattern}`;
      let regex = patterns.get(key);
      if (!regex) patterns.set(key, (regex = new RegExp(String(pattern), String(flags))));
      return regex.test(value) ? 1 : 0;
    });
  }

  /** For everything that is written, and for reads inside a transaction. Waits with the event loop: see `whenWritable`. */
  static async writer(path: string, max_pages?: number): Promise<Connection> {
    const db = new DatabaseSync(path, { timeout: 0 });
    try {
      // The log of events is the truth: a power cut may take the last transactions, which are made again from it, but
      // leaves the file whole.
      await whenWritable(() =>
        db.exec(`
          PRAGMA page_size = ${PAGE_BYTES};
          PRAGMA journal_mode = WAL;
          PRAGMA synchronous = NORMAL;
          PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES};
          PRAGMA journal_size_limit = ${CHECKPOINT_PAGES * PAGE_BYTES};
          PRAGMA cache_size = -${CACHE_KIB};
          ${max_pages === undefined ? '' : `PRAGMA max_page_count = ${max_pages};`}
        `),
      );
      return new Connection(db);
    } catch (error) {
      db.close();
      throw error;
    }
  }

  /** Sees what was committed before each of its statements began. */
  static reader(path: string, options: ReaderOptions = {}): Connection {
    const { cache_kib = CACHE_KIB, wanted, own_thread = false } = options;
    const db = new DatabaseSync(path, { timeout: own_thread ? READER_BUSY_MS : 0 });
    db.exec(`PRAGMA query_only = 1; PRAGMA cache_size = -${cache_kib}`);
    return new Connection(db, wanted);
  }

  get inTransaction(): boolean {
    return this.#db.isTransaction;
  }

  exec(sql: string): void {
    this.#db.exec(sql);
  }

  all(sql: string, params: readonly SQLInputValue[] = []): SQLInputValue[][] {
    // Node's types know rows as objects only; `setReturnArrays` below makes them arrays.
    return this.#statement(sql).all(...params) as unknown as SQLInputValue[][];
  }

  /** One after the other, as they are asked for. */
  rows(sql: string, params: readonly SQLInputValue[] = []): Iterable<SQLInputValue[]> {
    return this.#statement(sql).iterate(...params) as unknown as Iterable<SQLInputValue[]>;
  }

  run(sql: string, params: readonly SQLInputValue[]): number {
    return Number(this.#statement(sql).run(...params).changes);
  }

  close(): void {
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

/** Runs `work` when no other connection writes. Throws `WriteConflict` when one does for longer than anyone should. */
export function whenWritable<R>(work: () => R): Promise<R> {
  const stuck = (cause: unknown) =>
    new WriteConflict(`the file was held by another writer for ${LOCK_LIMIT_MS} ms`, { cause });
  return whenFree(work, { limit_ms: LOCK_LIMIT_MS, stuck });
}

/** Runs `work` when SQLite does not need the file alone; the event loop runs meanwhile. Throws `StoreUnavailable` after a while. */
export function whenReadable<R>(work: () => R): Promise<R> {
  const stuck = (cause: unknown) => new StoreUnavailable(`the file was held for ${READER_BUSY_MS} ms`, { cause });
  return whenFree(work, { limit_ms: READER_BUSY_MS, stuck });
}
