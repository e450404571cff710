// The port of intake: what somebody wants checked, a file or a list, as the URLs of a job. `intake/` implements it.
import type { SubmissionCounts } from './submit-job.ts';

/** What somebody wants checked. A file stays readable and unchanged until its URLs have been read. */
export type Given =
  | { kind: 'file'; path: string; filename: string }
  | { kind: 'list'; pages: AsyncIterable<readonly string[]> };

export interface IntakeOptions {
  /** Add https:// where it is missing; else such a URL is invalid. Default true. */
  auto_add_prefix?: boolean;
  /** Leave URLs of blocked domains out; else they are checked, and counted as a warning. Default true. */
  skip_blocked?: boolean;
  /** Leave out what cannot be checked; else it is refused, and the first rows are named. Default true. */
  skip_invalid?: boolean;
  /** Ends the reading: the pages then throw its reason. */
  signal?: AbortSignal;
}

/** Unique URLs in order, in pages that can be read once. */
export interface UrlsToCheck extends AsyncIterable<readonly string[]> {
  /** Complete when the pages have been read to the end. */
  readonly summary: SubmissionCounts;
}

/** A cell or list entry that cannot be checked. */
export interface RowIssue {
  row: number;
  value: string;
  reason: string;
  message: string;
}

/** Why a file or a list cannot become a job, for whoever gave it to mend. */
export interface IntakeRefusal {
  code: string;
  message: string;
  /** The first rows at fault, where rows are at fault. */
  rows: readonly RowIssue[];
}

/** What becomes of a submission whose URLs come from intake. */
export type OrUnusable<Outcome> = Outcome | { ok: false; refused: IntakeRefusal };

export interface Intake {
  /** Throws, as reading the pages does, errors that `refusalOf` knows. */
  urlsOf(given: Given, options?: IntakeOptions): Promise<UrlsToCheck>;
  /** Null for an error that is not about what was given. */
  refusalOf(error: unknown): IntakeRefusal | null;
}
