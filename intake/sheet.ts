// The interface of an opened upload of any format.

export interface Cell {
  /** Number of the row as in a spreadsheet, from 1. */
  row: number;
  value: string;
}

export interface Sheet {
  format: 'csv' | 'xlsx';
  encoding: string;
  /** The delimiter of a text file; null when each line is one cell, and for a workbook. */
  delimiter: string | null;
  /** The sheet's name in a workbook; null for a text file. */
  sheet_name: string | null;
  /** The URL column: its index from 0, and its header or null. */
  column: { index: number; name: string | null };
  /**
   * The column's non-empty cells without the header, in order, a page for each piece of the file. Each call reads the file
   * again and closes it when the iteration ends. The iteration throws IntakeError for faults of the file.
   */
  cells(): AsyncIterable<Cell[]>;
}
