// What every kind of uploaded file is opened as.

export interface Cell {
  /** As a spreadsheet counts, from 1. */
  row: number;
  value: string;
}

export interface Sheet {
  format: 'csv' | 'xlsx';
  encoding: string;
  /** Of a text file; null where each line is one cell, and for a workbook. */
  delimiter: string | null;
  /** Of a workbook. */
  sheet_name: string | null;
  /** From 0; what the header calls it, null without a header. */
  column: { index: number; name: string | null };
  /**
   * The cells that are not empty, header apart, in order, a page for each piece of the file. Can be called more than
   * once: each reads the file anew and closes it when it is left. Throws IntakeError for what is found on the way.
   */
  cells(): AsyncIterable<Cell[]>;
}
