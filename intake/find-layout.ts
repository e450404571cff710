// Finds the delimiter and the URL column of a text file from a sample.
import { beginsLikeUrl, urlsInCell } from './cell-urls.ts';
import { readRecords } from './csv-records.ts';
import { IntakeError } from './errors.ts';
import {
  cellLikeness,
  findUrlColumn,
  haveNotes,
  isColumnName,
  namesOfColumns,
  PROSE_LIKENESS,
  type SampleRow,
  type UrlColumn,
} from './find-column.ts';

export interface TextLayout {
  /** Null when each line is one cell. */
  delimiter: string | null;
  column: UrlColumn;
  /** Whether the file is prose or Markdown, whose lines without a URL are no rows. */
  is_prose: boolean;
  /** Whether quotes are those of cells. */
  has_quotes: boolean;
}

export interface SampledFile {
  /** Whether the sample is the whole file, so that its last line is complete. */
  whole: boolean;
  filename: string;
  max_url_chars: number;
  /** The header or the letter of the column to take; null for the likeliest one. */
  wanted: string | null;
}

export interface SampleText extends SampledFile {
  /** The text to sample; `findLayout` reads its beginning only. */
  text: string;
}

interface Candidate extends TextLayout {
  /** Whether the sample looks like a table: a header of several cells, or rows of equal width. */
  evidence: boolean;
  /** Cells beside the URLs that hold other delimiters, per row. */
  leftovers: number;
  /** Rows of the sample. */
  rows: number;
  /** Whether URLs stand beside the column, but in no column of their own, so that the lines are no rows. */
  loses_urls: boolean;
}

/** Ordered by how rarely URLs contain them. A space is one only in tables such as R writes. */
const DELIMITERS = ['\t', '|', '^', ';', ',', ' '];
/** The declared delimiter is no quote, no character of URLs and no half of a surrogate pair. */
export const DECLARATION = /^sep=([\t ]|[^\p{L}\p{N}\p{C}\p{Z}"/:.])\r?\n/iu;
const SAMPLE_ROWS = 400;
const SAMPLE_CHARS = 64 * 1024;
const SAMPLE_MAX_ROW_CHARS = 4 * SAMPLE_CHARS;
const CONSISTENT_SHARE = 0.9;

/**
 * Returns the layout, or null when no column looks like URLs or none is the wanted one. A comma or semicolon may be part of
 * the URLs of a bare list, so it is a delimiter only if the sample looks like a table or fewer cells would be URLs without it.
 */
export async function findLayout(file: SampleText): Promise<TextLayout | null> {
  const whole = file.whole && file.text.length <= SAMPLE_CHARS;
  const sample = { ...file, text: file.text.slice(0, SAMPLE_CHARS), whole };
  const declared = DECLARATION.exec(sample.text);
  if (declared) return declaredLayout(sample, declared[1]!);
  if (file.wanted !== null) return wantedLayout(sample, file.wanted);

  const bare = await candidate(sample, null);
  const is_named_table = /\.(?:csv|tsv)$/i.test(sample.filename);
  if (bare?.is_prose && !is_named_table && (isMarkupName(sample.filename) || sample.text.split('\n').some(isMarkdown)))
    return bare;
  const tables: Candidate[] = [];
  for (const delimiter of DELIMITERS) {
    const table = sample.text.includes(delimiter) ? await candidate(sample, delimiter) : null;
    if (table === null || (bare !== null && table.loses_urls && !(is_named_table && isClearTable(table, bare))))
      continue;
    if (bare === null || table.evidence || table.column.url_share > bare.column.url_share) tables.push(table);
  }
  if (tables.length === 0) return bare;
  const best = tables.reduce((a, b) => (isBetter(b, a) ? b : a));
  if (bare === null || isOneRow(best, bare) || (best.evidence && isColumnName(best.column.name ?? ''))) return best;
  if (bare.is_prose && !is_named_table && best.column.header === null) return bare;
  return bare.column.url_share > best.column.url_share ? bare : best;
}

/** The layout as the URLs tell it, with the wanted column; where lines hold nothing but URLs, that of any table with it. */
async function wantedLayout(sample: SampleText, wanted: string): Promise<TextLayout | null> {
  const likeliest = await findLayout({ ...sample, wanted: null });
  const delimiters = likeliest?.delimiter ? [likeliest.delimiter] : DELIMITERS.filter((one) => one !== ' ');
  const tables = await Array.fromAsync(delimiters, (one) => candidate({ ...sample, wanted }, one));
  const found = tables.filter((table) => table !== null);
  if (found.length > 0) return found.reduce((a, b) => (isBetter(b, a) ? b : a));
  return likeliest?.delimiter ? null : candidate({ ...sample, wanted }, null);
}

/** The names of the columns in the beginning of a file. */
export async function columnsOfText(file: SampleText): Promise<string[]> {
  const layout = await findLayout({ ...file, wanted: null });
  const sample = { ...file, text: file.text.slice(0, SAMPLE_CHARS) };
  return namesOfColumns(await sampleRows(sample, layout?.delimiter ?? null), layout?.column ?? null);
}

/** Endings of files of markup, of programs and of settings, which are no tables. */
const MARKUP_ENDINGS = new Set(
  (
    'md mdx markdown qmd rmd rst adoc asciidoc org tex texi wiki textile pod man bib ris enw eml srt vtt m3u m3u8 ' +
    'sql js mjs cjs ts mts cts jsx tsx py php rb go rs java c h cpp cs swift kt sh bash ps1 bat css scss less vue svelte ' +
    'yaml yml toml ini cfg conf env properties desktop url'
  ).split(' '),
);
const isMarkupName = (name: string): boolean => MARKUP_ENDINGS.has(name.slice(name.lastIndexOf('.') + 1).toLowerCase());
/** Whether a line is a heading of Markdown, or the rule below the head of a table. */
const isMarkdown = (line: string): boolean =>
  /^#{1,6} \S/.test(line) || (line.includes('---') && line.includes('|') && /^[\s|:-]+$/.test(line));

/** Whether quotes make one row below a header of all lines. What the lines of a cell hold then says nothing about the table. */
const isOneRow = (table: Candidate, bare: Candidate) => table.evidence && table.rows <= 2 && bare.rows > table.rows;

/** Whether the cells of rows of equal width are URLs far more often than the lines are: a URL in a remark then makes no prose of them. */
const isClearTable = (table: Candidate, bare: Candidate): boolean =>
  table.evidence && table.column.url_share > 2 * bare.column.url_share;

function isBetter(a: Candidate, b: Candidate): boolean {
  const difference = a.column.url_share - b.column.url_share;
  if (Math.abs(difference) > 0.02) return difference > 0;
  if (a.evidence !== b.evidence) return a.evidence;
  return a.leftovers < b.leftovers;
}

async function candidate(sample: SampleText, delimiter: string | null): Promise<Candidate | null> {
  const has_quotes = delimiter !== '\t' || !areMereQuotes(sample);
  const sampled = await sampleRows(sample, delimiter, has_quotes);
  const all = delimiter === null ? sampled : sampled.slice(commentsAbove(sampled));
  const column = findUrlColumn(all, sample.max_url_chars, sample.wanted);
  if (column === null) return null;
  // What stands above the header says nothing of the table.
  const rows = column.header === null ? all : all.filter(({ row }) => row + 1 >= column.first_data_row);
  if (delimiter === null) {
    return {
      delimiter,
      column,
      is_prose: isProse(rows, sample.filename),
      has_quotes,
      evidence: false,
      leftovers: 0,
      rows: rows.length,
      loses_urls: false,
    };
  }
  const width = commonWidth(rows);
  const as_wide = rows.filter(({ cells }) => cells.length === width).length;
  const header_width = column.header?.length ?? 0;
  if (width < 2 || (column.name !== null && header_width < 2)) return null;
  if (column.header === null && sample.wanted === null && areAllUrls(rows, sample.max_url_chars)) return null;
  const mayBePartOfUrls = delimiter === ',' || delimiter === ';';
  const is_list = mayBePartOfUrls && /\.(txt|text|list)$/i.test(sample.filename);
  const is_consistent = as_wide >= rows.length * CONSISTENT_SHARE;
  const evidence = header_width >= 2 || (is_consistent && !is_list);
  if (delimiter === ' ' && !isTableOfWords(rows, column)) return null;
  return {
    delimiter,
    column,
    is_prose: false,
    has_quotes,
    evidence,
    leftovers: leftovers(rows, delimiter, column.index),
    rows: rows.length,
    loses_urls: column.header === null && sample.wanted === null && losesUrls(rows, column),
  };
}

/** Fewer cells are no column. */
const MIN_CELLS = 3;

/** Whether another column than the one taken has URLs in some of its cells and other texts in most. */
function losesUrls(rows: readonly SampleRow[], { index, others }: UrlColumn): boolean {
  return others.some((other) => {
    if (other.index === index) return false;
    let [filled, whole, parts] = [0, 0, 0];
    for (const { cells } of rows) {
      const cell = cells[other.index] ?? '';
      if (cell.trim() === '') continue;
      filled++;
      const { texts, is_prose } = urlsInCell(cell);
      if (!texts.some(beginsLikeUrl)) continue;
      if (is_prose) parts++;
      else whole++;
    }
    return whole + parts > 0 && (whole < MIN_CELLS || whole * 2 < filled);
  });
}

/** The number of lines above a table that are comments, as analytics write them. */
function commentsAbove(rows: readonly SampleRow[]): number {
  const first = rows.findIndex(({ cells }) => !cells[0]!.startsWith('#'));
  return first === -1 ? 0 : first;
}

/** Whether spaces separate the cells of a table under a header, as R and pandas print one. */
function isTableOfWords([, ...data]: readonly SampleRow[], { header }: UrlColumn): boolean {
  const width = data[0]?.cells.length;
  return header !== null && header.length === width && data.every(({ cells }) => cells.length === width);
}

/** Whether each line is several URLs, not one URL and what is said of it. */
function areAllUrls(rows: readonly SampleRow[], max_url_chars: number): boolean {
  return rows.every(({ cells }) =>
    cells.every((cell) => cell.trim() === '' || cellLikeness(cell, max_url_chars) > PROSE_LIKENESS),
  );
}

/** Whether the file is prose with URLs in it, not a list of them: by its name, by Markdown, or by most of its lines. */
function isProse(rows: readonly SampleRow[], filename: string): boolean {
  const found = rows.map(({ cells }) => ({ line: cells[0]!, ...urlsInCell(cells[0]!) }));
  const with_url = found.filter(({ texts }) => texts.some(beginsLikeUrl));
  if (isMarkupName(filename)) return !isColumnName(found[0]?.line ?? '');
  if (with_url.length === 0 || isColumnName(found[0]!.line)) return false;
  if (!/\.(?:csv|tsv)$/i.test(filename)) {
    const sentences = found.filter(({ line, texts }) => SENTENCE.test(line) && !texts.some(beginsLikeUrl));
    if (sentences.length > with_url.length) return true;
  }
  if (found.some(({ line }) => /^#{1,6} |\]\(https?:/i.test(line))) return true;
  const prose = with_url.filter(({ is_prose, line }) => is_prose && (!DELIMITED.test(line) || SENTENCE.test(line)));
  return prose.length * 2 > with_url.length && haveNotes(prose.map(({ line }) => line));
}

/** A line that may be a row of a table. */
const DELIMITED = /[\t|;,]/;
/** Five words in a row, with a comma between them at the most, are no cells. */
const SENTENCE = /(?:^|\s)(?:\p{L}[\p{L}\p{M}'’-]*,?\s+){4}\p{L}/u;

/** The layout of a file whose first line declares the delimiter as Excel does: `sep=;`. */
async function declaredLayout(sample: SampleText, delimiter: string): Promise<TextLayout | null> {
  const rows = (await sampleRows(sample, delimiter)).slice(1);
  const column = findUrlColumn(rows, sample.max_url_chars, sample.wanted);
  if (column === null) return null;
  return {
    delimiter,
    column: { ...column, first_data_row: Math.max(2, column.first_data_row) },
    is_prose: false,
    has_quotes: true,
  };
}

/** Whether a program has written cells between tabs as they are: each line is a row, and in some a cell begins with a quote that nothing closes. */
function areMereQuotes({ text, whole }: SampleText): boolean {
  const lines = text.split(/\r?\n/).slice(0, whole ? SAMPLE_ROWS : -1);
  const rows = lines.filter((line) => line !== '').map((line) => line.split('\t'));
  const is_open = (cells: readonly string[]) =>
    cells.some((cell) => cell.startsWith('"')) && cells.join('').split('"').length % 2 === 0;
  return rows.some(is_open) && rows.every((cells) => cells.length > 1 && cells.length === rows[0]!.length);
}

async function sampleRows(sample: SampleText, delimiter: string | null, has_quotes = true): Promise<SampleRow[]> {
  const rows: SampleRow[] = [];
  const options = { delimiter, max_row_chars: SAMPLE_MAX_ROW_CHARS, has_quotes };
  try {
    for await (const page of readRecords([sample.text], options)) {
      rows.push(...page.filter(({ cells }) => cells.some((cell) => cell.trim() !== '')));
      if (rows.length >= SAMPLE_ROWS) return rows.slice(0, SAMPLE_ROWS);
    }
  } catch (error) {
    if (!(error instanceof IntakeError)) throw error;
    // The sample ends inside quotes. If the file does too, reading it throws an error with the row. A header alone is not
    // enough to go by: the row below it counts, as far as the sample has it.
    if (error.code !== 'quote_not_closed' || rows.length > 1) return rows;
    return sampleRows({ ...sample, text: `${sample.text}"`, whole: true }, delimiter);
  }
  if (!sample.whole && rows.length > 1) rows.pop();
  return rows;
}

function commonWidth(rows: readonly SampleRow[]): number {
  const counts = new Map<number, number>();
  for (const { cells } of rows) counts.set(cells.length, (counts.get(cells.length) ?? 0) + 1);
  return [...counts].reduce((a, b) => (b[1] > a[1] ? b : a), [0, 0])[0];
}

function leftovers(rows: readonly SampleRow[], delimiter: string, url_column: number): number {
  const others = DELIMITERS.filter((other) => other !== delimiter && other !== ' ');
  let found = 0;
  for (const { cells } of rows) {
    found += cells.filter((cell, i) => i !== url_column && others.some((other) => cell.includes(other))).length;
  }
  return found / rows.length;
}
