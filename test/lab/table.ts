// What the laboratory prints: a row for each case.
import type { Outcome } from '../../events/checks.ts';
import type { LabCase } from './case.ts';

export interface Row {
  lab: LabCase;
  ours: string;
  /** What Chromium shows: a status, or the name of an error. Null where there is no Chromium. */
  theirs: string | null;
}

/** An outcome as cases write it. */
export function told({ status_code, verdict, error_code }: Outcome): string {
  return [status_code ?? '-', verdict, error_code].filter((word) => word !== null).join(' ');
}

/** Whether the row is a failure: not as expected, or not what a person sees. */
export function differs({ lab, ours, theirs }: Row): boolean {
  return ours !== lab.expected || (theirs !== null && lab.choice === undefined && !isSame(ours, theirs));
}

/** A page with one status for both, or none for both. */
function isSame(ours: string, theirs: string): boolean {
  const status = ours.includes('unreachable') ? null : ours.split(' ', 1)[0];
  return /^\d+$/.test(theirs) ? status === theirs : status === null;
}

export function table(rows: readonly Row[]): string {
  const cells = rows.map((row) => [
    ...[differs(row) ? 'FAIL' : 'ok', row.lab.name, row.lab.expected, row.ours, row.theirs ?? 'not installed'],
    row.lab.choice ?? row.lab.from ?? '',
  ]);
  const all = [['', 'case', 'expected', 'ours', 'Chromium', 'where from, or why'], ...cells];
  const widths = all[0]!.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  const lines = all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
  const failed = rows.filter(differs).length;
  return `${lines.join('\n')}\n\n${rows.length} cases, ${failed} failed`;
}
