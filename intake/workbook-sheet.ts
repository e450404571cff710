// The interface of one sheet of a workbook of any format.
import type { ZipPackage } from './zip-package.ts';

export interface SheetHandlers {
  /** The only column to read, from 0; null for all. */
  column: number | null;
  /** Called for each cell that is not empty. */
  cell(row: number, column: number, text: string): void;
  row?(row: number): void;
}

/** One sheet of a workbook; `read` yields after each piece of the file, and reads it from any opened package of the file. */
export interface WorkbookSheet {
  name: string;
  read(workbook: ZipPackage, handlers: SheetHandlers): AsyncGenerator<void>;
}
