// Reads the log a page at a time: every page is one short read transaction of bounded size, so that neither the memory
// nor the write-ahead log grows with the length of a read.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { EventFilter } from '../../../events/event-store.ts';
import { COLUMNS, type EventRow, StoredEvent } from './stored-event.ts';

const PAGE_EVENTS = 1_000;
const PAGE_CHARS = 4 * 2 ** 20;
/** How much of the log one page looks through for what passes a filter: some milliseconds. */
const WINDOW = 10_000;

export interface StreamRange {
  stream_id: number;
  /** Inclusive, both. */
  first: number;
  last: number;
}

export class StreamPages {
  readonly #forwards: StatementSync;
  readonly #backwards: StatementSync;

  constructor(db: DatabaseSync) {
    const select = (order: string) =>
      prepare(
        db,
        `SELECT ${COLUMNS} FROM events e CROSS JOIN streams s ON s.id = e.stream_id
         WHERE e.stream_id = ? AND e.revision BETWEEN ? AND ? ORDER BY e.revision ${order} LIMIT ?`,
      );
    this.#forwards = select('ASC');
    this.#backwards = select('DESC');
  }

  /** The next events of the range from the end at which `direction` begins; at least one if there is any. */
  read({ stream_id, first, last }: StreamRange, direction: 'forwards' | 'backwards', limit: number): StoredEvent[] {
    const statement = direction === 'forwards' ? this.#forwards : this.#backwards;
    return take(statement, [stream_id, first, last], Math.min(limit, PAGE_EVENTS)).events;
  }
}

export class LogPages {
  readonly #statement: StatementSync;
  readonly #listed: readonly string[];

  constructor(db: DatabaseSync, { categories, types }: EventFilter = {}) {
    const listed = (column: string, values: readonly string[] | undefined) =>
      values === undefined ? '' : `AND ${column} IN (${values.map(() => '?').join(', ')})`;
    this.#listed = [...(categories ?? []), ...(types ?? [])];
    // CROSS JOIN: the log is read in its own order, whatever SQLite thinks of the streams.
    this.#statement = prepare(
      db,
      `SELECT ${COLUMNS} FROM events e CROSS JOIN streams s ON s.id = e.stream_id
       WHERE e.position > ? AND e.position <= ? ${listed('s.category', categories)} ${listed('e.type', types)}
       ORDER BY e.position LIMIT ?`,
    );
  }

  /**
   * Events that pass the filter after the rowid `after` and up to `end`; maybe none, when many do not pass.
   * `reached`: no event up to there was left out but those that do not pass.
   */
  read(after: number, end: number, limit = PAGE_EVENTS): { events: StoredEvent[]; reached: number } {
    const window_end = Math.min(end, after + WINDOW);
    const page = take(this.#statement, [after, window_end, ...this.#listed], Math.min(limit, PAGE_EVENTS));
    return { events: page.events, reached: page.full ? page.last_rowid : window_end };
  }
}

function prepare(db: DatabaseSync, sql: string): StatementSync {
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  return statement;
}

/** `full`: it ended at a limit, and there may be more. */
function take(statement: StatementSync, values: (number | string)[], limit: number) {
  const events: StoredEvent[] = [];
  let chars = 0;
  let last_rowid = 0;
  for (const values_of_row of statement.iterate(...values, limit)) {
    const row = values_of_row as unknown as EventRow;
    events.push(new StoredEvent(row));
    last_rowid = row[0];
    chars += row[4].length + row[5].length;
    if (chars >= PAGE_CHARS) break;
  }
  return { events, last_rowid, full: events.length === limit || chars >= PAGE_CHARS };
}
