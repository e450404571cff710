// An instance's one writing connection, which runs transactions one after the other.
import { DuplicateKey, WriteConflict } from '../../../readmodels/documents.ts';
import { diskError, sqliteCode } from '../../sqlite.ts';
import { type Connection, whenWritable } from './connection.ts';

const MAX_WAITING = 10_000;
const SQLITE_CONSTRAINT_PRIMARYKEY = 1555;

export class Writer {
  readonly #connection: Connection;
  readonly #committed: () => void;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #closed = false;

  /** Calls `committed` after each commit. */
  constructor(connection: Connection, committed: () => void) {
    this.#connection = connection;
    this.#committed = committed;
  }

  /**
   * Commits the writes of `work`, or rolls them back when it throws. It takes the write lock first, so that no thread or
   * process changes what `work` has read.
   */
  async transaction<R>(work: (connection: Connection) => R | Promise<R>): Promise<R> {
    if (this.#closed) throw new Error('the documents are closed');
    if (this.#waiting >= MAX_WAITING) throw new WriteConflict(`${MAX_WAITING} transactions wait already`);
    this.#waiting += 1;
    const turn = this.#last.then(() => this.#run(work)).finally(() => (this.#waiting -= 1));
    this.#last = turn.catch(() => {}); // the caller gets the error from `turn`; the next transaction begins all the same
    return turn;
  }

  /** Closes the connection once all begun transactions have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#last;
    this.#connection.close();
  }

  async #run<R>(work: (connection: Connection) => R | Promise<R>): Promise<R> {
    const connection = this.#connection;
    await whenWritable(() => connection.exec('BEGIN IMMEDIATE'));
    try {
      const result = await work(connection);
      connection.exec('COMMIT');
      this.#committed();
      return result;
    } catch (error) {
      // SQLite itself rolls back after some errors, such as a full disk.
      if (connection.inTransaction) connection.exec('ROLLBACK');
      throw portError(error);
    }
  }
}

/** Returns the port's error for an id that is there, those of `diskError`, and other errors unchanged. */
export function portError(error: unknown): unknown {
  if (sqliteCode(error) !== SQLITE_CONSTRAINT_PRIMARYKEY) return diskError(error);
  return new DuplicateKey((error as Error).message, { cause: error });
}
