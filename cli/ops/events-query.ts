// `events query` answers SQL over the log.
import { readFile, writeFile } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Rows } from '../../analysis/duckdb.ts';
import { openQuery, type Parameters } from '../../analysis/query.ts';
import type { Value } from '../../analysis/values.ts';
import { closing } from '../closing.ts';
import { exitAtInterrupts } from '../interrupts.ts';
import { type Command, EXIT, printable, type Run, UsageError } from './command.ts';
import {
  EVENTS_FILE,
  FROM,
  oneOf,
  openEvents,
  SELECTING,
  selectionOf,
  TO,
  tellLater,
  UNSEAL,
} from './events-options.ts';
import { csvLine } from './events-text.ts';
import { readingProgress } from './log-progress.ts';
import { MODE, type Output, openOutput, partOf } from './output-file.ts';
import { keepReserve } from './reserve.ts';

const FORMATS = ['text', 'jsonl', 'csv', 'parquet'] as const;
type Format = (typeof FORMATS)[number];

export const eventsQuery: Command = {
  arguments: '[SQL…]',
  summary: "answer DuckDB's SQL, given here, by --sql FILE or on standard input: docs/events.md lists the tables",
  options: {
    sql: { type: 'string', value: 'FILE', means: 'the file with the SQL; - for standard input' },
    param: {
      ...{ type: 'string', value: 'NAME=VALUE', multiple: true },
      means: 'the value of $NAME in the SQL, or of the ? with this number; may be repeated',
    },
    output: { type: 'string', value: 'FILE', means: 'the file for the answer; without it, standard output' },
    format: {
      ...{ type: 'string', value: 'FORMAT' },
      means: `${FORMATS.join(', ')} (by the name of the file, else text; with --json, jsonl)`,
    },
    ...SELECTING,
    ...{ from: FROM, to: TO, file: EVENTS_FILE, unseal: UNSEAL },
  },
  async run(run) {
    const [format, selection, parameters] = [formatOf(run), selectionOf(run), parametersOf(run)];
    const sql = await sqlOf(run);
    exitAtInterrupts();
    await using source = closing(await openEvents(run));
    using progress = await readingProgress(run, source);
    const assertRoom = keepReserve(run, run.values.output as string | undefined);
    const seen = (position: string) => {
      assertRoom();
      progress.seen(position);
    };
    const watching = { seen, notice: (text: string) => run.err.write(`${text}\n`) };
    if (format === 'parquet') {
      using target = await partOf(resolve(run.folder, run.values.output as string));
      await writeFile(target.part, '', { mode: MODE });
      await using query = closing(await openQuery(source, selection, { ...watching, file: target.part }));
      await query.toParquet(sql, parameters);
      await target.finish();
      tellLater(run, source);
      return EXIT.clean;
    }
    await using query = closing(await openQuery(source, selection, watching));
    await using output = await openOutput(run, run.values.output as string | undefined);
    let is_first = true;
    for await (const answer of query.answers(sql, parameters)) {
      progress.stop();
      if (!is_first && format !== 'jsonl') await output.write('\n');
      is_first = false;
      await print(output, answer, format);
    }
    await output.finish();
    tellLater(run, source);
    return EXIT.clean;
  },
};

function formatOf(run: Run): Format {
  const { output, format } = run.values;
  const by_name = FORMATS.find((each) => typeof output === 'string' && extname(output) === `.${each}`);
  const chosen = format === undefined && by_name ? by_name : run.json ? 'jsonl' : oneOf(run, 'format', FORMATS);
  if (chosen === 'parquet' && output === undefined) throw new UsageError('--format parquet: it needs --output FILE');
  return chosen;
}

async function sqlOf(run: Run): Promise<string> {
  const { sql } = run.values;
  const given = run.arguments;
  if (typeof sql === 'string' && given.length > 0) throw new UsageError('--sql FILE: it takes the place of SQL');
  if (given.length > 1) throw new UsageError('it takes one text of SQL: put it into quotes');
  if (typeof sql === 'string' && sql !== '-') return readFile(resolve(run.folder, sql), 'utf8');
  if (given.length === 1 && given[0] !== '-') return given[0]!;
  const is_asked = sql === '-' || given[0] === '-';
  const read = !is_asked && 'isTTY' in run.in && run.in.isTTY ? '' : await text(run.in);
  if (read.trim() === '')
    throw new UsageError('SQL is missing: give it in quotes, with --sql FILE, or on standard input');
  return read;
}

function parametersOf({ values }: Run): Parameters {
  const given = (values.param as string[] | undefined) ?? [];
  const pairs = given.map((each) => {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(each) ?? [];
    if (name === undefined) throw new UsageError(`--param ${each}: it must be NAME=VALUE`);
    return [name.replace(/^\$/, ''), value!] as const;
  });
  return Object.fromEntries(pairs);
}

type Cells = readonly Value[];

async function print(output: Output, { columns, rows }: Rows, format: Exclude<Format, 'parquet'>): Promise<void> {
  const lines = { text: textLines, csv: csvLines, jsonl: jsonLines }[format](columns);
  for await (const bunch of rows) for (const line of lines.of(bunch)) await output.write(line);
  for (const line of lines.end()) await output.write(line);
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
