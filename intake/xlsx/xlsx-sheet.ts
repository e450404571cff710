// Opens an XLSX workbook as the cells of the URL column of its first sheet that has one.
import { isPlain, urlsInCell } from '../cell-urls.ts';
import { columnNotFound, IntakeError } from '../errors.ts';
import { findUrlColumn, isAmbiguous, type SampleRow, type UrlColumn } from '../find-column.ts';
import type { IntakeLimits } from '../limits.ts';
import type { Cell, Sheet } from '../sheet.ts';
import { readSharedStrings } from './shared-strings.ts';
import { readHyperlinks, readWorkbook } from './workbook.ts';
import { readWorksheet, type SheetSource } from './worksheet.ts';
import { XlsxPackage } from './xlsx-package.ts';

const SAMPLE_ROWS = 400;
/** Cells of a sample, all columns together, which bounds its memory and the time to judge it. */
const SAMPLE_CELLS = 20_000;
const SAMPLE_CHARS = 1_000_000;
const SAMPLE_COLUMNS = 1_000;
const PAGE_CELLS = 1_000;

export async function openXlsxSheet(path: string, limits: IntakeLimits, wanted: string | null): Promise<Sheet> {
  const xlsx = await XlsxPackage.open(path, limits.max_inflated_bytes);
  try {
    const { max_url_chars } = limits;
    const workbook = await readWorkbook(xlsx);
    const strings = await readSharedStrings(xlsx, workbook.shared_strings, max_url_chars);
    let found: { sheet_name: string; column: UrlColumn; source: Omit<SheetSource, 'xlsx'> } | null = null;
    for (const { name, part } of workbook.sheets) {
      const source = { part, strings, links: await readHyperlinks(xlsx, part), max_url_chars };
      const column = await urlColumnOf({ xlsx, ...source }, wanted);
      if (column && (found === null || column.url_share > 0)) found = { sheet_name: name, column, source };
      if (found && found.column.url_share > 0) break;
    }
    if (found === null && wanted !== null) throw columnNotFound(wanted);
    if (found === null) {
      throw new IntakeError('no_urls', 'No sheet of the workbook has URLs. Upload one with a URL in each row.');
    }
    const { column, sheet_name, source } = found;
    return {
      format: 'xlsx',
      encoding: 'utf-8',
      delimiter: null,
      sheet_name,
      column: { index: column.index, name: column.name },
      other_columns: column.others,
      is_ambiguous: wanted === null && isAmbiguous(column),
      cells: () => columnCells(path, limits, source, column),
    };
  } finally {
    xlsx.close();
  }
}

/** Finds the column from the first rows with URLs. Null when the sheet is empty or no column looks like URLs. */
async function urlColumnOf(source: SheetSource, wanted: string | null): Promise<UrlColumn | null> {
  let first: UrlColumn | null | undefined;
  let rows: SampleRow[] = [];
  let cells: string[] = [];
  let cell_count = 0;
  let char_count = 0;
  const reading = readWorksheet(source, {
    column: null,
    cell(_, column, text) {
      if (column >= SAMPLE_COLUMNS) return;
      while (cells.length < column) cells.push('');
      cells[column] = text;
      char_count += text.length;
    },
    row(row) {
      if (cells.length > 0) rows.push({ row, cells });
      cell_count += cells.length;
      cells = [];
    },
  });
  for (;;) {
    const { done } = await reading.next();
    const is_full = rows.length >= SAMPLE_ROWS || cell_count >= SAMPLE_CELLS || char_count >= SAMPLE_CHARS;
    if ((is_full || done) && rows.length > 0) {
      const column = findUrlColumn(rows, source.max_url_chars, wanted);
      if (column && column.url_share > 0) {
        await reading.return(undefined);
        // Further down a row that looks like a header is data, and the rows before the sample count too.
        return first === undefined ? column : { ...column, name: null, first_data_row: first?.first_data_row ?? 1 };
      }
      if (first === undefined) first = column;
      rows = [];
      cell_count = char_count = 0;
    }
    if (done) return first ?? null;
  }
}

async function* columnCells(
  path: string,
  limits: IntakeLimits,
  source: Omit<SheetSource, 'xlsx'>,
  column: UrlColumn,
): AsyncGenerator<Cell[]> {
  const xlsx = await XlsxPackage.open(path, limits.max_inflated_bytes);
  try {
    let page: Cell[] = [];
    const reading = readWorksheet(
      { xlsx, ...source },
      {
        column: column.index,
        cell(row, _, value) {
          if (row >= column.first_data_row) page.push({ row, value });
        },
      },
    );
    for await (const _ of reading) {
      yield* textsOf(page);
      page = [];
    }
    yield* textsOf(page);
  } finally {
    xlsx.close();
  }
}

/** The texts of cells, in pages that stay small however many URLs a cell has. */
function* textsOf(cells: readonly Cell[]): Generator<Cell[]> {
  let page: Cell[] = [];
  for (const { row, value } of cells) {
    if (isPlain(value)) page.push({ row, value });
    else for (const text of urlsInCell(value).texts) page.push({ row, value: text });
    if (page.length < PAGE_CELLS) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}
