// Opens a workbook, XLSX or ODS, as the cells of the URL column of its first sheet that has one; hidden sheets come last.
import { columnNotFound, IntakeError, sheetNotFound } from './errors.ts';
import {
  findUrlColumn,
  type NamedColumn,
  namesOfColumns,
  type SampleRow,
  sameName,
  type UrlColumn,
} from './find-column.ts';
import { tooLarge } from './inflation.ts';
import type { IntakeLimits } from './limits.ts';
import { isOds, odsSheets } from './ods.ts';
import {
  ALL_COLUMNS,
  type Cell,
  describedColumn,
  headerRow,
  indexesOf,
  type OpenOptions,
  type OtherSheet,
  type Sheet,
} from './sheet.ts';
import { pagesOfTexts } from './sliced-texts.ts';
import type { WorkbookSheet } from './workbook-sheet.ts';
import { xlsxSheets } from './xlsx/xlsx-sheets.ts';
import { ZipPackage } from './zip-package.ts';

const SAMPLE_ROWS = 400;
/** Cells of a sample, all columns together, which bounds its memory and the time to judge it. */
const SAMPLE_CELLS = 20_000;
const SAMPLE_CHARS = 250_000;
/** The limit of spreadsheets: cells without a reference may go on for ever. */
const MAX_COLUMNS = 16_384;
/** The most texts to look at: a small workbook may repeat a cell of many URLs without end. */
const MAX_TEXTS = 1_200_000;
/** The most characters to look at: cells may refer to one long text, or repeat it, a million times. */
const MAX_CHARS = 200_000_000;

export async function openWorkbook(
  path: string,
  limits: IntakeLimits,
  { column = null, sheet: wanted_sheet = null }: OpenOptions,
): Promise<Sheet> {
  const takes_all = column === ALL_COLUMNS;
  const wanted = takes_all ? null : column;
  const workbook = await ZipPackage.open(path, limits.max_inflated_bytes);
  try {
    const is_ods = await isOds(workbook);
    let found: Found | null = null;
    const names: string[] = [];
    const others: OtherSheet[] = [];
    const search: Search = { max_url_chars: limits.max_url_chars, wanted, names: new Set(), chars_left: MAX_CHARS };
    for await (const sheet of is_ods ? odsSheets(workbook) : xlsxSheets(workbook, limits.max_url_chars)) {
      names.push(sheet.name);
      const may_be_it = wanted_sheet === null ? isDoubtful(found) : sameName(sheet.name, wanted_sheet);
      if (may_be_it) {
        const column = await urlColumnOf(sheet, workbook, search);
        const next: Found | null = column && (found === null || column.url_share > 0) ? { sheet, column } : null;
        if (next === null) continue;
        // Names of sites are what is meant only where no sheet has URLs.
        const is_better: boolean = found === null || found.column.url_share === 0 || !column!.has_names_only;
        const other: Found | null = is_better ? found : next;
        if (other && other.column.url_share > 0) others.push(otherSheet(other.sheet, other.column));
        if (is_better) found = next;
      } else if (others.length < MAX_OTHER_SHEETS) {
        const column = await firstUrlColumn(sheet, workbook, search);
        if (column) others.push(otherSheet(sheet, column));
      }
      if (found && others.length === MAX_OTHER_SHEETS) break;
    }
    if (wanted_sheet !== null && !names.some((name) => sameName(name, wanted_sheet))) {
      throw sheetNotFound(wanted_sheet, names);
    }
    if (found === null && wanted !== null) throw columnNotFound(wanted, [...search.names]);
    if (found === null) {
      throw new IntakeError('no_urls', 'No sheet of the workbook has URLs. Upload one with a URL in each row.');
    }
    const { column, sheet } = found;
    const format = is_ods ? ('ods' as const) : ('xlsx' as const);
    const widest = { columns: 1 };
    const described = describedColumn(column, { wanted, takes_all });
    const table = {
      ...{ format, delimiter: null, sheet: sheet.number, column: column.index },
      header_row: headerRow(column),
    };
    return {
      format,
      encoding: 'utf-8',
      delimiter: null,
      sheet_name: sheet.name,
      ...described,
      other_sheets: others,
      warnings:
        others.length > 0 && wanted_sheet === null ? [...described.warnings, 'several_sheets'] : described.warnings,
      cells: () => columnCells(path, limits, { sheet, column, takes_all }, widest),
      table: () => ({ ...table, width: Math.max(widest.columns, column.index + 1) }),
    };
  } finally {
    workbook.close();
  }
}

interface Found {
  sheet: WorkbookSheet;
  column: UrlColumn;
}

/** Whether a further sheet may have the URLs that are meant. */
const isDoubtful = (found: Found | null): boolean =>
  found === null || found.column.url_share === 0 || found.column.has_names_only;

const otherSheet = ({ name }: WorkbookSheet, column: NamedColumn): OtherSheet => ({
  ...{ index: column.index, name: column.name, url_share: column.url_share },
  sheet_name: name,
});

/** Other sheets that are named to the client. */
const MAX_OTHER_SHEETS = 20;

/** The likeliest column at the beginning of a sheet that is not taken; null without URLs there. */
async function firstUrlColumn(sheet: WorkbookSheet, workbook: ZipPackage, search: Search): Promise<NamedColumn | null> {
  const first = {
    ...search,
    wanted: null,
    names: new Set<string>(),
    chars_left: Math.min(search.chars_left, SAMPLE_CHARS),
  };
  const column = await urlColumnOf(sheet, workbook, first, true);
  search.chars_left -= SAMPLE_CHARS - first.chars_left;
  return column && column.url_share > 0 ? column : null;
}

interface Search {
  max_url_chars: number;
  wanted: string | null;
  /** The columns at the beginning of the sheets searched, by their headers or letters. */
  names: Set<string>;
  /** Characters that the search may still look at, in all sheets together. */
  chars_left: number;
}

/** Finds the column from the first rows with URLs, or from the first rows. Null when the sheet is empty or no column looks like URLs. */
async function urlColumnOf(
  sheet: WorkbookSheet,
  workbook: ZipPackage,
  search: Search,
  at_beginning = false,
): Promise<UrlColumn | null> {
  const { max_url_chars, wanted } = search;
  let first: UrlColumn | null | undefined;
  let rows: SampleRow[] = [];
  let cells: string[] = [];
  let cell_count = 0;
  let char_count = 0;
  const reading = sheet.read(workbook, {
    column: null,
    cell(_, column, text, refused) {
      if (column >= MAX_COLUMNS) return;
      while (cells.length < column) cells.push('');
      // A formula that nobody has calculated may hold a URL, but has none to check.
      cells[column] = refused === undefined ? text : '';
      char_count += text.length;
      search.chars_left -= text.length;
    },
    row(row) {
      if (cells.length > 0) rows.push({ row, cells });
      cell_count += cells.length;
      cells = [];
    },
  });
  for (;;) {
    const done = (await reading.next()).done || search.chars_left <= 0;
    const is_full = rows.length >= SAMPLE_ROWS || cell_count >= SAMPLE_CELLS || char_count >= SAMPLE_CHARS;
    if ((is_full || done) && rows.length > 0) {
      const column = findUrlColumn(rows, max_url_chars, wanted);
      if (wanted !== null && column === null && first === undefined) {
        const likeliest = findUrlColumn(rows, max_url_chars);
        for (const name of namesOfColumns(rows, likeliest)) search.names.add(name);
      }
      if (column && column.url_share > 0) {
        await reading.return(undefined);
        if (first === undefined) return column;
        // Further down a row that looks like a header is data, and the rows before the sample count too.
        return { ...column, name: null, header: null, first_data_row: first?.first_data_row ?? 1 };
      }
      if (first === undefined) first = column;
      if (at_beginning) {
        await reading.return(undefined);
        return first;
      }
      rows = [];
      cell_count = char_count = 0;
    }
    if (!done) continue;
    await reading.return(undefined);
    return first ?? null;
  }
}

async function* columnCells(
  path: string,
  limits: IntakeLimits,
  { sheet, column, takes_all }: Found & { takes_all: boolean },
  widest: { columns: number },
): AsyncGenerator<Cell[]> {
  const workbook = await ZipPackage.open(path, limits.max_inflated_bytes);
  const indexes = takes_all ? indexesOf(column) : [column.index];
  let texts = 0;
  let chars = 0;
  const counted = async function* (cells: readonly Cell[]) {
    for await (const page of pagesOfTexts(cells, column)) {
      texts += page.length;
      if (texts > MAX_TEXTS) throw tooManyTexts();
      yield page;
    }
  };
  try {
    let page: Cell[] = [];
    const reading = sheet.read(workbook, {
      column: takes_all ? null : column.index,
      filled(index) {
        if (index >= widest.columns && index < MAX_COLUMNS) widest.columns = index + 1;
      },
      cell(row, index, value, refused) {
        if (row < column.first_data_row) return;
        // A column may have its first URL far below the beginning.
        if (!indexes.includes(index) && !value.includes('://')) return;
        const place = takes_all ? { row, column: index } : { row };
        page.push(refused === undefined ? { ...place, value } : { ...place, value, refused });
        chars += value.length;
        if (chars > MAX_CHARS) throw tooLarge(MAX_CHARS);
      },
    });
    for await (const _ of reading) {
      yield* counted(page);
      page = [];
    }
    yield* counted(page);
  } finally {
    workbook.close();
  }
}

const tooManyTexts = () =>
  new IntakeError('too_many_urls', `The cells of the column hold more than ${MAX_TEXTS.toLocaleString('en')} texts.`);
