// The columns of an exported file and the values of their cells, for every format.
import type { ResultDocument } from '../../readmodels/results.ts';

export type Cell = string | number | boolean | null;

/** The exported fields of a result; its ids and its index in the job are not exported. */
export type Exported = Omit<ResultDocument, '_id' | 'job_id' | 'index'>;

export interface Column {
  name: string;
  /** The width of the column in a spreadsheet, in characters. */
  width: number;
  cell(result: Exported): Cell;
}

export const COLUMNS: readonly Column[] = [
  { name: 'url', width: 60, cell: (r) => inert(r.url) },
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
];

/**
 * Text that a spreadsheet may run as a formula, also after quotes and spaces, and in the wide characters of East Asian keyboards
 * (OWASP, "CSV Injection").
 */
const FORMULA = /^[\s"']*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/;

/** Puts an apostrophe before text from websites and clients that a spreadsheet would run as a formula. */
export function inert(text: string | null): string | null {
  return text !== null && FORMULA.test(text) ? `'${text}` : text;
}
