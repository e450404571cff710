// The interface of one sheet of a workbook of any format.
import type { InvalidReason } from './classify-url.ts';
import type { ZipPackage } from './zip-package.ts';

/** A date, a time of day, or both, as a cell shows it. */
export class DateValue {
  /** In ISO 8601 without a zone, with a space before the time. */
  readonly iso: string;
  constructor(iso: string) {
    this.iso = iso;
  }
  toString(): string {
    return this.iso;
  }
}

/** What a cell shows; an empty cell is the empty text. */
export type CellValue = string | number | boolean | DateValue;

export interface SheetHandlers {
  /** The only column to read, from 0; null for all. */
  column: number | null;
  /** Called for each cell that is not empty. `refused`: its text is no URL, whatever it holds. */
  cell(row: number, column: number, text: string, refused?: InvalidReason): void;
  row?(row: number): void;
  /** Called with the column of each cell that holds something, wanted or not. */
  filled?(column: number): void;
  /** Where it is there, called in place of `cell` with what the cell shows, not with its link, and repeated rows are repeated. */
  value?(row: number, column: number, value: CellValue): void;
}

/** The sheets with their numbers: those that a spreadsheet program shows, and then the hidden ones, which few know of. */
export const shownFirst = <Sheet extends { is_hidden: boolean }>(sheets: readonly Sheet[]) =>
  sheets.map((sheet, number) => ({ ...sheet, number })).sort((a, b) => Number(a.is_hidden) - Number(b.is_hidden));

/** One sheet of a workbook; `read` yields after each piece of the file, and reads it from any opened package of the file. */
export interface WorkbookSheet {
  name: string;
  /** Its place in the workbook, from 0. */
  number: number;
  read(workbook: ZipPackage, handlers: SheetHandlers): AsyncGenerator<void>;
}
