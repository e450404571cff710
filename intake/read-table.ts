// Reads an uploaded table again, whole: every row with all its cells, as a spreadsheet shows them.
import type { JobTable } from '../commands/jobs/intake.ts';
import { readRecords } from './csv-records.ts';
import { IntakeError } from './errors.ts';
import { DECLARATION } from './find-layout.ts';
import { isGzip } from './known-formats.ts';
import type { IntakeLimits } from './limits.ts';
import { odsSheet } from './ods.ts';
import { encodingOfFile, readHead, readText } from './text-source.ts';
import type { CellValue } from './workbook-sheet.ts';
import { xlsxSheet } from './xlsx/xlsx-sheets.ts';
import { ZipPackage } from './zip-package.ts';

export interface TableRow {
  /** The number of the row, as a spreadsheet shows it. */
  row: number;
  /** The cells from the first column on; an empty one is the empty text. */
  cells: readonly CellValue[];
}

type Limits = Pick<IntakeLimits, 'max_inflated_bytes' | 'max_row_chars'>;

/**
 * The rows in order, in pages. A workbook has no rows for empty ones. `path` must stay readable and unchanged meanwhile. Throws
 * IntakeError for faults of the file.
 */
export function readTable(path: string, table: JobTable, limits: Limits): AsyncGenerator<TableRow[]> {
  return table.format === 'csv' ? textRows(path, table, limits) : workbookRows(path, table, limits);
}

async function* textRows(
  path: string,
  { delimiter, encoding: known, sheet, has_quotes = true }: JobTable,
  limits: Limits,
): AsyncGenerator<TableRow[]> {
  const { max_inflated_bytes, max_row_chars } = limits;
  const is_gzip = isGzip(await readHead({ path, is_gzip: false, max_inflated_bytes }));
  const source = { path, is_gzip, max_inflated_bytes, ...(sheet !== null && { part: sheet }) };
  const head = await readHead(source);
  const encoding = known ?? (await encodingOfFile(source, head));
  // The line declares the delimiter of the file, which is no part of the table.
  const declares = DECLARATION.test(new TextDecoder(encoding).decode(head));
  for await (const page of readRecords(readText(source, encoding), { delimiter, max_row_chars, has_quotes })) {
    yield declares ? page.filter(({ row }) => row > 1) : page;
  }
}

async function* workbookRows(path: string, table: JobTable, limits: Limits): AsyncGenerator<TableRow[]> {
  const workbook = await ZipPackage.open(path, limits.max_inflated_bytes);
  try {
    const number = table.sheet ?? 0;
    const sheet = table.format === 'ods' ? odsSheet(number) : await xlsxSheet(workbook, number);
    if (sheet === undefined) throw new IntakeError('broken_xlsx', 'The workbook lacks the sheet that was read before.');
    let page: TableRow[] = [];
    let cells: CellValue[] = [];
    const reading = sheet.read(workbook, {
      column: null,
      cell() {},
      value(_, column, value) {
        while (cells.length < column) cells.push('');
        cells[column] = value;
      },
      row(row) {
        if (cells.length > 0) page.push({ row, cells });
        cells = [];
      },
    });
    for await (const _ of reading) {
      if (page.length > 0) yield page;
      page = [];
    }
    if (page.length > 0) yield page;
  } finally {
    workbook.close();
  }
}
