// DuckDB over events: a database in a temporary folder, with the table `events` and a view for each type. It goes when it is closed.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type {
  DuckDBConnection,
  DuckDBDataChunk,
  DuckDBResult,
  DuckDBTimestampValue,
  DuckDBType,
  DuckDBValue,
  DuckDBValueConverter,
} from '@duckdb/node-api';
import type { Metadata, RecordedEvent } from '../events/event-store.ts';
import { categoryOf } from '../events/streams.ts';
import { EVENTS_COLUMNS, quoted } from './views.ts';

/** DuckDB is not installed, or not for this platform. */
class NoDuckDb extends Error {
  readonly code = 'no_duckdb';
}

/** DuckDB refuses the SQL, or fails at it. */
export class SqlError extends Error {
  readonly code = 'sql_error';
}

const MEMORY = '400MB';
/** Rows of a chunk of DuckDB's. */
const ROWS = 2_048;
/** A chunk ends with the event that brings its data to this many characters: one may have a thousand URLs. */
const CHUNK_CHARS = 4 * 2 ** 20;

/** The appender gives its rows to the database after so many characters of data. */
const FLUSH_CHARS = 16 * 2 ** 20;

/** A value as JSON has it. Numbers beyond JSON's are texts, times are ISO 8601, and maps are lists of keys and values. */
export type Value = null | boolean | number | string | readonly Value[] | { readonly [name: string]: Value };

export interface Rows {
  columns: readonly string[];
  /** In bunches. Throws `SqlError`. */
  rows: AsyncIterable<readonly (readonly Value[])[]>;
}

export interface EventDatabase {
  /** Throws `SqlError`. */
  run(sql: string): Promise<unknown>;
  /** Rows come as they are read. Throws `SqlError`. */
  stream(sql: string): Promise<Rows>;
  /** Adds to the table `events`. Returns how many there were. Throws `SqlError` where they take too much memory, and what `events` throws. */
  load(events: AsyncIterable<RecordedEvent>): Promise<number>;
  connection: DuckDBConnection;
  close(): Promise<void>;
}

type DuckDb = typeof import('@duckdb/node-api');

/** It has the table `events`, and no views. Throws `NoDuckDb`. */
export async function openEventDatabase(): Promise<EventDatabase> {
  const duckdb = await loadDuckDb();
  const folder = mkdtempSync(join(tmpdir(), 'url-checker-events-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  // Where the program ends early. Its end waits for the thread of a query, which would go on for as long as it takes.
  let running: DuckDBConnection | undefined;
  const atExit = () => {
    running?.interrupt();
    remove();
  };
  process.once('exit', atExit);
  try {
    const instance = await duckdb.DuckDBInstance.create(join(folder, 'events.duckdb'), {
      memory_limit: MEMORY,
      temp_directory: join(folder, 'spilled'),
    });
    const connection = await instance.connect();
    running = connection;
    const columns = EVENTS_COLUMNS.map(({ name, type }) => `${quoted(name)} ${type}`);
    await connection.run(`CREATE TABLE events (${columns.join(', ')})`);
    return {
      run: (sql) => connection.run(sql).catch(blame),
      async stream(sql) {
        const result = await connection.stream(sql).catch(blame);
        return { columns: result.deduplicatedColumnNames(), rows: rowsOf(duckdb, result) };
      },
      load: (events) =>
        load(duckdb, connection, events).catch((error: Error) => {
          // Other errors may be those of the events' source.
          if (isOfMemory(error.message)) tooLarge(error);
          throw error;
        }),
      connection,
      async close() {
        connection.closeSync();
        instance.closeSync();
        process.off('exit', atExit);
        remove();
      },
    };
  } catch (error) {
    process.off('exit', atExit);
    remove();
    throw error;
  }
}

/** Loaded by the commands that need it: it is an optional dependency, and takes tens of megabytes. */
async function loadDuckDb(): Promise<DuckDb> {
  try {
    return await import('@duckdb/node-api');
  } catch (cause) {
    const message = `this needs DuckDB, which is not installed for ${process.platform}-${process.arch}: npm install @duckdb/node-api`;
    throw new NoDuckDb(message, { cause });
  }
}

export function blame(cause: unknown): never {
  const { message } = cause as Error;
  if (isOfMemory(message)) tooLarge(cause);
  throw new SqlError(message.replace('Failed to extract statements: ', '').trimEnd(), { cause });
}

/** Where it appends, DuckDB does not name the error. */
const isOfMemory = (message: string) =>
  ['Out of Memory Error:', 'failed to pin block', 'failed to allocate block'].some((text) => message.includes(text));

/** What DuckDB itself advises are settings, which are locked. */
function tooLarge(cause: unknown): never {
  const text =
    'this takes more memory than it gets: choose fewer events, by --type, --from or --to, or export them as JSON lines for a DuckDB of your own';
  throw new SqlError(text, { cause });
}

async function* rowsOf(
  { DuckDBTypeId: Id, JsonDuckDBValueConverter: toJson }: DuckDb,
  result: DuckDBResult,
): AsyncGenerator<Value[][]> {
  const convert: DuckDBValueConverter<Value> = (value, type, converter) => {
    if (value === null) return null;
    switch (type.typeId) {
      case Id.BIGINT:
      case Id.UBIGINT:
      case Id.HUGEINT:
      case Id.UHUGEINT:
        return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
      case Id.DECIMAL:
        return Number(value.toString());
      case Id.TIMESTAMP:
      case Id.TIMESTAMP_TZ:
        return timeText((value as DuckDBTimestampValue).micros, value);
      default:
        return toJson(value, type, converter as never) as Value;
    }
  };
  // Only the result's types say what is JSON.
  const are_json = result.columnTypes().map(({ alias }) => alias === 'JSON');
  const parsed = (value: Value, n: number): Value =>
    are_json[n] && value !== null ? (JSON.parse(value as string) as Value) : value;
  try {
    for await (const rows of result.yieldConvertedRows(convert)) {
      yield are_json.includes(true) ? rows.map((row) => row.map(parsed)) : rows;
    }
  } catch (error) {
    blame(error);
  }
}

/** Years beyond those of JavaScript, and infinity, as DuckDB writes them. */
function timeText(micros: bigint, value: unknown): string {
  const time = new Date(Number(micros / 1000n));
  return Number.isNaN(time.getTime()) ? String(value) : time.toISOString();
}

async function load(
  { DuckDBDataChunk: Chunk, VARCHAR, TIMESTAMP, BIGINT, DuckDBTimestampValue: Timestamp }: DuckDb,
  connection: DuckDBConnection,
  events: AsyncIterable<RecordedEvent>,
): Promise<number> {
  const types = EVENTS_COLUMNS.map(({ type }): DuckDBType => ({ TIMESTAMP, BIGINT })[type] ?? VARCHAR);
  const timeOf = ({ at }: Metadata) => {
    const time = Date.parse(at);
    return Number.isNaN(time) ? null : new Timestamp(BigInt(time) * 1000n);
  };
  const appender = await connection.createAppender('events');
  // One for all: a chunk's memory is not JavaScript's, and goes only when the garbage collector finds the chunk.
  const chunk: DuckDBDataChunk = Chunk.create(types);
  let columns: DuckDBValue[][] = types.map(() => []);
  let [loaded, rows, chars, held] = [0, 0, 0, 0];
  function append(): void {
    chunk.reset();
    chunk.rowCount = rows;
    chunk.setColumns(columns);
    appender.appendDataChunk(chunk);
    columns = types.map(() => []);
    loaded += rows;
    held += chars;
    // What the appender holds is beyond DuckDB's limit of memory, and by itself it holds 204,800 rows.
    if (held >= FLUSH_CHARS) {
      appender.flushSync();
      held = 0;
    }
    [rows, chars] = [0, 0];
  }
  try {
    for await (const event of events) {
      const { position, stream, revision, type, id, data, metadata } = event;
      const { actor, command_id, causation_id, version = 1 } = metadata;
      const text = JSON.stringify(data);
      const cells = [
        ...[position, timeOf(metadata), stream, categoryOf(stream), BigInt(revision), type, id],
        ...[actor ?? null, command_id ?? null, causation_id ?? null, BigInt(version), text],
      ];
      for (let n = 0; n < cells.length; n += 1) columns[n]!.push(cells[n]!);
      rows += 1;
      chars += text.length;
      if (rows === ROWS || chars >= CHUNK_CHARS) append();
    }
    if (rows > 0) append();
    appender.flushSync();
  } finally {
    appender.closeSync();
  }
  return loaded;
}
