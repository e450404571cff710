// The statements by which appends are made inside a transaction, on any connection to the log.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { AppendResult, ExpectedRevision } from '../../../events/event-store.ts';
import { transaction } from '../../sqlite.ts';
import { toPosition } from './position.ts';

/** An append of checked arguments, which may go to another thread. */
export interface StoredAppend {
  stream: string;
  expected: ExpectedRevision;
  rows: readonly Row[];
}
export interface Row {
  id: string;
  type: string;
  metadata: string;
  data: string;
}

export interface Committed {
  /** One for each append. */
  results: AppendResult[];
  /** Whether the log has events that it did not have. */
  has_grown: boolean;
}

/** Rows of one INSERT: executing a statement costs more than adding a row. */
const ROWS = 10;

export class Appends {
  readonly #db: DatabaseSync;
  readonly #findStream: StatementSync;
  readonly #createStream: StatementSync;
  readonly #eventsAfter: StatementSync;
  readonly #insertOne: StatementSync;
  readonly #insertMany: StatementSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#findStream = db.prepare(`
      SELECT id, deleted, (SELECT max(revision) FROM events WHERE stream_id = streams.id) AS revision
      FROM streams WHERE name = ?`);
    this.#createStream = db.prepare('INSERT INTO streams (name, category) VALUES (?, ?) ON CONFLICT DO NOTHING');
    this.#eventsAfter = db.prepare(`
      SELECT position, id FROM events WHERE stream_id = ? AND revision > ? ORDER BY revision LIMIT ?`);
    const insert = (rows: number) =>
      db.prepare(`
        INSERT INTO events (stream_id, revision, type, id, metadata, data)
        VALUES ${Array(rows).fill('(?, ?, ?, ?, ?, ?)').join(', ')}`);
    this.#insertOne = insert(1);
    this.#insertMany = insert(ROWS);
  }

  /** Makes all appends in one transaction. Each succeeds or conflicts on its own. Throws the errors of SQLite, and then makes none. */
  commit(group: readonly StoredAppend[]): Committed {
    const decided = transaction(this.#db, () => group.map((append) => this.#decide(append)));
    return { results: decided.map(({ result }) => result), has_grown: decided.some(({ wrote }) => wrote) };
  }

  #decide({ stream, expected, rows }: StoredAppend): { result: AppendResult; wrote: boolean } {
    if (expected === 'no_stream') {
      const made = this.#createStream.run(stream, categoryOf(stream));
      if (made.changes === 1) return this.#wrote(Number(made.lastInsertRowid), 0, rows);
    }
    const found = this.#findStream.get(stream) as { id: number; deleted: number; revision: number | null } | undefined;
    const after = expected === 'no_stream' ? -1 : expected;
    // Some events of a deleted stream may still wait to be removed.
    const last = found?.deleted ? -1 : (found?.revision ?? -1);
    if (found && last === after && !found.deleted) return this.#wrote(found.id, after + 1, rows);
    if (found && last > after) {
      const there = this.#eventsAfter.all(found.id, after, rows.length) as { position: number; id: string }[];
      if (there.length === rows.length && rows.every((row, index) => row.id === there[index]!.id)) {
        const position = toPosition(there.at(-1)!.position);
        return { result: { ok: true, revision: after + rows.length, position }, wrote: false };
      }
    }
    return { result: { ok: false, conflict: true, actual: last === -1 ? 'no_stream' : last }, wrote: false };
  }

  #wrote(id: number, revision: number, rows: readonly Row[]): { result: AppendResult; wrote: true } {
    const position = toPosition(this.#insert(id, revision, rows));
    return { result: { ok: true, revision: revision + rows.length - 1, position }, wrote: true };
  }

  /** Returns the rowid of the last inserted event. */
  #insert(stream: number, revision: number, rows: readonly Row[]): number {
    let position: number | bigint = 0;
    let next = 0;
    for (; next + ROWS <= rows.length; next += ROWS) {
      const values = [];
      for (let index = next; index < next + ROWS; index += 1) {
        const { type, id, metadata, data } = rows[index]!;
        values.push(stream, revision + index, type, id, metadata, data);
      }
      position = this.#insertMany.run(...values).lastInsertRowid;
    }
    for (; next < rows.length; next += 1) {
      const { type, id, metadata, data } = rows[next]!;
      position = this.#insertOne.run(stream, revision + next, type, id, metadata, data).lastInsertRowid;
    }
    return Number(position);
  }
}

/** A stream's name up to the first dash. */
export const categoryOf = (stream: string): string => stream.split('-', 1)[0]!;
