// The interface of an opened upload of any format.
import type { NamedColumn } from './find-column.ts';

export const SHEET_FORMATS = ['csv', 'text', 'xlsx'] as const;
export type SheetFormat = (typeof SHEET_FORMATS)[number];

/** A text that may be a URL. A cell of the file that holds several URLs becomes several cells of the same row. */
export interface Cell {
  /** Number of the row as in a spreadsheet, from 1. */
  row: number;
  value: string;
}

export interface Sheet {
  /** `text`: prose or Markdown, out of whose lines the URLs are taken. */
  format: SheetFormat;
  encoding: string;
  /** The delimiter of a text file; null when each line is one cell, and for a workbook. */
  delimiter: string | null;
  /** The sheet's name in a workbook; null for a text file. */
  sheet_name: string | null;
  /** The URL column: its index from 0, and its header or null. */
  column: { index: number; name: string | null };
  /** The other columns of the beginning of the file that hold URLs, the largest share first. */
  other_columns: readonly NamedColumn[];
  /** Whether another column is as likely to be the one that is meant. */
  is_ambiguous: boolean;
  /**
   * The column's texts without the header, in order, a page for each piece of the file. Each call reads the file again and
   * closes it when the iteration ends. The iteration throws IntakeError for faults of the file.
   */
  cells(): AsyncIterable<Cell[]>;
}

export interface OpenOptions {
  /** The header or the letter of the column to take; null for the likeliest one. */
  column?: string | null;
}
