// A database of DuckDB: one in a temporary folder that goes when it is closed, or a file that stays.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DuckDBConnection, DuckDBPreparedStatement, DuckDBResult } from '@duckdb/node-api';
import { rowsOf, type Value } from './values.ts';

/** DuckDB is not installed, or not for this platform. */
class NoDuckDb extends Error {
  readonly code = 'no_duckdb';
}

/** DuckDB refuses the SQL, or fails at it. */
export class SqlError extends Error {
  readonly code = 'sql_error';
}

export type DuckDb = typeof import('@duckdb/node-api');

const MEMORY = '400MB';

export interface Rows {
  columns: readonly string[];
  /** In bunches. Throws `SqlError`. */
  rows: AsyncIterable<readonly (readonly Value[])[]>;
}

/** Either the rows or the chunks of `result` are read. */
export interface Result extends Rows {
  result: DuckDBResult;
}

export interface Database {
  duckdb: DuckDb;
  connection: DuckDBConnection;
  /** Throws `SqlError`. */
  run(sql: string): Promise<unknown>;
  /** All rows. Throws `SqlError`. */
  all(sql: string): Promise<readonly (readonly Value[])[]>;
  /** Rows come as they are read. Throws `SqlError`. */
  stream(statement: string | DuckDBPreparedStatement): Promise<Result>;
  /** Another connection, for what goes on while rows are read. */
  connect(): Promise<DuckDBConnection>;
  close(): Promise<void>;
}

/** Opens the file, or without one a database that nothing is left of. Its time zone is UTC. Throws `NoDuckDb`. */
export async function openDatabase(file?: string): Promise<Database> {
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
    const instance = await duckdb.DuckDBInstance.create(file ?? join(folder, 'events.duckdb'), {
      memory_limit: MEMORY,
      temp_directory: join(folder, 'spilled'),
    }).catch(blame);
    const connection = await instance.connect();
    running = connection;
    await connection.run("SET TimeZone = 'UTC'");
    // What is removed is not written first.
    if (file === undefined) await connection.run('PRAGMA disable_checkpoint_on_shutdown');
    const stream: Database['stream'] = async (statement) => {
      const zone = await timeZone(connection);
      const reading = typeof statement === 'string' ? connection.stream(statement) : statement.stream();
      const result = await reading.catch(blame);
      return { result, columns: result.deduplicatedColumnNames(), rows: blaming(rowsOf(duckdb, result, zone)) };
    };
    return {
      ...{ duckdb, connection, stream },
      connect: () => instance.connect(),
      run: (sql) => connection.run(sql).catch(blame),
      async all(sql) {
        const all = [];
        for await (const rows of (await stream(sql)).rows) all.push(...rows);
        return all;
      },
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

async function timeZone(connection: DuckDBConnection): Promise<string> {
  const result = await connection.runAndReadAll("SELECT current_setting('TimeZone')");
  return result.getRows()[0]![0] as string;
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

async function* blaming<Each>(rows: AsyncGenerator<Each>): AsyncGenerator<Each> {
  try {
    yield* rows;
  } catch (error) {
    blame(error);
  }
}

/** Throws what DuckDB says as `SqlError`. */
export function blame(cause: unknown): never {
  const { message } = cause as Error;
  if (isOfMemory(message)) tooLarge(cause);
  throw new SqlError(message.replace('Failed to extract statements: ', '').trimEnd(), { cause });
}

/** Where it appends, DuckDB does not name the error. */
export const isOfMemory = (message: string) =>
  ['Out of Memory Error:', 'failed to pin block', 'failed to allocate block'].some((text) => message.includes(text));

/** What DuckDB itself advises are settings, which are locked. */
export function tooLarge(cause: unknown): never {
  const text =
    'this takes more memory than it gets: choose fewer events, by --type, --from or --to, or export them as JSON lines for a DuckDB of your own';
  throw new SqlError(text, { cause });
}

/** A text as SQL writes it. */
export const sqlText = (value: string): string => `'${value.replaceAll("'", "''")}'`;
