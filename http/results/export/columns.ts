// The columns of an exported file and the values of their cells, for every format.
import { findingsOf, isTemporary, redirectKindOf } from '../../../events/findings.ts';
import type { DateValue } from '../../../intake/workbook-sheet.ts';
import type { ResultDocument } from '../../../readmodels/results/results.ts';
import type { Place } from '../result-place.ts';

export type Cell = string | number | boolean | DateValue | null;
export type Line = readonly Cell[];

/** A table to write as a file. */
export interface Lines {
  /** The first page is the head: every sheet of a workbook begins with it. */
  pages: AsyncIterable<readonly Line[]>;
  /** Widths in characters of columns, by their place from 0. */
  widths: ReadonlyMap<number, number>;
  /** Between the cells of a text file. */
  delimiter: string;
}

/** The exported fields of a result; its ids and its index in the job are not exported. */
export type Exported = Omit<ResultDocument, '_id' | 'job_id' | 'index' | 'row_shift'>;

export interface Column<Of = Exported> {
  name: string;
  /** The width of the column in a spreadsheet, in characters. */
  width: number;
  cell(result: Of): Cell;
}

/** What a check found, without the URL. */
export const OUTCOME_COLUMNS: readonly Column[] = [
  { name: 'status_code', width: 12, cell: (r) => r.status_code },
  { name: 'verdict', width: 12, cell: (r) => r.verdict },
  { name: 'is_broken', width: 10, cell: (r) => r.is_broken },
  { name: 'is_soft_404', width: 12, cell: (r) => r.is_soft_404 },
  { name: 'error_code', width: 20, cell: (r) => r.error_code },
  { name: 'final_url', width: 60, cell: (r) => inert(r.final_url) },
  // A URL of a request never holds a space.
  { name: 'redirect_chain', width: 30, cell: (r) => inert(r.redirect_chain.join(' ')) },
  { name: 'response_time_ms', width: 18, cell: (r) => r.response_time_ms },
  { name: 'content_type', width: 24, cell: (r) => inert(r.content_type) },
  { name: 'protection', width: 12, cell: (r) => inert(r.protection) },
  { name: 'attempts', width: 10, cell: (r) => r.attempts },
  { name: 'temporary', width: 12, cell: isTemporary },
  { name: 'tried_ms', width: 12, cell: (r) => r.tried_ms ?? null },
  { name: 'redirect_statuses', width: 18, cell: (r) => r.redirect_statuses?.join(' ') ?? '' },
  { name: 'redirect_kind', width: 14, cell: (r) => redirectKindOf(r.redirect_statuses) ?? null },
];

/** The columns of a table by which links are mended: the old address, and the one to link to. */
export const REDIRECT_COLUMNS: readonly Column<Exported & Place>[] = [
  { name: 'old_url', width: 60, cell: (r) => inert(r.url) },
  { name: 'new_url', width: 60, cell: (r) => inert(r.final_url) },
  { name: 'redirect_kind', width: 14, cell: (r) => redirectKindOf(r.redirect_statuses) ?? null },
  { name: 'redirect_changes', width: 18, cell: (r) => findingsOf(r, r.url).redirect_changes ?? null },
  { name: 'status_code', width: 12, cell: (r) => r.status_code },
  { name: 'row', width: 10, cell: (r) => r.row },
  { name: 'cell', width: 10, cell: (r) => r.cell },
];

/** The columns of an export of results. */
export const COLUMNS: readonly Column<Exported & Place>[] = [
  { name: 'url', width: 60, cell: (r) => inert(r.url) },
  ...OUTCOME_COLUMNS,
  { name: 'row', width: 10, cell: (r) => r.row },
  { name: 'cell', width: 10, cell: (r) => r.cell },
];

/**
 * Text that a spreadsheet may run as a formula, also after quotes and spaces, and in the wide characters of East Asian keyboards
 * (OWASP, "CSV Injection").
 */
const FORMULA = /^[\s"']*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/;
/** A signed number or a telephone number, which calculates nothing. */
const SIGNED_NUMBER = /^[+-]\d[\d., ]*%?$/;

/**
 * Puts an apostrophe before text from websites and clients that a spreadsheet would run as a formula.
 * @example inert('=HYPERLINK("https://evil.example")') // "'=HYPERLINK(\"https://evil.example\")"
 */
export function inert(text: string | null): string | null {
  return text !== null && FORMULA.test(text) ? `'${text}` : text;
}

/** Like `inert` for the cells of the user's own sheet, in which signed numbers stay as they are. */
export const inertCell = (cell: Exclude<Cell, null>): Cell =>
  typeof cell === 'string' && !SIGNED_NUMBER.test(cell) ? inert(cell) : cell;

/** Results as lines under a header. */
export function resultsTable<Of extends Exported & Place>(
  results: AsyncIterable<readonly Of[]>,
  columns: readonly Column<Of>[] = COLUMNS,
): Lines {
  async function* pages(): AsyncGenerator<Line[]> {
    yield [columns.map(({ name }) => name)];
    for await (const page of results) yield page.map((result) => columns.map(({ cell }) => cell(result)));
  }
  const widths = new Map(columns.map(({ width }, place) => [place, width]));
  return { pages: pages(), widths, delimiter: ',' };
}
