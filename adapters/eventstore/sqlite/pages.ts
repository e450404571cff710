// Reads the log in pages. Each page is one short read transaction of bounded size, so that neither memory nor the
// write-ahead log grows with the length of a read.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { EventFilter, EventRow } from '../../../events/event-store.ts';
import { COLUMNS, StoredEvent } from './stored-event.ts';

const PAGE_EVENTS = 1_000;
const PAGE_CHARS = 4 * 2 ** 20;
/** Events that one page scans for those that pass the filter; the scan takes some milliseconds. */
const WINDOW = 10_000;

export interface StreamRange {
  stream: string;
  /** First and last revision, both inclusive. */
  first: number;
  last: number;
}

/** A page of a stream. `is_last`: the stream has no more events in this direction. */
interface StreamPage {
  events: StoredEvent[];
  is_last: boolean;
}

type Direction = 'forwards' | 'backwards';

export class StreamPages {
  readonly #forwards: StatementSync;
  readonly #backwards: StatementSync;

  constructor(db: DatabaseSync) {
    const select = (order: string) =>
      prepare(
        db,
        `SELECT ${COLUMNS} FROM streams s CROSS JOIN events e ON e.stream_id = s.id
         WHERE s.name = ? AND NOT s.deleted AND e.revision BETWEEN ? AND ? ORDER BY e.revision ${order} LIMIT ?`,
      );
    this.#forwards = select('ASC');
    this.#backwards = select('DESC');
  }

  /** Reads the next events of the range in `direction`; at least one when the range has any. */
  read({ stream, first, last }: StreamRange, direction: Direction, limit: number): StreamPage {
    const statement = direction === 'forwards' ? this.#forwards : this.#backwards;
    const { rows, is_full } = take(statement, [stream, first, last], Math.min(limit, PAGE_EVENTS));
    return { events: rows.map((row) => new StoredEvent(row)), is_last: !is_full };
  }
}

export class LogPages {
  readonly #statement: StatementSync;
  readonly #listed: readonly string[];

  constructor(db: DatabaseSync, { categories, types }: EventFilter = {}) {
    const listed = (column: string, values: readonly string[] | undefined) =>
      values === undefined ? '' : `AND ${column} IN (${values.map(() => '?').join(', ')})`;
    this.#listed = [...(categories ?? []), ...(types ?? [])];
    // CROSS JOIN keeps SQLite's planner from reading the log in the order of streams.
    this.#statement = prepare(
      db,
      `SELECT ${COLUMNS} FROM events e CROSS JOIN streams s ON s.id = e.stream_id
       WHERE e.position > ? AND e.position <= ? AND NOT s.deleted ${listed('s.category', categories)} ${listed('e.type', types)}
       ORDER BY e.position LIMIT ?`,
    );
  }

  /**
   * Reads the events after rowid `after` and up to `end` that pass the filter; none when no event of the window passes.
   * `reached`: the rowid up to which every passing event has been returned.
   */
  read(after: number, end: number, limit = PAGE_EVENTS): { events: StoredEvent[]; reached: number } {
    const { rows, reached } = this.readRows(after, end, limit);
    return { events: rows.map((row) => new StoredEvent(row)), reached };
  }

  /** Reads like `read`, and makes no events of the rows. */
  readRows(after: number, end: number, limit = PAGE_EVENTS): { rows: EventRow[]; reached: number } {
    const window_end = Math.min(end, after + WINDOW);
    const { rows, is_full } = take(this.#statement, [after, window_end, ...this.#listed], Math.min(limit, PAGE_EVENTS));
    return { rows, reached: is_full ? rows.at(-1)![0] : window_end };
  }
}

function prepare(db: DatabaseSync, sql: string): StatementSync {
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  return statement;
}

/** `is_full`: the page ended at a limit, and more rows may follow. */
function take(statement: StatementSync, values: (number | string)[], limit: number) {
  const rows: EventRow[] = [];
  let chars = 0;
  for (const values_of_row of statement.iterate(...values, limit)) {
    const row = values_of_row as unknown as EventRow;
    rows.push(row);
    chars += row[4].length + row[5].length;
    if (chars >= PAGE_CHARS) break;
  }
  return { rows, is_full: rows.length === limit || chars >= PAGE_CHARS };
}
