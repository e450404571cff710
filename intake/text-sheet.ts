// Opens a CSV or text file as the cells of its URL column.

import { breather } from '../time/event-loop.ts';
import { beginsLikeUrl, isAttempt, isPlain } from './cell-urls.ts';
import { readRecords } from './csv-records.ts';
import { columnNotFound, IntakeError } from './errors.ts';
import { columnsOfText, findLayout, type TextLayout } from './find-layout.ts';
import { type Cell, describedColumn, headerRow, indexesOf, type OpenedText, type Sheet } from './sheet.ts';
import { slicedTexts, textOf } from './sliced-texts.ts';
import { readText } from './text-source.ts';

const PAGE_CELLS = 1_000;
const NO_HINT = -1;
/** Match text that is a URL and that may be one, before the text is split into cells. */
const URL_HINTS = [/https?:\/\/|www\./i, /[\p{L}\p{N}]\.\p{L}{2}/iu];
/** The beginning of a file that tells what the columns are, when its first URL stands far below. */
const BEGINNING = /^(?:[^\n]{0,2000}\n){0,20}/;

export async function openTextSheet(file: OpenedText): Promise<Sheet> {
  const { encoding, column: wanted, takes_all } = file;
  const layout = await layoutOf(file);
  const { delimiter, column } = layout;
  const widest = { columns: 1 };
  const table = () => ({
    ...(encoding !== 'utf-8' && { encoding }),
    ...(!layout.has_quotes && { has_quotes: false }),
    ...{ format: 'csv' as const, delimiter, sheet: file.source.part ?? null, column: column.index },
    ...{ header_row: headerRow(column), width: Math.max(widest.columns, column.index + 1) },
  });
  return {
    format: layout.is_prose ? 'text' : 'csv',
    encoding,
    delimiter,
    sheet_name: null,
    ...describedColumn(column, { wanted, takes_all }),
    cells: () => textCells(file, layout, widest),
    ...(layout.is_prose ? {} : { table }),
  };
}

/** Finds the layout at the beginning of the file or, if that has no URLs, at the first ones. */
async function layoutOf({
  source,
  encoding,
  head,
  is_whole,
  filename,
  limits,
  column,
}: OpenedText): Promise<TextLayout> {
  const file = { filename, whole: is_whole, max_url_chars: limits.max_url_chars, wanted: column };
  let first: TextLayout | null = null;
  let beginning: string | null = null;
  let blank = true;
  let quotes = 0;
  for await (const text of readText(source, encoding)) {
    blank &&= text.trim() === '';
    if (beginning === null) {
      beginning = BEGINNING.exec(text)![0];
      first = await findLayout({ ...file, text });
      if (first !== null && first.column.url_share > 0) return first;
    }
    const start = startOfHint(text);
    const quotes_above = quotes + quotesIn(text.slice(0, start));
    quotes += quotesIn(text);
    if (start === NO_HINT) continue;
    const top = isOpen(quotes_above) ? beginning : closedLines(beginning);
    const below = { ...file, whole: is_whole || text.endsWith('\n'), text: text.slice(start) };
    const whole = start < beginning.length ? null : await findLayout({ ...below, text: top + below.text });
    if (whole !== null && whole.column.url_share > 0) return isCell(first, whole) ? first : withQuotesOf(first, whole);
    const layout = await findLayout(below);
    if (layout !== null && layout.column.url_share > 0)
      return isCell(first, layout) ? first : withQuotesOf(first, withHeaderOf(first, layout));
  }
  if (blank) throw new IntakeError('empty_file', 'The file is empty. Upload a file with one URL in each row.');
  if (first === null && column !== null) {
    throw columnNotFound(column, await columnsOfText({ ...file, text: head }));
  }
  if (first === null) {
    throw new IntakeError('no_urls', 'No column of the file has URLs. Upload a file with one URL in each row.');
  }
  return first;
}

/** Whether the lines of a quoted cell look like rows with another delimiter. */
const isCell = (first: TextLayout | null, layout: TextLayout): first is TextLayout =>
  first !== null && first.delimiter !== null && first.column.name !== null && first.delimiter !== layout.delimiter;

/** The lines without a quoted cell that goes on below them. */
function closedLines(text: string): string {
  let end = text.length;
  while (isOpen(quotesIn(text.slice(0, end)))) end = text.lastIndexOf('\n', end - 2) + 1;
  return text.slice(0, end);
}
const quotesIn = (text: string) => text.split('"').length - 1;
/** Whether a quoted cell goes on behind so many quotes. */
const isOpen = (quotes: number) => quotes % 2 === 1;

/** A mere quote at the beginning makes all quotes mere ones. */
const withQuotesOf = (first: TextLayout | null, layout: TextLayout): TextLayout =>
  first?.delimiter === layout.delimiter && !first.has_quotes ? { ...layout, has_quotes: false } : layout;

/** Takes the header from the beginning of the file: a row in the middle of it only looks like a header. */
function withHeaderOf(first: TextLayout | null, layout: TextLayout): TextLayout {
  const header = first?.column.index === layout.column.index ? first.column : { name: null, first_data_row: 1 };
  return { ...layout, column: { ...layout.column, name: header.name, first_data_row: header.first_data_row } };
}

/** Where the line with the first URL begins or, without one, that with the first text that may be one. */
function startOfHint(text: string): number {
  for (const hint of URL_HINTS) {
    const found = text.search(hint);
    if (found !== -1) return text.lastIndexOf('\n', found) + 1;
  }
  return NO_HINT;
}

async function* textCells(
  { source, encoding, limits, takes_all }: OpenedText,
  layout: TextLayout,
  widest: { columns: number },
): AsyncGenerator<Cell[]> {
  const { delimiter, column, is_prose, has_quotes } = layout;
  // In a table with bars, the rule below the header is no text.
  const may_be_plain = !is_prose && delimiter !== '|';
  const reading = { has_notes: is_prose || column.has_notes, takes_names: !is_prose && column.takes_names };
  const indexes = takes_all ? indexesOf(column) : [column.index];
  const last = column.header === null ? -1 : column.header.length - 1;
  /** The column most of whose cells are taken as they stand. */
  const simple = !takes_all && reading.takes_names && may_be_plain ? column.index : null;
  const placeOf = (row: number, index: number) => (takes_all ? { row, column: index } : { row });
  const breathe = breather();
  const options = { delimiter, max_row_chars: limits.max_row_chars, has_quotes: has_quotes && !is_prose };
  const records = readRecords(readText(source, encoding), options);
  for await (const some of records) {
    let page: Cell[] = [];
    for (const { row, cells } of some) {
      if (cells.length > widest.columns) widest.columns = cells.length;
      if (row < column.first_data_row) continue;
      const plain = simple === null ? undefined : cells[simple];
      if (plain !== undefined && (simple !== last || cells.length === last + 1) && isPlain(plain)) {
        page.push({ row, value: plain });
        continue;
      }
      // A column may have its first URL far below the beginning.
      for (const index of takes_all ? cells.keys() : indexes) {
        const value = cells[index];
        if (value === undefined || (!indexes.includes(index) && !holdsUrl(value))) continue;
        const has_more = index === last && cells.length > index + 1;
        if (may_be_plain && !has_more && isPlain(value)) {
          page.push({ ...placeOf(row, index), ...textOf(value, reading) });
          continue;
        }
        for (const text of has_more && !is_prose ? lastTexts(cells, index, delimiter!) : [value]) {
          if (text.trim() === '' || (delimiter === '|' && RULE.test(text))) continue;
          for (const texts of slicedTexts(text, reading, is_prose)) {
            for (const one of texts) {
              const is_own = indexes.includes(index) && !is_prose;
              if (is_own || (isAttempt(one.value) && one.refused !== 'prefix_missing'))
                page.push({ ...placeOf(row, index), ...one });
            }
            const pause = breathe();
            if (pause === undefined && page.length < PAGE_CELLS) continue;
            await pause;
            yield page;
            page = [];
          }
        }
      }
    }
    if (page.length > 0) yield page;
  }
}

const holdsUrl = (cell: string): boolean => cell.includes('://') || /\bwww\./i.test(cell);

/** The rule below the header of a Markdown table. */
const RULE = /^\s*:?-{3,}:?\s*$/;
/** The rest of a URL that the delimiter has cut: no blank in it, and no mere word or number. */
const REST = /^(?=.*[./=&?%-])[^\s"<>]+$/;

/**
 * The texts in the last column of a row that is wider than its header: several URLs that are not quoted, or one with the delimiter in it.
 */
function lastTexts(cells: readonly string[], index: number, delimiter: string): string[] {
  const texts = [cells[index] ?? ''];
  for (const cell of cells.slice(index + 1)) {
    if (beginsLikeUrl(cell.trim())) texts.push(cell);
    else if (beginsLikeUrl(texts.at(-1)!) && REST.test(cell)) texts.push(`${texts.pop()}${delimiter}${cell}`);
    else texts.push('');
  }
  return texts;
}
