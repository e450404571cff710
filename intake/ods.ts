// Reads the sheets of an ODS workbook (OpenDocument 1.3, part 3): texts, hyperlinks, formulas, repeated rows and cells.

import { linkOfFormula, textWithLinks } from './cell-links.ts';
import { IntakeError } from './errors.ts';
import { tooLarge } from './inflation.ts';
import { readPart, readPartWhole } from './read-part.ts';
import { type CellValue, DateValue, type SheetHandlers, shownFirst, type WorkbookSheet } from './workbook-sheet.ts';
import { attributeOf } from './xml.ts';
import type { ZipPackage } from './zip-package.ts';

const CONTENT = 'content.xml';
const MAX_SHEETS = 100;
const MAX_COLUMNS = 16_384;
const MAX_ROWS = 1_048_576;
const MAX_CELL_CHARS = 32_767;
const MAX_NAME_CHARS = 255;
/** Links of one cell. */
const MAX_LINKS = 1_000;

export async function isOds(workbook: ZipPackage): Promise<boolean> {
  if (!workbook.has(CONTENT)) return false;
  let is_spreadsheet = false;
  const reading = readPart(workbook, CONTENT, { open: (name) => void (is_spreadsheet ||= name === 'spreadsheet') });
  for await (const _ of reading) if (is_spreadsheet) return true;
  return is_spreadsheet;
}

export async function* odsSheets(workbook: ZipPackage): AsyncGenerator<WorkbookSheet> {
  const sheets: { name: string; is_hidden: boolean }[] = [];
  /** The style that is read, and those of hidden sheets, which come before the sheets. */
  let style = '';
  const hiding = new Set<string>();
  await readPartWhole(workbook, CONTENT, {
    open(name, attributes) {
      if (name === 'style') style = nameIn(attributes, 'name');
      else if (name === 'table-properties' && attributeOf(attributes, 'display') === 'false') {
        if (hiding.size < MAX_SHEETS) hiding.add(style);
      } else if (name === 'table' && sheets.length < MAX_SHEETS) {
        sheets.push({ name: nameIn(attributes, 'name'), is_hidden: hiding.has(nameIn(attributes, 'style-name')) });
      }
    },
  });
  for (const { name, number } of shownFirst(sheets)) yield odsSheet(number, name);
}

const VALUES = ['string-value', 'value', 'date-value', 'time-value', 'boolean-value'];
function storedValue(attributes: Record<string, string>): string {
  for (const name of VALUES) {
    const value = attributeOf(attributes, name);
    if (value !== undefined) return value;
  }
  return '';
}

const NUMBERS = new Set(['float', 'percentage', 'currency']);
const TIME = /^PT(\d+)H(\d+)M(\d+)/;

/** What a cell holds, as in a workbook of Excel: a number, a truth value, a date in ISO 8601; else its text. */
function typedValue(attributes: Record<string, string>, text: string): CellValue {
  const type = attributeOf(attributes, 'value-type') ?? '';
  const stored = storedValue(attributes);
  if (NUMBERS.has(type) && stored.trim() !== '' && Number.isFinite(Number(stored))) return Number(stored);
  if (type === 'boolean' && stored !== '') return stored === 'true';
  if (type === 'date' && stored !== '')
    return new DateValue(
      stored
        .replace(/\.\d+$/, '')
        .replace('T', ' ')
        .replace(/ 00:00:00$/, ''),
    );
  const time = type === 'time' ? TIME.exec(stored) : null;
  return time
    ? new DateValue(
        time
          .slice(1)
          .map((part) => part.padStart(2, '0'))
          .join(':'),
      )
    : text;
}

const nameIn = (attributes: Record<string, string>, attribute: string) =>
  (attributeOf(attributes, attribute) ?? '').slice(0, MAX_NAME_CHARS);

/** The sheet with this number, from 0. */
export const odsSheet = (number: number, name = ''): WorkbookSheet => ({
  name,
  number,
  read: (ods, handlers) => readTable(ods, number, handlers),
});

/** Reads the table with this number, from 0. */
async function* readTable(workbook: ZipPackage, wanted: number, handlers: SheetHandlers): AsyncGenerator<void> {
  let table = -1;
  let row = 0;
  let rows = 1;
  let column = 0;
  let columns = 1;
  let cells: RepeatedCell[] = [];
  let ended: RepeatedRow[] = [];
  let text = '';
  let of_cell: Record<string, string> = {};
  let paragraphs = 0;
  let links: string[] = [];
  let formula = '';
  let is_uncalculated = false;
  let is_text = false;
  let note_depth = 0;
  const add = (more: string) => {
    if (text.length <= MAX_CELL_CHARS) text += more.slice(0, MAX_CELL_CHARS + 1 - text.length);
  };
  const endCell = () => {
    // Programs that never show a cell may write no paragraph.
    if (text === '') add(storedValue(of_cell));
    if (text.trim() !== '') handlers.filled?.(column + columns - 1);
    const shown = handlers.value ? text : textWithLinks(text, links, MAX_CELL_CHARS);
    const refused = shown.trim() === '' && is_uncalculated && !handlers.value ? ('uncalculated' as const) : undefined;
    const first = handlers.column ?? column;
    const is_wanted = first >= column && first < column + columns;
    if (is_wanted && (shown.trim() !== '' || refused)) {
      const repeats = handlers.column === null ? columns : 1;
      const value = handlers.value && text.length <= MAX_CELL_CHARS ? typedValue(of_cell, text) : undefined;
      cells.push({ column: first, columns: repeats, text: refused ? formula : shown, value, refused });
    }
    column += columns;
  };
  const endRow = () => {
    if (row + rows > MAX_ROWS && cells.length > 0) {
      throw new IntakeError('broken_xlsx', `The workbook has more than ${MAX_ROWS} rows.`);
    }
    // A sample needs no repeated rows, which may be a million of all columns.
    const times = handlers.column === null && !handlers.value ? 1 : rows;
    if (cells.length > 0) ended.push({ row: row + 1, times, cells });
    row += rows;
    cells = [];
  };
  const reading = readPart(workbook, CONTENT, {
    open(name, attributes) {
      if (name === 'table') table++;
      if (table !== wanted) return;
      if (name === 'table-row') {
        rows = repeated(attributeOf(attributes, 'number-rows-repeated'), MAX_ROWS);
        column = 0;
      } else if (name === 'table-cell' || name === 'covered-table-cell') {
        columns = repeated(
          attributeOf(attributes, 'number-columns-repeated'),
          MAX_COLUMNS - Math.min(column, MAX_COLUMNS),
        );
        text = '';
        of_cell = attributes;
        paragraphs = 0;
        formula = (attributeOf(attributes, 'formula') ?? '').slice(0, MAX_CELL_CHARS);
        // A result has a type, also an empty one.
        is_uncalculated = formula !== '' && attributeOf(attributes, 'value-type') === undefined;
        links = [linkOfFormula(formula) ?? ''];
      } else if (name === 'annotation') note_depth++;
      else if (note_depth > 0) return;
      else if (name === 'p') {
        if (paragraphs++ > 0) add('\n');
        is_text = true;
      } else if (name === 'a' && links.length < MAX_LINKS) links.push(attributeOf(attributes, 'href') ?? '');
      else if (name === 'line-break') add('\n');
      else if (name === 's' || name === 'tab') add(' ');
    },
    text(more) {
      if (is_text && note_depth === 0 && table === wanted) add(more);
    },
    close(name) {
      if (table !== wanted) return;
      if (name === 'annotation') note_depth--;
      else if (name === 'p' && note_depth === 0) is_text = false;
      else if (name === 'table-cell' || name === 'covered-table-cell') endCell();
      else if (name === 'table-row') endRow();
    },
  });
  const repeats = new Repeats();
  for await (const _ of reading) {
    for (const one of ended) yield* repeats.pass(one, handlers);
    ended = [];
    if (table > wanted) return;
    yield;
  }
  for (const one of ended) yield* repeats.pass(one, handlers);
}

interface RepeatedCell {
  column: number;
  columns: number;
  text: string;
  /** What the cell holds, where that is asked for. */
  value: CellValue | undefined;
  refused: 'uncalculated' | undefined;
}

interface RepeatedRow {
  /** The number of the first of the rows, from 1. */
  row: number;
  times: number;
  cells: readonly RepeatedCell[];
}

/** Cells and characters that repeats may add to a sheet, as if they were written out. */
const MAX_REPEATED_CELLS = 10_000_000;
const MAX_REPEATED_CHARS = 200_000_000;
/** An export takes a whole table of whose columns intake read one, and its client takes it piece by piece. */
const ALL_COLUMNS = 10;
const CELLS_A_TURN = 1_000;

/** Passes rows on to the handlers as often as they are repeated, and bounds the work that a small file can ask for. */
class Repeats {
  #cells = 0;
  #chars = 0;

  /** Yields about every thousand cells. */
  *pass({ row, times, cells }: RepeatedRow, handlers: SheetHandlers): Generator<void> {
    const width = cells.reduce((sum, { columns }) => sum + columns, 0);
    const chars = cells.reduce((sum, { columns, text }) => sum + columns * text.length, 0);
    const written_chars = cells.reduce((sum, { text }) => sum + text.length, 0);
    this.#cells += width * times - cells.length;
    this.#chars += chars * times - written_chars;
    const more = handlers.value ? ALL_COLUMNS : 1;
    if (this.#cells > more * MAX_REPEATED_CELLS || this.#chars > more * MAX_REPEATED_CHARS) {
      throw tooLarge(more * MAX_REPEATED_CHARS);
    }
    let passed = 0;
    for (let n = 0; n < times; n++) {
      for (const { column, columns, text, value = text, refused } of cells) {
        for (let i = 0; i < columns; i++) {
          if (handlers.value) handlers.value(row + n, column + i, value);
          else handlers.cell(row + n, column + i, text, refused);
        }
      }
      handlers.row?.(row + n);
      passed += width;
      if (passed < CELLS_A_TURN) continue;
      passed = 0;
      yield;
    }
  }
}

function repeated(count: string | undefined, most: number): number {
  const times = Number(count ?? 1);
  return Number.isInteger(times) && times > 0 ? Math.min(times, most) : 1;
}
