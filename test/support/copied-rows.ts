// The rows of a copy of the events, and of SQL over the log, as texts that are equal where the rows are: DuckDB, Parquet and PostgreSQL write the
// same values in forms of their own.
import { COPIED_TABLES } from '../../analysis/copy.ts';
import type { Database, Rows } from '../../analysis/duckdb.ts';
import { sourceOfLog } from '../../analysis/event-source.ts';
import { openQuery } from '../../analysis/query.ts';
import type { EventStore } from '../../events/event-store.ts';

/** Maps are lists of keys and values in DuckDB's JSON, and objects in PostgreSQL, also empty ones. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) {
    const is_map = value.length > 0 && value.every((each) => each !== null && Object.keys(each).join() === 'key,value');
    return is_map ? plain(Object.fromEntries(value.map(({ key, value }) => [key, value]))) : value.map(plain);
  }
  if (value === null || typeof value !== 'object') return value;
  if (Object.keys(value).length === 0) return [];
  const entries = Object.entries(value).map(([key, each]) => [key, plain(each)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** A time within JSON, as both write it. */
const TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00)$/;
export const rowText = (row: readonly unknown[]) =>
  JSON.stringify(row.map(plain), (_, value) =>
    typeof value === 'string' && TIME.test(value) ? new Date(value).toISOString() : value,
  );

export const rowTexts = (rows: readonly (readonly unknown[])[]): string[] => rows.map(rowText).sort();

const EVERYTHING = { streams: null, categories: null, types: null, from: null, to: null };

/** The rows of each table by its name. */
export type TableRows = ReadonlyMap<string, readonly string[]>;

/** As SQL over the log answers. */
export async function rowsOfLog(log: EventStore, tables: readonly string[] = COPIED_TABLES): Promise<TableRows> {
  const found = new Map<string, string[]>();
  for await (const { table, rows } of tablesOfLog(log, tables))
    found.set(table, rowTexts((await Array.fromAsync(rows)).flat()));
  return found;
}

/** One after the other: each is read before the next. The log is read once for all. */
export async function* tablesOfLog(
  log: EventStore,
  tables: readonly string[] = COPIED_TABLES,
): AsyncGenerator<{ table: string; rows: Rows['rows'] }> {
  const query = await openQuery(sourceOfLog(log), EVERYTHING);
  try {
    let n = 0;
    for await (const { rows } of query.answers(tables.map((table) => `FROM "${table}"`).join(';')))
      yield { table: tables[n++]!, rows };
  } finally {
    await query.close();
  }
}

/** Of the answer of a statement. */
export async function rowsIn(database: Database, sql: string): Promise<string[]> {
  return rowTexts(await database.all(sql));
}
