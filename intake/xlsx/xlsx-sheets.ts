// The sheets of an XLSX workbook.
import { shownFirst, type WorkbookSheet } from '../workbook-sheet.ts';
import type { ZipPackage } from '../zip-package.ts';
import { readDateStyles } from './date-styles.ts';
import { MAX_CELL_CHARS } from './rich-text.ts';
import { readSharedStrings } from './shared-strings.ts';
import { NO_LINKS, readHyperlinks, readWorkbook } from './workbook.ts';
import { readWorksheet } from './worksheet.ts';

export async function* xlsxSheets(workbook: ZipPackage, max_url_chars: number): AsyncGenerator<WorkbookSheet> {
  const { sheets, shared_strings } = await readWorkbook(workbook);
  const strings = await readSharedStrings(workbook, shared_strings, max_url_chars);
  for (const { name, number, part } of shownFirst(sheets)) {
    const source = { part, strings, links: await readHyperlinks(workbook, part), max_url_chars, dates: null };
    yield { name, number, read: (xlsx, handlers) => readWorksheet({ xlsx, ...source }, handlers) };
  }
}

/** The sheet with this number, from 0, for reading what its cells show. Undefined without one. */
export async function xlsxSheet(workbook: ZipPackage, number: number): Promise<WorkbookSheet | undefined> {
  const structure = await readWorkbook(workbook);
  const sheet = structure.sheets[number];
  if (sheet === undefined) return undefined;
  const source = {
    part: sheet.part,
    strings: await readSharedStrings(workbook, structure.shared_strings, MAX_CELL_CHARS),
    links: NO_LINKS,
    max_url_chars: MAX_CELL_CHARS,
    dates: await readDateStyles(workbook, structure),
  };
  return { name: sheet.name, number, read: (xlsx, handlers) => readWorksheet({ xlsx, ...source }, handlers) };
}
