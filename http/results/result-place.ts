// Where a result's URL stands in the list that it came from: its row and, in a table, its cell.
import { lettersOfColumn } from '../../intake/find-column.ts';
import { type JobDocument, rowOf } from '../../readmodels/jobs/jobs.ts';

export interface Place {
  /** From 1; null for jobs of before rows were kept. */
  row: number | null;
  /** Such as `B17`; null for lists without columns. */
  cell: string | null;
}

export type OfList = Pick<JobDocument, 'first_row' | 'table'>;

/** @example const placeOf = placesOf(job); placeOf(result) // { row: 17, cell: 'B17' } */
export function placesOf(job: OfList): (result: { index: number; row_shift?: number }) => Place {
  const cellOf = cellsOf(job);
  return (result) => {
    const row = rowOf(job, result);
    return { row, cell: row === null ? null : cellOf(row) };
  };
}

/** The name of the cell with the URL in a row; null for lists without columns. */
export function cellsOf({ table }: OfList): (row: number) => string | null {
  const letters = table && lettersOfColumn(table.column);
  return (row) => (letters === undefined ? null : `${letters}${row}`);
}
