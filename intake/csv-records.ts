// Delimited text to records, by csv-parse: as lenient as uploads need it, a piece at a time, its errors named by row.
import { CsvError, parse } from 'csv-parse';
import { IntakeError } from './errors.ts';
import { breather } from './event-loop.ts';

export interface CsvOptions {
  /** One character; null where each line is one cell. */
  delimiter: string | null;
  /** Of the cells of a record without their quotes; what is beyond ASCII may count for more. */
  max_row_chars: number;
}

export interface CsvRecord {
  /** From 1. Empty lines are rows; line breaks in quotes begin none. */
  row: number;
  cells: string[];
}

/** What no text has: `readText` turns files with a NUL away. */
const NO_DELIMITER = '\0';
/** As in a spreadsheet; what is to the right of them stays one cell. */
const MAX_COLUMNS = 16_384;
/** Even of the shortest rows these take a few milliseconds. */
const PIECE_BYTES = 8 * 1024;
/** Which quotes csv-parse leaves where they are, because of what is after them. */
const SPACES_AFTER_QUOTES = /^"(.*)" +$/s;

/** The records in order, in pages. Throws IntakeError: `row_too_long` or, at the end of the text, `quote_not_closed`. */
export async function* readRecords(
  text: AsyncIterable<string> | Iterable<string>,
  { delimiter, max_row_chars }: CsvOptions,
): AsyncGenerator<CsvRecord[]> {
  let row = 0;
  let page: CsvRecord[] = [];
  const parser = parse({
    delimiter: delimiter ?? NO_DELIMITER,
    record_delimiter: ['\r\n', '\n', '\r'],
    ltrim: true,
    relax_quotes: true,
    relax_column_count: true,
    ignore_last_delimiters: MAX_COLUMNS,
    max_record_size: max_row_chars,
    on_record(cells: string[]) {
      page.push({ row: ++row, cells: cells.map(withoutQuotes) });
      // For each record that is not as wide as the first, csv-parse makes an Error that nobody sees: twenty times the
      // work of the record itself. So each is the first.
      (parser.info as { records: number }).records = 0;
      return null;
    },
  });
  parser.on('error', () => {}); // Those who wait for `write` or `end` get it too.
  const write = (piece: Buffer) =>
    new Promise<void>((resolve, reject) => parser.write(piece, (error) => (error ? reject(error) : resolve())));
  const end = () =>
    new Promise<void>((resolve, reject) => parser.end((error?: Error | null) => (error ? reject(error) : resolve())));
  const inRow = (error: unknown) => {
    throw asIntakeError(error, row + 1, max_row_chars);
  };

  const breathe = breather();
  for await (const some of text) {
    const bytes = Buffer.from(some);
    for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
      await write(bytes.subarray(start, start + PIECE_BYTES)).catch(inRow);
      if (page.length > 0) yield page;
      page = [];
      await breathe();
    }
  }
  await end().catch(inRow);
  if (page.length > 0) yield page;
}

function withoutQuotes(cell: string): string {
  return cell.endsWith(' ') ? cell.replace(SPACES_AFTER_QUOTES, '$1') : cell;
}

function asIntakeError(error: unknown, row: number, max_row_chars: number): unknown {
  if (!(error instanceof CsvError)) return error;
  if (error.code === 'CSV_MAX_RECORD_SIZE') {
    return new IntakeError(
      'row_too_long',
      `Row ${row} is longer than ${max_row_chars} characters. Put each URL on a line of its own, or in a row of a ` +
        'CSV file, and close each quote.',
      { cause: error },
    );
  }
  if (error.code === 'CSV_QUOTE_NOT_CLOSED') {
    return new IntakeError(
      'quote_not_closed',
      `Row ${row} has a cell that begins with a quote and never ends. Close the quote, or remove it.`,
      { cause: error },
    );
  }
  return error;
}
