// Opens a CSV or text file as the cells of its URL column.
import { readRecords } from './csv-records.ts';
import { IntakeError } from './errors.ts';
import { findLayout, type SampledFile, type TextLayout } from './find-layout.ts';
import type { IntakeLimits } from './limits.ts';
import type { Cell, Sheet } from './sheet.ts';
import { assertText, CHUNK_BYTES, encodingOf, readText, type TextEncoding } from './text-source.ts';

const NO_HINT = -1;
/** Matches text that may be a URL, before the text is split into cells. */
const URL_HINT = /https?:\/\/|www\.|[\p{L}\p{N}]\.\p{L}{2}/iu;

export async function openTextSheet(
  path: string,
  filename: string,
  head: Buffer,
  limits: IntakeLimits,
): Promise<Sheet> {
  const encoding = encodingOf(head);
  assertText(head, encoding);
  const whole = head.length < CHUNK_BYTES;
  const file = { filename, whole, max_url_chars: limits.max_url_chars };
  const { delimiter, column } = await layoutOf(path, encoding, file);
  return {
    format: 'csv',
    encoding,
    delimiter,
    sheet_name: null,
    column: { index: column.index, name: column.name },
    cells: () => textCells(path, encoding, { delimiter, column }, limits),
  };
}

/** Finds the layout at the beginning of the file or, if that has no URLs, at the first ones. */
async function layoutOf(path: string, encoding: TextEncoding, file: SampledFile): Promise<TextLayout> {
  let first: TextLayout | null = null;
  let at_beginning = true;
  let blank = true;
  for await (const text of readText(path, encoding)) {
    const start = at_beginning ? 0 : startOfHint(text);
    blank &&= text.trim() === '';
    if (start !== NO_HINT) {
      const layout = await findLayout({ ...file, text: text.slice(start) });
      if (at_beginning) first = layout;
      if (layout !== null && layout.column.url_share > 0) return at_beginning ? layout : withHeaderOf(first, layout);
    }
    at_beginning = false;
  }
  if (blank) throw new IntakeError('empty_file', 'The file is empty. Upload a file with one URL in each row.');
  if (first === null) {
    throw new IntakeError('no_urls', 'No column of the file has URLs. Upload a file with one URL in each row.');
  }
  return first;
}

/** Takes the header from the beginning of the file: a row in the middle of it only looks like a header. */
function withHeaderOf(first: TextLayout | null, layout: TextLayout): TextLayout {
  const header = first?.column.index === layout.column.index ? first.column : { name: null, first_data_row: 1 };
  return { ...layout, column: { ...layout.column, name: header.name, first_data_row: header.first_data_row } };
}

function startOfHint(text: string): number {
  const hint = text.search(URL_HINT);
  return hint === -1 ? NO_HINT : text.lastIndexOf('\n', hint) + 1;
}

async function* textCells(
  path: string,
  encoding: TextEncoding,
  { delimiter, column }: TextLayout,
  limits: IntakeLimits,
): AsyncGenerator<Cell[]> {
  const records = readRecords(readText(path, encoding), { delimiter, max_row_chars: limits.max_row_chars });
  for await (const some of records) {
    const page: Cell[] = [];
    for (const { row, cells } of some) {
      const value = cells[column.index];
      if (value !== undefined && row >= column.first_data_row && value.trim() !== '') page.push({ row, value });
    }
    if (page.length > 0) yield page;
  }
}
