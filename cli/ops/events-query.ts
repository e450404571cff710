// `events query` answers SQL over the log.
import type { Value } from '../../analysis/duckdb.ts';
import { type Answer, queryEvents } from '../../analysis/query.ts';
import { closing } from '../closing.ts';
import { exitAtInterrupts } from '../interrupts.ts';
import { type Command, EXIT, type Run } from './command.ts';
import { EVENTS_FILE, FROM, openEvents, SELECTING, selectionOf, TO, UNSEAL } from './events-options.ts';
import { FORMAT, formatOf } from './events-read.ts';
import { csvLine, type Format } from './events-text.ts';
import { openOutput } from './output-file.ts';
import { printable } from './text.ts';

export const eventsQuery: Command = {
  name: 'events query',
  arguments: 'SQL',
  summary: "answer a query of DuckDB's SQL: docs/events.md lists the tables",
  options: { format: FORMAT, ...SELECTING, from: FROM, to: TO, file: EVENTS_FILE, unseal: UNSEAL },
  async run(run) {
    const [format, selection] = [formatOf(run), selectionOf(run)];
    exitAtInterrupts();
    await using source = closing(await openEvents(run));
    await using answer = closing(await queryEvents(run.arguments[0]!, source, selection));
    await print(run, answer, format);
    return EXIT.clean;
  },
};

type Cells = readonly Value[];

async function print(run: Run, { columns, rows }: Answer, format: Format): Promise<void> {
  const output = await openOutput(run);
  const lines = { text: textLines, csv: csvLines, jsonl: jsonLines }[format](columns);
  for await (const bunch of rows) for (const text of lines.of(bunch)) await output.write(text);
  for (const text of lines.end()) await output.write(text);
  await output.finish();
}

interface Lines {
  of(rows: readonly Cells[]): Iterable<string>;
  end(): Iterable<string>;
}

const jsonLines = (columns: readonly string[]): Lines => ({
  *of(rows) {
    for (const row of rows) yield `${JSON.stringify(Object.fromEntries(columns.map((name, n) => [name, row[n]])))}\n`;
  },
  end: () => [],
});

function csvLines(columns: readonly string[]): Lines {
  let header: string[] = [csvLine(columns)];
  return {
    *of(rows) {
      yield* header;
      header = [];
      for (const row of rows) yield csvLine(row.map(cellOf));
    },
    end: () => header,
  };
}

/** Columns are as wide as the first bunch of rows needs. */
function textLines(columns: readonly string[]): Lines {
  let widths: number[] | null = null;
  function* of(rows: readonly Cells[]): Generator<string> {
    const table = rows.map((row) => row.map((value) => String(cellOf(value) ?? '')));
    if (widths === null) {
      widths = columns.map((name, n) => Math.max(name.length, ...table.map((row) => row[n]!.length)));
      yield lineOf(columns, columns);
    }
    for (const [n, row] of table.entries()) yield lineOf(row, rows[n]!);
  }
  function lineOf(texts: readonly string[], values: Cells): string {
    const cells = texts.map((text, n) =>
      typeof values[n] === 'number' ? text.padStart(widths![n]!) : text.padEnd(widths![n]!),
    );
    return printable(cells.join('  ').trimEnd());
  }
  return { of, end: () => (widths === null ? of([]) : []) };
}

const cellOf = (value: Value): string | number | boolean | null =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
