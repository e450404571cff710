// A query or a count as SQL statements that any thread can run.
import type { Connection } from './connection.ts';
import type { Sql } from './sql-filter.ts';

export interface ReadPlan {
  /** Each yields rows of one column. Several run one after the other, on the same snapshot. */
  statements: readonly Sql[];
  /** `limit`: rows of all statements together. `skip`: rows that each statement leaves out. Null for a count. */
  page: { limit: number; skip: number } | null;
  /** Whether it may scan many more rows than it returns. The pool keeps one thread free of heavy reads. */
  is_heavy: boolean;
}

export type Value = string | number;

/** Rows that SQLite scans between two checks for cancellation. */
const ROWS_A_LOOK = 1024;
/**
 * A condition that always holds, but throws once the read is cancelled: SQLite offers no other hook here. It must come
 * first, because SQLite skips the conditions after one that fails.
 */
export const WANTED = `(rowid % ${ROWS_A_LOOK} <> 0 OR wanted())`;

/** Most characters of one read: a page of long documents takes several reads, so that it does not fill a reader's heap. */
const MAX_ROWS_CHARS = 4 * 1024 * 1024;

export interface Rows {
  values: Value[];
  /** True when long rows cut the page short; the caller asks for the rest. */
  is_cut: boolean;
}

export function runPlan(connection: Connection, { statements, page }: ReadPlan): Rows {
  const begun = statements.length > 1 && !connection.inTransaction;
  if (begun) connection.exec('BEGIN');
  try {
    const values: Value[] = [];
    let chars = 0;
    for (const { text, params } of statements) {
      const left = page === null ? null : page.limit - values.length;
      if (left === 0) break;
      const rows =
        left === null
          ? connection.rows(text, params)
          : connection.rows(`${text} LIMIT ? OFFSET ?`, [...params, left, page!.skip]);
      for (const [value] of rows) {
        if (chars > MAX_ROWS_CHARS) return { values, is_cut: true };
        values.push(value as Value);
        chars += typeof value === 'string' ? value.length : 0;
      }
    }
    return { values, is_cut: false };
  } finally {
    if (begun) connection.exec('COMMIT');
  }
}
