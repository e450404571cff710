// A read as statements that are ready to run, on whichever thread: what a query or a count comes to.
import type { SQLInputValue } from 'node:sqlite';
import type { Connection } from './connection.ts';

export interface Statement {
  text: string;
  params: readonly SQLInputValue[];
}

export interface ReadPlan {
  /** Each gives rows of one column. Several follow each other, and see the same moment. */
  statements: readonly Statement[];
  /** Of all rows together, with how many are left out of each statement's: `LIMIT` and `OFFSET` are added. Null: of a count. */
  page: { limit: number; skip: number } | null;
  /** Whether it may look at many more rows than it gives: it then never takes the last thread. */
  is_heavy: boolean;
}

export type Value = string | number;

/** Rows of an index or a table that are read between two looks whether the read is still wanted. */
const ROWS_A_LOOK = 1024;
/**
 * A condition that always holds, and stops the read once nobody waits for it: SQLite has no other way in here. It
 * comes first, for what comes after a condition that fails is not looked at.
 */
export const WANTED = `(rowid % ${ROWS_A_LOOK} <> 0 OR wanted())`;

/** What one read gives at most: a page of long documents comes in several, or it would fill the heap of a reader. */
const MAX_ROWS_CHARS = 4 * 1024 * 1024;

export interface Rows {
  values: Value[];
  /** Not all of the page: the rows are long, and the others are to be asked for. */
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
