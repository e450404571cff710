// The one writing connection of an instance: its transactions run one after the other.
import { DuplicateKey, WriteConflict } from '../../../readmodels/documents.ts';
import { roomError, sqliteCode } from '../../sqlite.ts';
import { type Connection, whenWritable } from './connection.ts';

const MAX_WAITING = 10_000;
const SQLITE_CONSTRAINT_PRIMARYKEY = 1555;
const SQLITE_CONSTRAINT_UNIQUE = 2067;

export class Writer {
  readonly #connection: Connection;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #closed = false;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * All that `work` writes or, when it throws, none of it. The lock is taken first, so that nothing that it reads can
   * change before it commits: here, in other threads and in other processes.
   */
  async transaction<R>(work: (connection: Connection) => R | Promise<R>): Promise<R> {
    if (this.#closed) throw new Error('the documents are closed');
    if (this.#waiting >= MAX_WAITING) throw new WriteConflict(`${MAX_WAITING} transactions wait already`);
    this.#waiting += 1;
    const turn = this.#last.then(() => this.#run(work)).finally(() => (this.#waiting -= 1));
    this.#last = turn.catch(() => {}); // whoever asked for the turn is told; the next one begins all the same
    return turn;
  }

  /** When all that was begun is done. */
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
      return result;
    } catch (error) {
      // Some errors, a full disk among them, have rolled back already.
      if (connection.inTransaction) connection.exec('ROLLBACK');
      throw portError(error);
    }
  }
}

/** The port's own error where it has one. */
export function portError(error: unknown): unknown {
  const code = sqliteCode(error);
  if (code !== SQLITE_CONSTRAINT_PRIMARYKEY && code !== SQLITE_CONSTRAINT_UNIQUE) return roomError(error);
  return new DuplicateKey((error as Error).message, { cause: error });
}
