// The formats of a report, by name and by the ending of a file.
import { extname } from 'node:path';
import { COLUMNS, type Column, inert, type Lines, resultsTable } from '../../http/results/export/columns.ts';
import { csvOf } from '../../http/results/export/csv.ts';
import { xlsxOf } from '../../http/results/export/xlsx.ts';
import type { Checked, CheckedUrl } from './checked.ts';
import { githubOf } from './github.ts';
import { htmlOf } from './html.ts';
import { jsonOf } from './json.ts';
import { junitOf } from './junit.ts';
import { markdownOf } from './markdown.ts';
import { sarifOf } from './sarif.ts';
import { type Paint, textOf } from './text.ts';

type Pieces = Iterable<string> | AsyncIterable<string | Buffer>;

/** Each makes a whole file. `paint` colours text for a terminal; only text is coloured. */
const FORMATS = {
  text: textOf,
  json: jsonOf,
  csv: (checked: Checked) => csvOf(tableOf(checked)),
  xlsx: (checked: Checked) => xlsxOf(tableOf(checked)),
  junit: junitOf,
  github: githubOf,
  sarif: sarifOf,
  html: htmlOf,
  markdown: markdownOf,
} satisfies Record<string, (checked: Checked, paint: Paint) => Pieces>;

export type Format = keyof typeof FORMATS;
/** XLSX is no text to print. */
export type PrintFormat = Exclude<Format, 'xlsx'>;
export type FileFormat = Exclude<Format, 'github'>;

const BY_ENDING: Readonly<Record<string, FileFormat>> = {
  '.csv': 'csv',
  '.xlsx': 'xlsx',
  '.json': 'json',
  '.sarif': 'sarif',
  '.xml': 'junit',
  '.html': 'html',
  '.htm': 'html',
  '.txt': 'text',
  '.md': 'markdown',
};

export const isPrintFormat = (name: string): name is PrintFormat => Object.hasOwn(FORMATS, name) && name !== 'xlsx';

export const formatOfFile = (path: string): FileFormat | null => BY_ENDING[extname(path).toLowerCase()] ?? null;

const CHUNK_CHARS = 64 * 1024;

/** Yields the report in pieces of some size. */
export async function* reportOf(checked: Checked, format: Format, paint: Paint): AsyncGenerator<string | Buffer> {
  let text = '';
  for await (const piece of FORMATS[format](checked, paint)) {
    if (typeof piece !== 'string') {
      yield piece;
      continue;
    }
    text += piece;
    if (text.length < CHUNK_CHARS) continue;
    yield text;
    text = '';
  }
  if (text !== '') yield text;
}

/** The columns of the service's export, and the file, because a check may have several. */
const EXPORT_COLUMNS: readonly Column<CheckedUrl>[] = [
  ...COLUMNS,
  { name: 'file', width: 30, cell: ({ file }) => inert(file) },
];

function tableOf({ results, only }: Checked): Lines {
  async function* pages(): AsyncGenerator<CheckedUrl[]> {
    for (const result of results(only ?? undefined)) yield [result];
  }
  return resultsTable(pages(), EXPORT_COLUMNS);
}
