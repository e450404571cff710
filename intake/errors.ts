// Why an upload or a list cannot become a job: one error class, its codes, and what each of them means.
import type { IntakeRefusal, RowIssue } from '../commands/intake.ts';

export const INTAKE_ERROR_CODES = {
  empty_file: 'There is nothing in the file.',
  file_too_large: 'More bytes than `max_file_bytes`.',
  not_a_table: 'Neither text nor a workbook: a picture, an archive, an old .xls, NUL bytes.',
  row_too_long: 'A row of a text file is longer than `max_row_chars`.',
  quote_not_closed: 'A cell of a text file begins with a quote and lasts to the end of the file.',
  broken_xlsx: 'A damaged workbook: not a readable ZIP archive, parts missing, XML not well-formed.',
  inflated_too_large: 'A workbook that holds more than `max_inflated_bytes`.',
  zip_bomb: 'A workbook that inflates far more than any real one does.',
  no_urls: 'Nothing that could be checked.',
  too_many_urls: 'More unique URLs than `max_urls`.',
  invalid_rows: 'Rows that cannot be checked, where `skip_invalid` is off.',
} as const;
export type IntakeErrorCode = keyof typeof INTAKE_ERROR_CODES;

/** The client's mistake, never ours: http answers it with a 4xx. The message says what is wrong and what is wanted. */
export class IntakeError extends Error implements IntakeRefusal {
  override readonly name = 'IntakeError';
  readonly code: IntakeErrorCode;
  /** The first rows at fault, where rows are at fault. */
  readonly rows: readonly RowIssue[];

  constructor(code: IntakeErrorCode, message: string, options: { cause?: unknown; rows?: readonly RowIssue[] } = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.rows = options.rows ?? [];
  }
}
