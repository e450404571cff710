// The interface of one sheet of a workbook of any format.
import type { ZipPackage } from './zip-package.ts';

/** What a cell shows: a date as ISO 8601, an empty cell as the empty text. */
export type CellValue = string | number | boolean;

export interface SheetHandlers {
  /** The only column to read, from 0; null for all. */
  column: number | null;
  /** Called for each cell that is not empty. */
  cell(row: number, column: number, text: string): void;
  row?(row: number): void;
  /** Called with the column of each cell that holds something, wanted or not. */
  filled?(column: number): void;
  /** Where it is there, called in place of `cell` with what the cell shows, not with its link, and repeated rows are repeated. */
  value?(row: number, column: number, value: CellValue): void;
}

/** One sheet of a workbook; `read` yields after each piece of the file, and reads it from any opened package of the file. */
export interface WorkbookSheet {
  name: string;
  read(workbook: ZipPackage, handlers: SheetHandlers): AsyncGenerator<void>;
}
