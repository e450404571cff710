// The interface of an opened upload of any format.
import type { JobTable, ListReading } from '../commands/jobs/intake.ts';
import type { InvalidReason } from './classify-url.ts';
import { columnNotFound } from './errors.ts';
import { isAmbiguous, lettersOfColumn, type NamedColumn, type UrlColumn } from './find-column.ts';
import type { SheetFormat } from './formats.ts';
import type { IntakeLimits } from './limits.ts';
import type { TextEncoding } from './text-encoding.ts';
import type { TextFile } from './text-source.ts';

/** A text that may be a URL. A cell of the file that holds several URLs becomes several cells of the same row. */
export interface Cell {
  /** Number from 1: the row of a table, the line of a text or of HTML, the item of JSON or of a sitemap. */
  row: number;
  value: string;
  /** The client's own name for it, in a list that has names. */
  ref?: string;
  /** The index of its column, where several are taken. */
  column?: number;
  /** Why it cannot be checked, where the format tells; else its text decides. */
  refused?: InvalidReason;
}

export const WARNINGS = {
  several_columns: 'Another column is as likely to hold the URLs that are meant. Choose one with `column`.',
  names_only:
    'No text has http:// or https://. The texts are written like domain names, but so are names of files: look whether they are meant.',
  several_sheets: 'Another sheet of the workbook holds URLs, which were not taken.',
  unread_files:
    'The archive has files that were not read: workbooks, documents and archives, damaged lists, or lists behind the first hundred. ' +
    'Upload those by themselves, or name a list with `sheet`.',
  sitemap_index:
    'The file is an index: its URLs are those of sitemaps. The service fetches none of them to look for pages.',
} as const;
export type Warning = keyof typeof WARNINGS;

export interface Sheet {
  /** `text`: prose or Markdown, out of whose lines the URLs are taken. */
  format: SheetFormat;
  encoding: string;
  /** The delimiter of a text file; null when each line is one cell, and for other formats. */
  delimiter: string | null;
  /** The sheet's name in a workbook; null for other formats. */
  sheet_name: string | null;
  /** The URL column: its index from 0, and its header or null. */
  column: { index: number; name: string | null };
  /** Share of the rows at the beginning that hold a URL there; missing for formats without columns. */
  url_share?: number;
  /** The other columns of the beginning of the file that hold URLs, the largest share first. */
  other_columns: readonly NamedColumn[];
  /** The other sheets of the workbook that hold URLs at their beginning, each with its likeliest column. */
  other_sheets?: readonly OtherSheet[];
  warnings: readonly Warning[];
  /**
   * The column's texts without the header, in order, a page for each piece of the file. Each call reads the file again and
   * closes it when the iteration ends. The iteration throws IntakeError for faults of the file.
   */
  cells(): AsyncIterable<Cell[]>;
  /** How to read the file again as a table, once an iteration of `cells` has ended; missing where the file is no table. */
  table?(): JobTable;
}

export interface OtherSheet extends NamedColumn {
  sheet_name: string;
}

export interface OpenOptions {
  /** The name of the sheet of a workbook to take; null for the first one with URLs, a hidden one last. */
  sheet?: string | null;
  /** The encoding of a text, as TextDecoder names it; null or left out to tell it by the bytes. */
  encoding?: TextEncoding | null;
  /** The header or the letter of the column to take, `ALL_COLUMNS` for each that holds URLs; null for the likeliest one. */
  column?: string | null;
}

/** In place of a column's name: every column with URLs. */
export const ALL_COLUMNS = '*';

/** A file of text whose beginning has been read. */
export interface OpenedText {
  source: TextFile;
  encoding: TextEncoding;
  filename: string;
  head: string;
  /** Whether the file has no more than `head`. */
  is_whole: boolean;
  limits: IntakeLimits;
  /** The column to take; null for the likeliest one. */
  column: string | null;
  /** Whether all columns with URLs are taken, and not one alone. */
  takes_all: boolean;
}

/** How a sheet describes the column that was taken. `wanted`: whether the client has chosen it. */
export function describedColumn(
  column: UrlColumn,
  { wanted, takes_all }: { wanted: string | null; takes_all: boolean },
) {
  const warnings: Warning[] = [];
  if (wanted === null && !takes_all && isAmbiguous(column)) warnings.push('several_columns');
  if (column.has_names_only) warnings.push('names_only');
  const { index, name, url_share } = column;
  return { column: { index, name }, url_share, other_columns: column.others, warnings };
}

/** The indexes of all columns with URLs, in order. */
export const indexesOf = ({ index, others }: UrlColumn): number[] =>
  [index, ...others.map((other) => other.index)].sort((a, b) => a - b);

/** The row of the header; null without one. */
export const headerRow = ({ name, first_data_row }: UrlColumn): number | null =>
  name !== null && first_data_row > 1 ? first_data_row - 1 : null;

const lettered = <Column extends NamedColumn>(column: Column) => ({
  ...column,
  letter: lettersOfColumn(column.index),
});

/** What a client is told of how a file was read. */
export function readingOf({ format, sheet_name, column, other_columns, other_sheets, warnings }: Sheet): ListReading {
  return {
    format,
    sheet_name,
    column: { ...column, letter: lettersOfColumn(column.index) },
    other_columns: other_columns.map(lettered),
    other_sheets: (other_sheets ?? []).map(lettered),
    warnings: warnings.map((code) => ({ code, message: WARNINGS[code] })),
  };
}

/** The sheet of a format that has no columns. Throws `column_not_found` when one is wanted. */
export function listSheet(
  { encoding, column }: Pick<OpenedText, 'encoding' | 'column'>,
  list: Pick<Sheet, 'format' | 'warnings' | 'cells'>,
): Sheet {
  if (column !== null) throw columnNotFound(column, []);
  return { ...list, encoding, delimiter: null, sheet_name: null, column: { index: 0, name: null }, other_columns: [] };
}
