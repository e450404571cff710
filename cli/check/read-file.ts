// A file of a check as the URLs in it: every URL of a text, and of a table those of all its columns, unless one is named. A job of the
// service takes one column, because it writes its results back beside it; a check takes what it is given. Decision 134 says why.
import { basename } from 'node:path';
import type { ColumnRead, ListReading } from '../../commands/jobs/intake.ts';
import { lettersOfColumn } from '../../intake/find-column.ts';
import type { IntakeLimits } from '../../intake/limits.ts';
import { openSheet } from '../../intake/open-sheet.ts';
import { ALL_COLUMNS, type Cell, type OpenOptions, readingOf, type Sheet } from '../../intake/sheet.ts';

/** A text of a file that may be a URL, and the letter of its column; null where the file has no columns. */
export interface PlacedCell extends Cell {
  letter: string | null;
}

/** How a file was read. */
export interface FileReading extends ListReading {
  /** The columns of which a URL was taken, the likeliest first. Complete after the last cell. */
  columns: readonly ColumnRead[];
}

export type ReadFile = Awaited<ReturnType<typeof readFile>>;

export interface ReadFileOptions {
  column: string | null;
  limits: Partial<IntakeLimits>;
}

/** Files whose bars, commas and semicolons make no table, and which may have no URL. */
export const DOCUMENT = /\.(?:md|markdown|mdx|mdown|mkd|rst|adoc|asciidoc|org|txt|html?)(?:\.gz)?$/i;

/** Throws IntakeError for a file without a list of URLs. */
export async function readFile(path: string, name: string, options: ReadFileOptions) {
  const { column, limits } = options;
  const open = (opened: OpenOptions) => openSheet(path, basename(name), limits, opened);
  const sheet = await open({ column: column ?? ALL_COLUMNS });
  const first = readingOf(sheet);
  const taken = new Set([first.column.letter]);
  return {
    get reading(): FileReading {
      const isTaken = ({ letter }: ColumnRead) => column === null && taken.has(letter);
      const other_columns = first.other_columns.filter((one) => !isTaken(one));
      const also = first.other_columns.filter(isTaken).map(({ index, letter, name }) => ({ index, letter, name }));
      const warnings = first.warnings.filter(({ code }) => column !== null || code !== 'several_sheets');
      return { ...first, other_columns, other_sheets: [], warnings, columns: [first.column, ...also] };
    },
    async *cells(): AsyncGenerator<readonly PlacedCell[]> {
      for await (const page of cellsOf(sheet)) {
        for (const { letter } of page) if (letter !== null) taken.add(letter);
        yield page;
      }
      if (column !== null) return;
      for (const { sheet_name } of sheet.other_sheets ?? []) {
        yield* cellsOf(await open({ column: ALL_COLUMNS, sheet: sheet_name }));
      }
    },
  };
}

async function* cellsOf(sheet: Sheet): AsyncGenerator<readonly PlacedCell[]> {
  const has_columns = sheet.table !== undefined;
  for await (const page of sheet.cells()) {
    yield page.map((cell) => ({
      ...cell,
      letter: has_columns ? lettersOfColumn(cell.column ?? sheet.column.index) : null,
    }));
  }
}
