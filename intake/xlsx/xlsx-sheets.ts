// The sheets of an XLSX workbook, in their order.
import type { WorkbookSheet } from '../workbook-sheet.ts';
import type { ZipPackage } from '../zip-package.ts';
import { readSharedStrings } from './shared-strings.ts';
import { readHyperlinks, readWorkbook } from './workbook.ts';
import { readWorksheet } from './worksheet.ts';

export async function* xlsxSheets(workbook: ZipPackage, max_url_chars: number): AsyncGenerator<WorkbookSheet> {
  const { sheets, shared_strings } = await readWorkbook(workbook);
  const strings = await readSharedStrings(workbook, shared_strings, max_url_chars);
  for (const { name, part } of sheets) {
    const source = { part, strings, links: await readHyperlinks(workbook, part), max_url_chars };
    yield { name, read: (xlsx, handlers) => readWorksheet({ xlsx, ...source }, handlers) };
  }
}
