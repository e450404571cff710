// Parses delimited text into records, leniently and in small pieces: plain rows by themselves, and from the first other row on
// by csv-parse. Errors name the row.
import { CsvError, parse } from 'csv-parse';
import { breather } from '../time/event-loop.ts';
import { IntakeError } from './errors.ts';
import { plainRows } from './plain-rows.ts';

export interface CsvOptions {
  /** One character; null when each line is one cell. */
  delimiter: string | null;
  /** Characters of a record's cells together, without quotes; a character beyond ASCII may count for more. */
  max_row_chars: number;
  /** Whether quotes are those of cells, the default, or of a text. */
  has_quotes?: boolean;
}

export interface CsvRecord {
  /** Number of the row, from 1. Empty lines count; line breaks in quotes start no row. */
  row: number;
  cells: string[];
}

/** A character that no text has, since `readText` refuses files with a NUL. */
const NO_DELIMITER = '\0';
/** The limit of spreadsheets. The text right of the last column stays one cell. */
const MAX_COLUMNS = 16_384;
const [LF, CR] = [10, 13];
/** A piece takes a few milliseconds, also when its rows are short. */
const PARSED_PIECE_CHARS = 8 * 1024;
const PLAIN_PIECE_CHARS = 16 * 1024;
const MAX_BYTES_A_CHAR = 3;
/** Quotes that csv-parse keeps because spaces follow them. */
const SPACES_AFTER_QUOTES = /^"(.*)" +$/s;

/** The records in order, in pages. Throws IntakeError: `row_too_long` or, at the end of the text, `quote_not_closed`. */
export async function* readRecords(
  text: AsyncIterable<string> | Iterable<string>,
  options: CsvOptions,
): AsyncGenerator<CsvRecord[]> {
  const { delimiter } = options;
  const max_row_chars = Math.min(PLAIN_PIECE_CHARS, options.max_row_chars / MAX_BYTES_A_CHAR);
  const { has_quotes = true } = options;
  const plain = { delimiter: delimiter ?? NO_DELIMITER, max_row_chars, max_columns: MAX_COLUMNS, has_quotes };
  const breathe = breather();
  let rest = '';
  let row = 0;
  let parser: Parser | null = null;
  /** Characters since the last change of the reader, and those that csv-parse reads before plain rows are tried again. */
  let [read_chars, patience] = [0, PARSED_PIECE_CHARS];
  for await (const some of text) {
    for (let ahead = some; ahead !== ''; await breathe()) {
      const [piece, behind] = pieceOf(ahead, parser ? PARSED_PIECE_CHARS : PLAIN_PIECE_CHARS);
      read_chars += piece.length;
      ahead = behind;
      if (parser) {
        const records = await parser.read(piece);
        if (records.length === 0) continue;
        yield records;
        row += records.length;
        if (read_chars < patience) continue;
        ahead = parser.rest() + behind;
        parser = null;
      } else {
        const found = plainRows(rest + piece, plain);
        if (found.rows.length > 0) yield found.rows.map((cells) => ({ row: ++row, cells }));
        rest = found.rest;
        if (!found.is_stopped) continue;
        parser = openParser(options, row);
        // Where other rows are frequent, csv-parse is faster alone.
        patience = read_chars - rest.length < patience ? 2 * patience : PARSED_PIECE_CHARS;
        ahead = rest + behind;
        rest = '';
      }
      read_chars = 0;
    }
  }
  parser ??= rest === '' ? null : openParser(options, row);
  if (parser === null) return;
  const last = await parser.end(rest);
  if (last.length > 0) yield last;
}

/** The beginning of a text and what is behind it, between two characters. */
function pieceOf(text: string, max_chars: number): [piece: string, behind: string] {
  const end = (text.charCodeAt(max_chars - 1) & 0xfc00) === HIGH_SURROGATE ? max_chars - 1 : max_chars;
  return [text.slice(0, end), text.slice(end)];
}
const HIGH_SURROGATE = 0xd800;
/** csv-parse looks a few bytes ahead, so that a record may end in a piece before. */
const HELD_BYTES = 64;

type Parser = ReturnType<typeof openParser>;

/** Opens csv-parse for the text behind the first `rows` rows. */
function openParser({ delimiter, max_row_chars, has_quotes = true }: CsvOptions, rows: number) {
  let row = rows;
  let records: CsvRecord[] = [];
  /** The bytes written, and those of them up to the end of the last record. */
  let [written_bytes, ended_bytes] = [0, 0];
  const parser = parse({
    delimiter: delimiter ?? NO_DELIMITER,
    record_delimiter: ['\r\n', '\n', '\r'],
    ltrim: true,
    quote: has_quotes ? '"' : null,
    relax_quotes: true,
    relax_column_count: true,
    ignore_last_delimiters: MAX_COLUMNS,
    max_record_size: max_row_chars,
    on_record(cells: string[], { bytes }) {
      ended_bytes = bytes;
      records.push({ row: ++row, cells: has_quotes ? cells.map(withoutQuotes) : cells });
      // csv-parse makes an unused Error for each record of another width than the first, at twenty times the cost of the
      // record. The reset makes each record the first.
      (parser.info as { records: number }).records = 0;
      return null;
    },
  });
  // csv-parse compares each character with each delimiter. Before the first CR in the text, one of them is enough.
  const { record_delimiter } = parser.options;
  parser.options.record_delimiter = [Buffer.from([LF])];
  parser.on('error', () => {}); // `write` and `end` reject with the same error.
  const settled = (begin: (done: (error?: Error | null) => void) => void) =>
    new Promise<void>((resolve, reject) => begin((error) => (error ? reject(error) : resolve()))).catch((error) => {
      throw asIntakeError(error, row + 1, max_row_chars);
    });
  let last: Buffer = Buffer.alloc(0);
  const write = async (text: string) => {
    const bytes = Buffer.from(text);
    if (bytes.includes(CR)) parser.options.record_delimiter = record_delimiter;
    records = [];
    await settled((done) => parser.write(bytes, done));
    written_bytes += bytes.length;
    last = Buffer.concat([last.subarray(-HELD_BYTES), bytes]);
  };
  return {
    /** The records that have ended. */
    async read(text: string): Promise<CsvRecord[]> {
      await write(text);
      return records;
    },
    /** The text behind the records of the last reading, which needs another parser. */
    rest: () => last.toString('utf8', last.length - (written_bytes - ended_bytes)),
    /** The records of the last text. */
    async end(text: string): Promise<CsvRecord[]> {
      await write(text);
      await settled((done) => parser.end(done));
      return records;
    },
  };
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
