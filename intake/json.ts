// Opens JSON or JSON lines as a table: a column for each path of names, such as `data.url`, and a row for each item of the
// outermost list or for each line. A list of plain texts is a column without a name. An object whose names are numbers is a list
// too, unless it is a line: pandas writes its columns so, and PHP its arrays.
import { Tokenizer, TokenType } from '@streamparser/json';
import { breather } from '../time/event-loop.ts';
import { columnNotFound, IntakeError } from './errors.ts';
import { columnOfLetters, findUrlColumn, lettersOfColumn, type SampleRow } from './find-column.ts';
import { type Cell, describedColumn, type OpenedText, type Sheet } from './sheet.ts';
import { type CellReading, pagesOfTexts } from './sliced-texts.ts';
import { readText } from './text-source.ts';

const MAX_DEPTH = 64;
const MAX_PATH_CHARS = 1_000;
const STRING_BUFFER_BYTES = 4096;
const PIECE_CHARS = 8 * 1024;
const SAMPLE_VALUES = 2_000;
const SAMPLE_COLUMNS = 200;
const SAMPLE_CHARS = 1_000_000;
const INDEX = /^\d+$/;

interface JsonString {
  row: number;
  /** The names on the way to the string, joined by dots. Lists have no name. */
  path: string;
  value: string;
}

export async function openJson(file: OpenedText): Promise<Sheet> {
  const { encoding, limits, column: wanted } = file;
  const { rows, paths } = await sampleOf(file);
  const named = paths.findIndex((path) => path.toLowerCase() === wanted?.trim().toLowerCase());
  const index = named === -1 ? columnOfLetters(wanted ?? '') : named;
  if (wanted !== null && (index === null || index >= paths.length)) {
    throw columnNotFound(
      wanted,
      paths.map((path, i) => path || lettersOfColumn(i)),
    );
  }
  const column = findUrlColumn(rows, limits.max_url_chars, wanted === null ? null : paths[index!]!);
  if (column === null || (column.url_share === 0 && wanted === null)) {
    throw new IntakeError(
      'no_urls',
      'No text in the JSON is a URL. Upload a list of URLs, or of objects with one in each.',
    );
  }
  const path = paths[column.index]!;
  const described = describedColumn(column, wanted);
  const nameOf = (name: string | null) => (name === '' ? null : name);
  return {
    format: 'json',
    encoding,
    delimiter: null,
    sheet_name: null,
    ...described,
    column: { index: column.index, name: nameOf(path) },
    other_columns: column.others.map((other) => ({ ...other, name: nameOf(paths[other.index]!) })),
    cells: () => jsonCells(file, path, column),
  };
}

/** The beginning of the file as a table under a header of paths. */
async function sampleOf(file: OpenedText): Promise<{ rows: SampleRow[]; paths: string[] }> {
  const paths: string[] = [];
  const cells_by_row = new Map<number, string[]>();
  let values = 0;
  let chars = 0;
  for await (const some of stringsOf(file)) {
    for (const { row, path, value } of some) {
      let column = paths.indexOf(path);
      if (column === -1 && paths.length < SAMPLE_COLUMNS) column = paths.push(path) - 1;
      if (column === -1) continue;
      const cells = cells_by_row.get(row) ?? [];
      cells_by_row.set(row, cells);
      while (cells.length < column) cells.push('');
      cells[column] ||= value;
      values++;
      chars += value.length;
    }
    if (values >= SAMPLE_VALUES || chars >= SAMPLE_CHARS) break;
  }
  const rows = [...cells_by_row].map(([row, cells]) => ({ row, cells }));
  return { rows: [{ row: 0, cells: paths }, ...rows], paths };
}

async function* jsonCells(file: OpenedText, wanted: string, reading: CellReading): AsyncGenerator<Cell[]> {
  for await (const some of stringsOf(file)) {
    yield* pagesOfTexts(
      some.filter(({ path, value }) => path === wanted && value.trim() !== ''),
      reading,
    );
  }
}

/** The strings that are values, in order, a page for each piece of the file. */
async function* stringsOf({ source, encoding, limits, head }: OpenedText): AsyncGenerator<JsonString[]> {
  const reader = new StringReader(areLines(head));
  const breathe = breather();
  let bytes_since_token = 0;
  for await (const text of readText(source, encoding)) {
    for (let at = 0; at < text.length; at += PIECE_CHARS) {
      const piece = Buffer.from(text.slice(at, at + PIECE_CHARS).toWellFormed());
      bytes_since_token = reader.write(piece) ? 0 : bytes_since_token + piece.length;
      if (bytes_since_token > limits.max_row_chars) {
        throw new IntakeError('row_too_long', `The JSON has a text longer than ${limits.max_row_chars} bytes.`);
      }
      const page = reader.take();
      if (page.length > 0) yield page;
      await breathe();
    }
  }
  reader.end();
  const page = reader.take();
  if (page.length > 0) yield page;
}

/** Whether the first line is a document, with more below it. */
function areLines(head: string): boolean {
  const text = head.trimStart();
  const end = text.indexOf('\n');
  if (end === -1 || text.slice(end).trim() === '') return false;
  try {
    JSON.parse(text.slice(0, end));
    return true;
  } catch {
    return false;
  }
}

/** Follows the tokens of JSON documents, one behind the other, and keeps the strings that are values. */
class StringReader {
  readonly #tokenizer = new Tokenizer({ stringBufferSize: STRING_BUFFER_BYTES, separator: '' });
  /** The open lists and objects, with the path of their values. */
  readonly #open: { is_list: boolean; has_items: boolean; path: string; name: string | null }[] = [];
  readonly #are_lines: boolean;
  #lists = 0;
  #item = 0;
  #document = 0;
  #found: JsonString[] = [];
  #is_name = false;
  #has_token = false;

  /** `are_lines`: each document is a row, so the names of its object are those of columns, whatever they are. */
  constructor(are_lines: boolean) {
    this.#are_lines = are_lines;
    this.#tokenizer.onToken = ({ token, value }) => {
      this.#has_token = true;
      this.#next(token, value);
    };
    this.#tokenizer.onError = (error) => {
      throw error instanceof IntakeError ? error : notWellFormed(error.message);
    };
  }

  /** Whether a token has ended in the piece. */
  write(piece: Uint8Array): boolean {
    this.#has_token = false;
    this.#tokenizer.write(piece);
    return this.#has_token;
  }
  end(): void {
    if (!this.#tokenizer.isEnded) this.#tokenizer.end();
    if (this.#open.length > 0) broken('it ends too early');
  }
  take(): JsonString[] {
    const found = this.#found;
    this.#found = [];
    return found;
  }

  #next(token: TokenType, value: unknown): void {
    const parent = this.#open.at(-1);
    switch (token) {
      case TokenType.COLON:
        this.#is_name = false;
        return;
      case TokenType.COMMA:
        this.#is_name = parent?.is_list === false;
        return;
      case TokenType.SEPARATOR:
        return;
      case TokenType.RIGHT_BRACE:
      case TokenType.RIGHT_BRACKET:
        this.#close(token === TokenType.RIGHT_BRACKET);
        return;
    }
    if (token === TokenType.STRING && this.#is_name && parent) {
      const is_row = this.#are_lines && this.#open.length === 1;
      if (parent.name === null && this.#lists === 0 && !is_row && INDEX.test(value as string)) this.#beginItems(parent);
      parent.name = value as string;
      return;
    }
    this.#beginValue();
    if (token === TokenType.LEFT_BRACE || token === TokenType.LEFT_BRACKET) this.#openValue(token);
    else if (token === TokenType.STRING) {
      const row = this.#lists > 0 ? this.#item : this.#document;
      this.#found.push({ row, path: this.#path(), value: value as string });
    }
  }

  /** Counts items of the outermost list, and documents. */
  #beginValue(): void {
    if (this.#open.length === 0) this.#document++;
    if (this.#lists === 1 && this.#open.at(-1)!.has_items) this.#item++;
  }
  #beginItems(list: { has_items: boolean }): void {
    list.has_items = true;
    // Lists beside each other in one document are columns of a table; those of further documents go on with its rows.
    if (this.#lists++ === 0 && this.#document === 1) this.#item = 0;
  }
  #path(): string {
    const parent = this.#open.at(-1);
    if (!parent) return '';
    if (parent.has_items || parent.name === null) return parent.path;
    return (parent.path === '' ? parent.name : `${parent.path}.${parent.name}`).slice(0, MAX_PATH_CHARS);
  }
  #openValue(token: TokenType): void {
    if (this.#open.length === MAX_DEPTH) broken('it is nested too deeply');
    const is_list = token === TokenType.LEFT_BRACKET;
    const opened = { is_list, has_items: false, path: this.#path(), name: null };
    this.#open.push(opened);
    if (is_list) this.#beginItems(opened);
    this.#is_name = !is_list;
  }
  #close(is_list: boolean): void {
    const closed = this.#open.pop();
    if (closed?.is_list !== is_list) broken('its brackets do not match');
    if (closed.has_items) this.#lists--;
    this.#is_name = false;
  }
}

function broken(detail: string): never {
  throw notWellFormed(detail);
}

const notWellFormed = (detail: string) =>
  new IntakeError('broken_file', `The JSON is not well-formed: ${detail.slice(0, 200)}.`);
