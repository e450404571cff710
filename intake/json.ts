// Opens JSON or JSON lines as the URLs of one column, or of all. A list of plain texts is a column without a name.
import { breather } from '../time/event-loop.ts';
import { beginsLikeUrl, isAttempt } from './cell-urls.ts';
import { columnNotFound, IntakeError } from './errors.ts';
import {
  columnOfLetters,
  findUrlColumn,
  lettersOfColumn,
  type SampleRow,
  tellsOfUrls,
  type UrlColumn,
} from './find-column.ts';
import { type JsonString, JsonStrings, MAP } from './json-strings.ts';
import { type Cell, describedColumn, indexesOf, type OpenedText, type Sheet } from './sheet.ts';
import { type CellReading, pagesOfTexts } from './sliced-texts.ts';
import { readText } from './text-source.ts';

const PIECE_CHARS = 8 * 1024;
const SAMPLE_VALUES = 2_000;
const SAMPLE_COLUMNS = 200;
const SAMPLE_CHARS = 1_000_000;

export async function openJson(file: OpenedText): Promise<Sheet> {
  const { encoding, limits, column: wanted, takes_all } = file;
  const { rows, columns } = await sampleOf(file);
  const names = columns.map(({ path }) => path);
  const paths = columns.flatMap((column) => [...column.paths]);
  const wanted_path = paths.find((path) => path.toLowerCase() === wanted?.trim().toLowerCase());
  const lettered = wanted_path === undefined ? columnOfLetters(wanted ?? '') : null;
  const index = wanted_path === undefined ? lettered : columns.findIndex((column) => column.paths.has(wanted_path));
  if (wanted !== null && (index === null || index >= columns.length)) {
    throw columnNotFound(
      wanted,
      paths.map((path, i) => path || lettersOfColumn(i)),
    );
  }
  const column = findUrlColumn(rows, limits.max_url_chars, wanted === null ? null : names[index!]!);
  if (column === null || (column.url_share === 0 && wanted === null)) {
    throw new IntakeError(
      'no_urls',
      'No text in the JSON is a URL. Upload a list of URLs, or of objects with one in each.',
    );
  }
  const are_lists = wanted === null && areListsOfUrls(rows, columns);
  const takes_row = takes_all || isRowOfUrls(column, columns);
  const beside = wanted === null ? alternativesOf(column, rows) : [];
  const taken = are_lists ? [...columns.keys()] : takes_row ? indexesOf(column) : [column.index, ...beside];
  const families = new Set(taken.map((one) => columns[one]!.family));
  const described = describedColumn(column, { wanted, takes_all: families.size > 1 });
  const nameOf = (name: string) => (name === '' ? null : name);
  const isTaken = ({ family, path, value, is_item }: JsonString) =>
    // The sample does not have all lists.
    (families.has(family) || (are_lists && is_item === true)) &&
    (wanted_path === undefined || path === wanted_path) &&
    (family === MAP ? isAttempt(value) : value.trim() !== '');
  return {
    format: 'json',
    encoding,
    delimiter: null,
    sheet_name: null,
    ...described,
    column: { index: column.index, name: nameOf(wanted_path ?? names[column.index]!) },
    other_columns: column.others
      .filter((other) => !families.has(columns[other.index]!.family))
      .map((other) => ({ ...other, name: nameOf(names[other.index]!) })),
    cells: () => jsonCells(file, isTaken, column),
  };
}

/**
 * The columns that stand for the one taken in the rows that lack it, as where some items of a list are URLs and others objects with one: their
 * names tell of URLs too, and no row has both.
 */
const alternativesOf = ({ index, others }: UrlColumn, rows: readonly SampleRow[]): number[] =>
  others
    .filter(({ name }) => !name || tellsOfUrls(name))
    .map((other) => other.index)
    .filter(
      (other) => !rows.some(({ cells }) => beginsLikeUrl(cells[other] ?? '') && beginsLikeUrl(cells[index] ?? '')),
    );

/** Whether there are lists beside each other, each with URLs, which are no columns of a table. */
const areListsOfUrls = ([, ...rows]: readonly SampleRow[], columns: readonly JsonColumn[]): boolean =>
  columns.length > 1 &&
  columns.every(({ is_item }, i) => is_item && rows.some(({ cells }) => beginsLikeUrl(cells[i] ?? '')));

/** Whether the lists in a list are URLs and nothing else, and so no rows of a table. */
function isRowOfUrls({ index, others }: UrlColumn, columns: readonly JsonColumn[]): boolean {
  const ROW = /^(.*)\[\d+\]$/;
  const row = ROW.exec(columns[index]!.path)?.[1];
  if (row === undefined) return false;
  const beside = columns.filter(({ path }) => ROW.exec(path)?.[1] === row);
  return beside.length === others.filter((other) => beside.includes(columns[other.index]!)).length + 1;
}

/** The strings of one family; `path` is the first one's. */
interface JsonColumn {
  family: string;
  path: string;
  paths: Set<string>;
  is_item: boolean;
}

/** The beginning of the file as a table under a header of paths. */
async function sampleOf(file: OpenedText): Promise<{ rows: SampleRow[]; columns: JsonColumn[] }> {
  const columns = new Map<string, JsonColumn & { index: number }>();
  const cells_by_row = new Map<number, string[]>();
  let values = 0;
  let chars = 0;
  for await (const some of stringsOf(file)) {
    for (const { row, path, family, value, is_item = false } of some) {
      let column = columns.get(family);
      if (column === undefined) {
        if (columns.size === SAMPLE_COLUMNS) continue;
        column = { family, path, paths: new Set(), is_item, index: columns.size };
        columns.set(family, column);
      }
      if (column.paths.size < SAMPLE_COLUMNS) column.paths.add(path);
      const cells = cells_by_row.get(row) ?? [];
      cells_by_row.set(row, cells);
      while (cells.length <= column.index) cells.push('');
      if (rank(value) > rank(cells[column.index]!)) cells[column.index] = value;
      values++;
      chars += value.length;
    }
    if (values >= SAMPLE_VALUES || chars >= SAMPLE_CHARS) break;
  }
  const rows = [...cells_by_row].map(([row, cells]) => ({ row, cells }));
  const header = [...columns.values()].map(({ path }) => path);
  return { rows: [{ row: 0, cells: header }, ...rows], columns: [...columns.values()] };
}

/** The likeliest URL of a row stands for the others of its column. */
const rank = (value: string): number => (beginsLikeUrl(value) ? 3 : isAttempt(value) ? 2 : value === '' ? 0 : 1);

async function* jsonCells(
  file: OpenedText,
  isTaken: (string: JsonString) => boolean,
  reading: CellReading,
): AsyncGenerator<Cell[]> {
  for await (const some of stringsOf(file)) {
    yield* pagesOfTexts(
      // The first list of a list of lists may be a header.
      some
        .filter((one) => isTaken(one) && (one.row > 1 || !one.path.endsWith(']') || isAttempt(one.value)))
        .map(({ row, value }) => ({ row, value })),
      reading,
    );
  }
}

/** The strings that are values, in order, a page for each piece of the file. */
async function* stringsOf({ source, encoding, limits, head }: OpenedText): AsyncGenerator<JsonString[]> {
  const reader = new JsonStrings(areLines(head));
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
