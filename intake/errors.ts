// The reasons why an upload or a list cannot become a job: one error class, its codes, and what each code means.
import type { IntakeRefusal, RowIssue } from '../commands/jobs/intake.ts';
import { listOfFormats } from './formats.ts';

export const INTAKE_ERROR_CODES = {
  empty_file: 'The file is empty.',
  file_too_large: 'The file has more bytes than `max_file_bytes`.',
  not_a_table: 'The file has a format that is not read, which the message names: a picture, a sound, an old .xls.',
  row_too_long: 'A row of a text file is longer than `max_row_chars`.',
  quote_not_closed: 'A cell of a text file begins with a quote that is never closed.',
  broken_xlsx: 'The workbook is damaged: not a readable ZIP archive, parts missing, XML not well-formed.',
  broken_file: 'The gzip, JSON, XML or HTML file is damaged: cut off, not well-formed, nested too deeply.',
  inflated_too_large: 'The file has more than `max_inflated_bytes` when unpacked.',
  zip_bomb: 'The file inflates far more than any real list does.',
  column_not_found: 'The file has no column with the header or the letter that `column` names.',
  sheet_not_found: 'The file has no sheet with the name that `sheet` gives.',
  encoding_not_known: 'The service knows no encoding of the name that `encoding` gives.',
  names_not_accepted:
    'No text of the file has http:// or https://, and `accept_names` is off: the texts may be names of sites, of files or of anything.',
  no_urls: 'The input has no URL that can be checked.',
  too_many_urls: 'The input has more unique URLs than `max_urls`.',
  invalid_rows: 'Some rows are invalid, and `skip_invalid` is off.',
} as const;
export type IntakeErrorCode = keyof typeof INTAKE_ERROR_CODES;

/** The end of each message about a format that is not read. */
export const WHAT_IS_READ = `Upload a list in one of these formats: ${listOfFormats()}.`;

/** A mistake of the client, which http answers with a 4xx. The message says what is wrong and what to do. */
export class IntakeError extends Error implements IntakeRefusal {
  override readonly name = 'IntakeError';
  readonly code: IntakeErrorCode;
  /** The first invalid rows; empty for faults of the whole input. */
  readonly rows: readonly RowIssue[];

  constructor(code: IntakeErrorCode, message: string, options: { cause?: unknown; rows?: readonly RowIssue[] } = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.rows = options.rows ?? [];
  }
}

/** `columns`: the headers or letters of the columns that the file has; the message names the first of them. */
export function columnNotFound(wanted: string, columns: readonly string[]): IntakeError {
  const shown = columns.slice(0, MAX_COLUMNS_SHOWN).map((name) => JSON.stringify(name.slice(0, MAX_NAME_SHOWN)));
  if (columns.length > shown.length) shown.push(`and ${columns.length - shown.length} more`);
  const there_are =
    shown.length === 0
      ? 'Leave `column` out: the file has no columns to choose from.'
      : `Name one by its header or its letter. There are: ${shown.join(', ')}.`;
  return new IntakeError('column_not_found', `The file has no column ${JSON.stringify(wanted)}. ${there_are}`);
}

/** `sheets`: the names of the sheets that the workbook has; none for another file. */
export function sheetNotFound(wanted: string, sheets: readonly string[]): IntakeError {
  const shown = sheets.slice(0, MAX_COLUMNS_SHOWN).map((name) => JSON.stringify(name.slice(0, MAX_NAME_SHOWN)));
  if (sheets.length > shown.length) shown.push('and more');
  const there_are =
    shown.length === 0 ? 'Leave `sheet` out: the file is no workbook.' : `There are: ${shown.join(', ')}.`;
  return new IntakeError('sheet_not_found', `The file has no sheet ${JSON.stringify(wanted)}. ${there_are}`);
}

export const namesNotAccepted = () =>
  new IntakeError(
    'names_not_accepted',
    'No text of the file has http:// or https://. Some are written like domain names, but so are names of files. Preview it with ' +
      '`POST /analyze-csv`, and send `accept_names=true` to check them as https://.',
  );

const MAX_COLUMNS_SHOWN = 20;
const MAX_NAME_SHOWN = 60;
