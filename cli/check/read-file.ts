// A file of a check as the URLs in it: every URL of a text, and of a table those of all its columns, unless one is named. A job of the
// service takes one column, because it writes its results back beside it; a check takes what it is given.
import { basename } from 'node:path';
import type { ColumnRead, ListReading } from '../../commands/intake.ts';
import { beginsLikeUrl } from '../../intake/cell-urls.ts';
import { readRecords } from '../../intake/csv-records.ts';
import { lettersOfColumn } from '../../intake/find-column.ts';
import { isGzip } from '../../intake/known-formats.ts';
import { DEFAULT_LIMITS, type IntakeLimits } from '../../intake/limits.ts';
import { openSheet } from '../../intake/open-sheet.ts';
import { type Cell, type OpenOptions, readingOf, type Sheet } from '../../intake/sheet.ts';
import { slicedTexts } from '../../intake/sliced-texts.ts';
import { readHead, readText, type TextEncoding } from '../../intake/text-source.ts';

/** A text of a file that may be a URL, and the letter of its column; null where the file has no columns. */
export interface PlacedCell extends Cell {
  letter: string | null;
}

/** How a file was read. */
export interface FileReading extends ListReading {
  /** The columns of which a URL was taken, the likeliest first. Complete after the last cell. */
  columns: readonly ColumnRead[];
}

export interface ReadFile {
  readonly reading: FileReading;
  cells(): AsyncGenerator<readonly PlacedCell[]>;
}

export interface ReadFileOptions {
  column: string | null;
  limits: Partial<IntakeLimits>;
}

/** Files whose bars, commas and semicolons make no table, and which may have no URL. */
export const DOCUMENT = /\.(?:md|markdown|mdx|mdown|mkd|rst|adoc|asciidoc|org|txt|html?)(?:\.gz)?$/i;
const PROSE = /\.(?:md|markdown|mdx|mdown|mkd|rst|adoc|asciidoc|org)(?:\.gz)?$/i;
const TABLE = /\.(?:csv|tsv|tab|psv)(?:\.gz)?$/i;
/** Words behind a URL are words of the text: a URL does not go on in them. */
const IN_TEXT = { has_notes: true };
/** These tell only of columns and sheets that were not taken. */
const ABOUT_OTHERS = ['several_columns', 'several_sheets'];

/** Throws IntakeError for a file without a list of URLs. */
export async function readFile(path: string, name: string, options: ReadFileOptions): Promise<ReadFile> {
  const { column, limits } = options;
  const open = (opened: OpenOptions) => openSheet(path, basename(name), limits, opened);
  const sheet = await open({ column });
  const reading = readingOf(sheet);
  if (column !== null) return { reading: { ...reading, columns: [reading.column] }, cells: () => cellsOf(sheet) };
  const is_text = sheet.format === 'text' || sheet.delimiter !== null;
  const text = is_text ? await textOf(path, name, sheet, limits) : null;
  const columns = new Columns(text?.is_table === false ? { ...reading, ...NO_TABLE } : reading);
  const cells = text?.cells ?? cellsOfAll(sheet, open);
  return {
    get reading() {
      return columns.reading;
    },
    async *cells() {
      for await (const page of cells) {
        columns.note(page);
        yield page;
      }
    },
  };
}

const NO_TABLE = { format: 'text', column: { index: 0, letter: 'A', name: null }, other_columns: [] };

/** Which columns a reading has taken. */
class Columns {
  readonly #first: ListReading;
  readonly #taken = new Set<string>();

  constructor(first: ListReading) {
    this.#first = first;
  }

  note(page: readonly PlacedCell[]): void {
    for (const { letter } of page) if (letter !== null) this.#taken.add(letter);
  }

  get reading(): FileReading {
    const { column, other_columns, warnings, ...rest } = this.#first;
    const isTaken = ({ letter }: ColumnRead) => this.#taken.has(letter);
    const named = [column, ...other_columns];
    const unnamed = [...this.#taken].filter((letter) => !named.some((one) => one.letter === letter));
    return {
      ...rest,
      ...{ column, other_columns: other_columns.filter((one) => !isTaken(one)), other_sheets: [] },
      columns: [
        column,
        ...other_columns.filter(isTaken).map(({ index, letter, name }) => ({ index, letter, name })),
        ...unnamed.map((letter) => ({ index: indexOf(letter), letter, name: null })),
      ],
      warnings: warnings.filter(({ code }) => !ABOUT_OTHERS.includes(code)),
    };
  }
}

const indexOf = (letter: string) => [...letter].reduce((sum, c) => sum * 26 + c.charCodeAt(0) - 64, 0) - 1;

async function* cellsOf(sheet: Sheet): AsyncGenerator<readonly PlacedCell[]> {
  const letter = sheet.table === undefined ? null : lettersOfColumn(sheet.column.index);
  for await (const page of sheet.cells()) yield page.map((cell) => ({ ...cell, letter }));
}

/** The cells of all columns with URLs, of all sheets of a workbook, a column after the other. */
async function* cellsOfAll(
  sheet: Sheet,
  open: (options: OpenOptions) => Promise<Sheet>,
): AsyncGenerator<readonly PlacedCell[]> {
  yield* cellsOf(sheet);
  for (const { index, name } of sheet.other_columns) {
    // A name of JSON is a path, which tells its columns apart; a table may have two columns of one name.
    const column = sheet.format === 'json' ? (name ?? lettersOfColumn(index)) : lettersOfColumn(index);
    yield* urlsOf(cellsOf(await open({ column, sheet: sheet.sheet_name })));
  }
  for (const { sheet_name } of sheet.other_sheets ?? []) {
    const other = await open({ sheet: sheet_name });
    yield* cellsOfAll({ ...other, other_sheets: [] }, open);
  }
}

async function* urlsOf(pages: AsyncIterable<readonly PlacedCell[]>): AsyncGenerator<readonly PlacedCell[]> {
  for await (const page of pages) yield page.filter(({ value }) => beginsLikeUrl(value));
}

/** The cells of a text: of its lines where they make no table, else of all its columns. */
async function textOf(path: string, name: string, sheet: Sheet, limits: Partial<IntakeLimits>) {
  const { max_row_chars, max_inflated_bytes } = { ...DEFAULT_LIMITS, ...limits };
  const source = { path, is_gzip: isGzip(await readHead({ path, is_gzip: false, max_inflated_bytes })) };
  const records = (delimiter: string | null) =>
    readRecords(readText({ ...source, max_inflated_bytes }, sheet.encoding as TextEncoding), {
      delimiter,
      max_row_chars,
    });
  const may_be_table = sheet.delimiter !== null && !PROSE.test(name);
  const is_table = may_be_table && (TABLE.test(name) || (await haveOneWidth(records(sheet.delimiter))));
  const cells = is_table
    ? inOrder(cellsOf(sheet), otherCells(records(sheet.delimiter), sheet))
    : urlsOfLines(records(null));
  return { is_table, cells };
}

const SAMPLE_ROWS = 400;
const SAME_WIDTH_SHARE = 0.9;

/** Whether the rows have as many cells, as those of a table have, and the lines of prose have not. */
async function haveOneWidth(records: AsyncIterable<readonly { cells: readonly string[] }[]>): Promise<boolean> {
  const rows_by_width = new Map<number, number>();
  let rows = 0;
  for await (const page of records) {
    for (const { cells } of page) {
      if (cells.length === 1 && cells[0]!.trim() === '') continue;
      rows += 1;
      rows_by_width.set(cells.length, (rows_by_width.get(cells.length) ?? 0) + 1);
    }
    if (rows >= SAMPLE_ROWS) break;
  }
  return Math.max(...rows_by_width.values()) >= rows * SAME_WIDTH_SHARE;
}

type Records = AsyncIterable<readonly { row: number; cells: readonly string[] }[]>;

/** The URLs in the cells beside the sheet's own column. */
async function* otherCells(records: Records, sheet: Sheet): AsyncGenerator<readonly PlacedCell[]> {
  const own = sheet.column.index;
  const header_row = sheet.table?.().header_row ?? 0;
  for await (const page of records) {
    const found: PlacedCell[] = [];
    for (const { row, cells } of page) {
      if (row <= header_row) continue;
      for (const [index, cell] of cells.entries()) {
        if (index === own || (!cell.includes('//') && !cell.includes('www.'))) continue;
        const letter = lettersOfColumn(index);
        for (const value of urlsIn(cell)) found.push({ row, value, letter });
      }
    }
    yield found;
  }
}

async function* urlsOfLines(records: Records): AsyncGenerator<readonly PlacedCell[]> {
  for await (const page of records) {
    const found: PlacedCell[] = [];
    for (const { row, cells } of page) {
      const line = cells.join('');
      // A row of a table in Markdown: bars may touch the URLs.
      const parts = line.trimStart().startsWith('|') ? line.split('|') : [line];
      for (const part of parts) for (const value of urlsIn(part)) found.push({ row, value, letter: null });
    }
    yield found;
  }
}

function* urlsIn(text: string): Generator<string> {
  for (const texts of slicedTexts(text, IN_TEXT)) {
    for (const { value } of texts) if (beginsLikeUrl(value)) yield value;
  }
}

/** The cells of both in the order of their rows. */
async function* inOrder(
  first: AsyncGenerator<readonly PlacedCell[]>,
  second: AsyncGenerator<readonly PlacedCell[]>,
): AsyncGenerator<readonly PlacedCell[]> {
  let waiting: readonly PlacedCell[] = [];
  let is_ended = false;
  for await (const page of first) {
    for (const cell of page) {
      while (!is_ended && (waiting.length === 0 || waiting.at(-1)!.row < cell.row)) {
        if (waiting.length > 0) yield waiting;
        const { done, value } = await second.next();
        is_ended = done === true;
        waiting = value ?? [];
      }
      const behind = waiting.findIndex(({ row }) => row >= cell.row);
      const before = behind === -1 ? waiting : waiting.slice(0, behind);
      if (before.length > 0) yield before;
      waiting = waiting.slice(before.length);
      yield [cell];
    }
  }
  if (waiting.length > 0) yield waiting;
  if (!is_ended) yield* second;
}
