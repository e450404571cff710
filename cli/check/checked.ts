// What a check found, as every output format reads it.
import type { ColumnRead, ListReading } from '../../commands/jobs/intake.ts';
import { type Outcome, VERDICTS, type Verdict } from '../../events/checks.ts';
import type { InvalidReason } from '../../intake/classify-url.ts';
import type { FileReading } from './read-file.ts';

/** The name of standard input among the files. */
export const STDIN_NAME = 'stdin';

export interface FoundOutcome extends Outcome {
  /** When an earlier check began that found it, in ISO 8601. Missing for a URL that this check asked for. */
  found_at?: string;
}

/** The outcome of a URL, and the place that the URL was read from. */
export interface CheckedUrl extends FoundOutcome {
  url: string;
  /** The name of the file or of standard input; null for a URL of the command line. */
  file: string | null;
  /** The row of a table, the line of a text, the item of JSON, from 1; null for a URL of the command line. */
  row: number | null;
  /** Such as `B17`; null for lists without columns. */
  cell: string | null;
}

/** A text of an input without a URL. */
export interface Rejected {
  file: string;
  row: number;
  value: string;
  reason: InvalidReason;
}

/** How a file or standard input was read. */
export interface InputReading extends FileReading {
  name: string;
}

export interface Counts {
  total_urls: number;
  completed_urls: number;
  /** Of these, those whose results come from the cache. */
  cached_urls?: number;
  duplicates_removed: number;
  invalid_urls_rejected: number;
  blocked_urls_skipped: number;
}

export interface Checked {
  counts: Counts;
  verdicts: Partial<Record<Verdict, number>>;
  /** The time that the checks took, over all runs of a resumed check. */
  seconds: number;
  began_at: Date;
  inputs: readonly InputReading[];
  /** The first texts without a URL; `counts` has their number. */
  rejected: readonly Rejected[];
  /** The verdicts that make the check fail. */
  fail_on: readonly Verdict[];
  /** The verdicts to list; null: those that the format lists by itself. */
  only: readonly Verdict[] | null;
  /** The results of these verdicts, or of all, in the order of the input. */
  results(verdicts?: readonly Verdict[]): Iterable<CheckedUrl>;
}

export const countOf = ({ verdicts }: Pick<Checked, 'verdicts'>, of: readonly Verdict[]): number =>
  of.reduce((sum, verdict) => sum + (verdicts[verdict] ?? 0), 0);

export const isInterrupted = ({ counts }: Pick<Checked, 'counts'>): boolean =>
  counts.completed_urls < counts.total_urls;

/** @example placeOf({ file: 'links.csv', row: 4 }) // 'links.csv:4' */
export const placeOf = ({ file, row }: Pick<CheckedUrl, 'file' | 'row'>): string | null =>
  file === null ? null : `${file}:${row}`;

/** Which columns of a file were taken, and what may not be meant so. Empty for a plain list without warnings. */
export function readingText({ columns, ...reading }: ListReading & Partial<Pick<FileReading, 'columns'>>): string {
  const { column, other_columns, warnings } = reading;
  const taken = columns ?? [column];
  const named = ({ letter, name }: ColumnRead) => (name === null ? letter : `${letter} (${JSON.stringify(name)})`);
  const lines = warnings.map(({ message }) => `Warning: ${message}`);
  if (taken.length > 1)
    lines.unshift(`Columns ${taken.map(named).join(', ')} were read. --column takes one of them alone.`);
  else if (column.name !== null || other_columns.length > 0) lines.unshift(`Column ${named(column)} was read.`);
  if (other_columns.length > 0) {
    lines.push(`Other columns hold URLs: ${other_columns.map(named).join(', ')}. --column takes one of them.`);
  }
  return lines.map((line) => `${withoutControls(line)}\n`).join('');
}

/** Text of a file or a server that others wrote: it may not move the terminal's cursor. */
export const withoutControls = (text: string): string => text.replace(/\p{C}/gu, '');

/** The verdicts to list: those asked for, else those that make the check fail, and blocked ones. */
export const listedIn = ({ only, fail_on }: Pick<Checked, 'only' | 'fail_on'>): readonly Verdict[] =>
  only ?? VERDICTS.filter((verdict) => fail_on.includes(verdict) || verdict === 'blocked');
