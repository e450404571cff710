// The lines of an uploaded table with the results beside them: every row of the file with all its cells, duplicates and rows without a
// URL too. The rows, the job's URLs, their results and what was left out come in one order, so that little of each is in memory.
import type { LeftOut } from '../../../commands/jobs/intake.ts';
import type { JobTable } from '../../../events/job.ts';
import { withoutPassword } from '../../../events/without-password.ts';
import { lettersOfColumn } from '../../../intake/find-column.ts';
import type { TableRow } from '../../../intake/read-table.ts';
import type { CellValue } from '../../../intake/workbook-sheet.ts';
import type { ResultDocument } from '../../../readmodels/results/results.ts';
import { Ahead } from '../../frame/ahead.ts';
import { type Cell, inert, inertCell, type Line, OUTCOME_COLUMNS } from './columns.ts';

/** A URL of the job. */
export interface ListedUrl {
  index: number;
  url: string;
  row: number;
}

export interface Sources {
  rows: AsyncIterable<readonly TableRow[]>;
  listed: AsyncIterable<readonly ListedUrl[]>;
  /** The results that pass the filters, by index. */
  results: AsyncIterable<readonly ResultDocument[]>;
  left_out: AsyncIterable<readonly LeftOut[]>;
  /** Reads results by their indexes; those that do not pass the filters are left out. */
  resultsAt(indexes: readonly number[]): Promise<ReadonlyMap<number, ResultDocument>>;
}

export interface OriginalOptions {
  table: JobTable;
  /** Whether the lines become a workbook, whose texts are never formulas and need no apostrophe. */
  is_workbook?: boolean;
  /** Whether rows without a result are left out, because the results are filtered. */
  only_results: boolean;
}

type ShownTable = JobTable & { is_workbook: boolean };

/** What is said of one text of a row. */
interface Finding {
  row: number;
  url: string | null;
  verdict: string;
  reason: string | null;
  duplicate_of_row: number | null;
  result: ResultDocument | null;
}

const FINDING_COLUMNS: readonly { name: string; width: number; cell(finding: Finding): Cell }[] = [
  { name: 'row', width: 10, cell: (f) => f.row },
  { name: 'checked_url', width: 60, cell: (f) => inert(f.url) },
  { name: 'verdict', width: 12, cell: (f) => f.verdict },
  { name: 'reason', width: 20, cell: (f) => f.reason },
  { name: 'duplicate_of_row', width: 16, cell: (f) => f.duplicate_of_row },
];
const RESULT_COLUMNS = OUTCOME_COLUMNS.filter(({ name }) => name !== 'verdict');
const ADDED = [...FINDING_COLUMNS, ...RESULT_COLUMNS];
export const ADDED_COLUMNS = ADDED.length;

/** The most empty rows that are written between two rows of a workbook, whose file leaves them out. */
const MAX_GAP_ROWS = 10_000;
/** Rows whose duplicates are read together, fewer where they are wide. */
const ROWS_AT_ONCE = 1000;
const CELLS_AT_ONCE = 50_000;
/** URLs and texts that are joined together: a cell may hold thousands of them. */
const FINDINGS_AT_ONCE = 1000;
const LONG_CHARS = 1000;
/** Rows that every sheet of a workbook begins with. */
const MAX_HEAD_ROWS = 20;

/** The widths of the added columns, by their place. */
export const addedWidths = ({ width }: JobTable): ReadonlyMap<number, number> =>
  new Map(ADDED.map((column, n) => [width + n, column.width]));

/** The pages of lines, the head first. Throws what the sources throw, and closes them when the iteration ends. */
export async function* originalLines(sources: Sources, options: OriginalOptions): AsyncGenerator<Line[]> {
  const { only_results } = options;
  const table: ShownTable = { ...options.table, is_workbook: options.is_workbook ?? false };
  const header_row = table.header_row ?? 0;
  const rows = new Ahead(sources.rows);
  const findings = openFindings(sources);
  // A text file has a row for each line. A workbook leaves empty rows out.
  const fills_gaps = table.format !== 'csv' && !only_results;
  // Little of a wide table is in memory, or made in one turn of the event loop.
  const at_once = Math.max(1, Math.min(ROWS_AT_ONCE, Math.floor(CELLS_AT_ONCE / (table.width + ADDED_COLUMNS))));
  try {
    const { head, last_row } = await headOf(rows, table);
    yield head;
    let last = last_row;
    for (let is_end = false; !is_end; ) {
      const some: TableRow[] = [];
      for (; some.length < at_once; some.push(rows.take())) {
        const filling = rows.fill();
        if (filling) await filling;
        if (rows.peek === undefined) break;
      }
      is_end = some.length === 0;
      for await (const { row, cells, found } of is_end ? findings.rest() : findings.of(some)) {
        const gap = fills_gaps ? Math.min(row - last - 1, MAX_GAP_ROWS) : 0;
        for (let empty = row - gap; empty < row; empty++) yield [lineOf(table, [], [empty])];
        last = row;
        if (row <= header_row) yield [headLine(table, row, cells)];
        else if (found.length === 0 && !only_results) yield [lineOf(table, cells, [row])];
        for (const finding of found) {
          if (!only_results || finding.result !== null) yield [lineOf(table, cells, resultCells(finding))];
        }
      }
    }
  } finally {
    await Promise.all([rows.close(), findings.close()]);
  }
}

/** The rows up to the header. A table without a header gets one of letters; a header far down is a line like others. */
async function headOf(rows: Ahead<TableRow>, table: ShownTable): Promise<{ head: Line[]; last_row: number }> {
  const { header_row, width, format } = table;
  const head: Line[] = [];
  let last_row = 0;
  if (header_row === null) {
    const letters = Array.from({ length: width }, (_, place) => lettersOfColumn(place));
    return { head: [lineOf(table, letters, addedNames([]))], last_row };
  }
  if (header_row > MAX_HEAD_ROWS) return { head, last_row };
  for (;;) {
    await rows.fill();
    const next = rows.peek;
    if (next === undefined || next.row > header_row) return { head, last_row };
    const { row, cells } = rows.take();
    if (format !== 'csv') for (let empty = last_row + 1; empty < row; empty++) head.push(lineOf(table, [], []));
    head.push(headLine(table, row, cells));
    last_row = row;
  }
}

/** A title, or the header, which the names of the added columns follow. */
const headLine = (table: ShownTable, row: number, cells: readonly CellValue[]): Line =>
  lineOf(table, cells, row === table.header_row ? addedNames(cells) : []);

/** The names of the added columns, with a number where the header has the name already. */
function addedNames(header: readonly CellValue[]): string[] {
  const taken = new Set(header.map((name) => String(name).trim().toLowerCase()));
  return ADDED.map(({ name }) => {
    let free = name;
    for (let n = 2; taken.has(free); n++) free = `${name}_${n}`;
    taken.add(free);
    return free;
  });
}

/** The cells of a row, brought to the width of the table, and the cells beside them: each line has as many. */
function lineOf({ width, column, is_workbook }: ShownTable, cells: readonly CellValue[], added: readonly Cell[]): Line {
  const line: Cell[] = [];
  // A workbook may show one long text in thousands of cells of a row, so its copy with an apostrophe is made once.
  const long_cells = new Map<CellValue, Cell>();
  for (let place = 0; place < width; place++) {
    const cell = cells[place] ?? '';
    if (typeof cell !== 'string' || cell.length < LONG_CHARS) {
      line.push(ownCell(cell, place === column, is_workbook));
      continue;
    }
    const shown = long_cells.get(cell) ?? ownCell(cell, place === column, is_workbook);
    long_cells.set(cell, shown);
    line.push(shown);
  }
  for (let place = 0; place < ADDED_COLUMNS; place++) line.push(added[place] ?? null);
  return line;
}

/** A cell of the sheet, without the passwords of its URLs. Outside the column of URLs, a text with no `//` may be an address or a time. */
function ownCell(cell: CellValue, is_url: boolean, is_workbook: boolean): Cell {
  const may_hold = typeof cell === 'string' && (is_url || cell.includes('//'));
  const shown = may_hold ? withoutPassword(cell) : cell;
  return is_workbook ? shown : inertCell(shown);
}

function resultCells(finding: Finding): Cell[] {
  const cells = FINDING_COLUMNS.map(({ cell }) => cell(finding));
  const { result } = finding;
  for (const { cell } of RESULT_COLUMNS) cells.push(result === null ? null : cell(result));
  return cells;
}

interface FoundRow extends TableRow {
  found: Finding[];
}

/** Rows whose duplicates are looked up together. */
class Group {
  findings = 0;
  readonly #rows: FoundRow[] = [];
  readonly #left_out: { of_row: FoundRow; some: LeftOut[] }[] = [];

  begin(row: number, cells: readonly CellValue[]): void {
    this.#rows.push({ row, cells, found: [] });
  }

  found(finding: Finding): void {
    this.findings++;
    this.#rows.at(-1)!.found.push(finding);
  }

  leftOut(entry: LeftOut): void {
    this.findings++;
    const of_row = this.#rows.at(-1)!;
    if (this.#left_out.at(-1)?.of_row !== of_row) this.#left_out.push({ of_row, some: [] });
    this.#left_out.at(-1)!.some.push(entry);
  }

  /** Returns the rows with all their findings. */
  async end(leftOutFindings: (some: readonly LeftOut[]) => Promise<Finding[]>): Promise<FoundRow[]> {
    const findings = await leftOutFindings(this.#left_out.flatMap(({ some }) => some));
    let at = 0;
    for (const { of_row, some } of this.#left_out) {
      of_row.found.push(...findings.slice(at, at + some.length));
      at += some.length;
    }
    return this.#rows;
  }
}

/** Joins the job's URLs with their results, and both with what was left out, row by row. */
function openFindings({ listed, results, left_out, resultsAt }: Sources) {
  const urls = new Ahead(listed);
  const checked = new Ahead(results);
  const others = new Ahead(left_out);
  let last_row = 0;

  async function nextUrl(): Promise<Finding> {
    const { index, url, row } = urls.take();
    await checked.fill();
    const result = checked.peek?.index === index ? checked.take() : null;
    const verdict = result?.verdict ?? 'not_checked';
    return { row, url, verdict, reason: null, duplicate_of_row: null, result };
  }

  /** Gives duplicates the results of the URLs that they repeat. */
  async function leftOutFindings(some: readonly LeftOut[]): Promise<Finding[]> {
    const firsts = some.flatMap(({ first }) => (first ? [first.index] : []));
    const of_firsts = firsts.length === 0 ? null : await resultsAt(firsts);
    return some.map(({ row, reason, first }) => {
      if (first === undefined) {
        return { row, url: null, verdict: 'rejected', reason, duplicate_of_row: null, result: null };
      }
      const result = of_firsts?.get(first.index) ?? null;
      const verdict = result?.verdict ?? 'not_checked';
      return { row, url: result?.url ?? null, verdict, reason, duplicate_of_row: first.row, result };
    });
  }

  const filled = async () => {
    const [of_urls, of_others] = [urls.fill(), others.fill()];
    if (of_urls) await of_urls;
    if (of_others) await of_others;
  };
  const nextRow = () => Math.min(urls.peek?.row ?? END, others.peek?.row ?? END);

  /**
   * The rows with their findings. A row with many comes several times, with some each time. A row of the listing that the file does
   * not show, such as one with a mere link, has no cells.
   */
  async function* rowsOf(rows: readonly TableRow[], end: number): AsyncGenerator<FoundRow> {
    let group = new Group();
    async function* flush(): AsyncGenerator<FoundRow> {
      const ended = group;
      group = new Group();
      yield* await ended.end(leftOutFindings);
    }

    /** Takes all that is of the row, whose texts follow each other. */
    async function* add({ row, cells }: TableRow): AsyncGenerator<FoundRow> {
      last_row = row;
      if (group.findings >= FINDINGS_AT_ONCE) yield* flush();
      group.begin(row, cells);
      for (;;) {
        await filled();
        const is_url = urls.peek?.row === row;
        if (!is_url && others.peek?.row !== row) return;
        if (group.findings >= FINDINGS_AT_ONCE) {
          yield* flush();
          group.begin(row, cells);
        }
        if (is_url) group.found(await nextUrl());
        else group.leftOut(others.take());
      }
    }
    async function* addBefore(row: number): AsyncGenerator<FoundRow> {
      for (let next = nextRow(); next > last_row && next < row; next = nextRow()) yield* add({ row: next, cells: [] });
    }
    for (const one of rows) {
      await filled();
      if (nextRow() < one.row) yield* addBefore(one.row);
      yield* add(one);
    }
    if (end === END) {
      await filled();
      for (let next = nextRow(); next < END; next = nextRow()) yield* add({ row: next, cells: [] });
    }
    yield* flush();
  }

  return {
    of: (rows: readonly TableRow[]) => rowsOf(rows, 0),
    /** What is behind the last row. */
    rest: () => rowsOf([], END),
    close: () => Promise.all([urls.close(), checked.close(), others.close()]),
  };
}

const END = Number.POSITIVE_INFINITY;
