// The port of intake, which reads the URLs of a job from a file or a list. `intake/` implements it.
import type { JobTable } from '../../events/job.ts';
import type { SubmissionCounts, UrlPage } from './submit-job.ts';

export type { JobTable } from '../../events/job.ts';

/** The source of a job's URLs. The caller keeps a file readable and unchanged until its URLs have been read. */
export type Given =
  | { kind: 'file'; path: string; filename: string }
  | { kind: 'list'; pages: AsyncIterable<readonly ListItem[]> };

/** A text of a list, or one with the client's own name for it. */
export type ListItem = string | { url: string; ref: string };
export const textOf = (item: ListItem): string => (typeof item === 'string' ? item : item.url);

export interface IntakeOptions {
  /** True: intake adds https:// to URLs without a scheme. False: such URLs are invalid. Default true. */
  auto_add_prefix?: boolean;
  /** True: intake leaves out URLs of blocklisted domains. False: they are checked, and counted as a warning. Default true. */
  skip_blocked?: boolean;
  /** True: intake leaves out invalid URLs. False: it refuses the submission and names the first invalid rows. Default true. */
  skip_invalid?: boolean;
  /** The header or the letter of the column of a file to take; null or left out for the likeliest one. */
  column?: string | null;
  /** The encoding of a text file; null or left out to tell it by the bytes. */
  encoding?: string | null;
  /** False: intake refuses a file in which nothing but dotted words may be URLs. Default true. */
  accept_names?: boolean;
  /** The name of the sheet of a workbook to take; null or left out for the first one with URLs. */
  sheet?: string | null;
  /** For a job of test keys: the host whose URLs alone are accepted, and the most of them. */
  sandbox?: { only_host: string; max_urls: number };
  /** Receives each text that becomes no URL of the job, in order. Intake awaits it between two pages of the file. */
  left_out?: LeftOutSink;
  /** An abort ends the reading: the pages then throw its reason. */
  signal?: AbortSignal;
}

/** A text that became no URL of the job. */
export interface LeftOut {
  /** The row of a file, from 1, or the place in a list. */
  row: number;
  /** `duplicate`, `blocked_domain`, or why the text is no valid URL. */
  reason: string;
  /** The text, shortened. */
  value: string;
  /** The client's own name for the text. */
  ref?: string;
  /** A duplicate has the index in the job of the URL that it repeats, and that URL's row. */
  first?: { index: number; row: number };
}

export interface LeftOutSink {
  add(entry: LeftOut): void;
  /** Resolves when there is room for more; undefined when there is some. */
  drained(): Promise<void> | undefined;
}

/** A column of a file: its index from 0, its letter in a spreadsheet, and its header or null. */
export interface ColumnRead {
  index: number;
  letter: string;
  name: string | null;
}

/** How intake read a file. */
export interface ListReading {
  format: string;
  sheet_name: string | null;
  /** The column whose URLs were taken. */
  column: ColumnRead;
  /** The other columns that hold URLs, and the share of their rows that do, 0 to 1. */
  other_columns: readonly (ColumnRead & { url_share: number })[];
  /** The other sheets of a workbook that hold URLs, each with its likeliest column. */
  other_sheets: readonly (ColumnRead & { url_share: number; sheet_name: string })[];
  warnings: readonly { code: string; message: string }[];
}

/** Unique URLs in order, in pages that can be read once. */
export interface UrlsToCheck extends AsyncIterable<UrlPage> {
  /** Complete after the last page. */
  readonly summary: SubmissionCounts;
  /** Complete after the last page; null for a list and for a file without rows and columns. */
  readonly table: JobTable | null;
  /** Null for a list. */
  readonly reading: ListReading | null;
}

/** A cell or list entry that cannot be checked. */
export interface RowIssue {
  row: number;
  value: string;
  reason: string;
  message: string;
}

/** Tells the client why its file or list cannot become a job. */
export interface IntakeRefusal {
  code: string;
  message: string;
  /** The first invalid rows; empty when the fault is in no row. */
  rows: readonly RowIssue[];
}

/** The outcome of a submission whose URLs come from intake, which may refuse them. */
export type OrUnusable<Outcome> = Outcome | { ok: false; refused: IntakeRefusal };

export interface Intake {
  /** This and the reading of the pages throw errors that `refusalOf` recognises. */
  urlsOf(given: Given, options?: IntakeOptions): Promise<UrlsToCheck>;
  /** Null for an error that the file or the list did not cause. */
  refusalOf(error: unknown): IntakeRefusal | null;
}
